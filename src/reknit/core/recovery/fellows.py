"""Fellows: other brokers that want a pattern which is wanted here, as far as one can be asked past the tree.

Whoever asks this broker for events says what it wants; and whoever publishes has said where it is, and by which key it
answers. A broker of which both is known can be asked for anything of the pattern, whoever has published
it: where much is missing, a little of each of many sources, one question to it brings more than one to any publisher.

Owns: who is known. Must not know: what is asked, or what comes of it.
"""

from __future__ import annotations

__all__ = ["FELLOWS_MAX", "Fellows"]

FELLOWS_MAX = 16
"""Of each pattern; of more the last that were met."""

PATTERNS_MAX = 1024


class Fellows:
    def __init__(self, sources_max: int) -> None:
        self.sources_max = sources_max
        self.source_of: dict[str, str] = {}
        """By broker: the source of what is published there, in its last life that is known."""
        self._of: dict[int, dict[str, None]] = {}  # by signature, the last that was met last

    def found(self, name: str, source: str) -> None:
        """This broker publishes under that name."""
        if name not in self.source_of and len(self.source_of) >= self.sources_max:
            del self.source_of[next(iter(self.source_of))]
        self.source_of[name] = source

    def met(self, name: str, signature: int) -> None:
        """It wants this pattern."""
        if signature not in self._of and len(self._of) >= PATTERNS_MAX:
            del self._of[next(iter(self._of))]
        known = self._of.setdefault(signature, {})
        known.pop(name, None)
        known[name] = None
        if len(known) > FELLOWS_MAX:
            del known[next(iter(known))]

    def of(self, signature: int) -> list[str]:
        """Those that can be asked for a pattern."""
        return [name for name in self._of.get(signature, ()) if name in self.source_of]
