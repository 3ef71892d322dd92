"""The patterns of a table by their signatures, and since when clients here want each.

Gossip names a pattern by its signature. Interest has *epochs*: one begins when the first client comes to want a
pattern, and ends with the last. What was published before does not concern whoever came later, so each client's wish
has a time.

Owns: these lists, kept up by the table. Must not know: who asks, or why.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.core.turn import Turn
from reknit.model.pattern import Pattern

__all__ = ["Signatures"]


class Signatures:
    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.patterns: dict[int, Pattern] = {}
        """All that anybody wants."""
        self.of: dict[Pattern, int] = {}
        self.own: dict[int, int] = {}
        """Those that clients here want, and the number of the epoch."""
        self._since: dict[int, float] = {}  # by signature: when the epoch began
        self._wishes: dict[tuple[str, Pattern], float] = {}  # by client
        self._surely: dict[str, dict[Pattern, float]] = {}  # of those that a life before has kept: since when at least
        self._came: dict[str, dict[Pattern, float]] = {}  # by client, those that have come from elsewhere: when
        self._wanting: dict[int, int] = {}  # by signature: how many clients
        self.epochs = 0
        """How many have begun."""
        self.ended: Callable[[str, Pattern], None] | None = None
        """Called with (client, pattern) when a wish has ended."""

    def appear(self, pattern: Pattern) -> None:
        """Somebody wants it, and nobody did."""
        signature = self.of[pattern] = pattern.signature()
        self.patterns[signature] = pattern

    def vanish(self, pattern: Pattern) -> None:
        self.patterns.pop(self.of.pop(pattern), None)

    def want(self, client: str, pattern: Pattern) -> None:
        signature = self.of[pattern]
        self._wishes[client, pattern] = self.turn.now
        self._wanting[signature] = self._wanting.get(signature, 0) + 1
        if self._wanting[signature] == 1:
            self.epochs += 1
            self.own[signature] = self.epochs
            self._since[signature] = self.turn.now

    def inherit(self, client: str, pattern: Pattern, age_s: float, surely_s: float) -> None:
        """It has wanted it for so long, at another broker before; and the same of what is not of QoS 0.

        That word may have been under way for long. It was not said before the client was awaited here, so its wish is
        no older than this makes it; were it taken for younger than it is, events would be kept from it.
        """
        if (client, pattern) in self._wishes:
            came = self._came.setdefault(client, {}).setdefault(pattern, self._wishes[client, pattern])
            since = self._wishes[client, pattern] = min(came - age_s, self._wishes[client, pattern])
            self.recall(client, pattern, min(since, came - surely_s))

    def settle(self, client: str) -> None:
        """What it wants, it has wanted since it came here: it is too late for what was before."""
        for pattern, came in self._came.pop(client, {}).items():
            self._wishes[client, pattern] = came
        self._surely.pop(client, None)

    def recall(self, client: str, pattern: Pattern, since: float) -> None:
        """A life before knew of it by then; and what it was given since, it has written down, unless it was QoS 0."""
        if (client, pattern) in self._wishes:
            signature, since = self.of[pattern], min(since, self.turn.now)
            self._surely.setdefault(client, {})[pattern] = since
            self._since[signature] = min(since, self._since[signature])

    def want_no_more(self, client: str, pattern: Pattern) -> None:
        signature = self.of[pattern]
        del self._wishes[client, pattern]
        for times in (self._came, self._surely):
            if client in times:
                times[client].pop(pattern, None)
                if not times[client]:
                    del times[client]
        self._wanting[signature] -= 1
        if not self._wanting[signature]:
            del self._wanting[signature], self.own[signature], self._since[signature]
        if self.ended is not None:
            self.ended(client, pattern)

    def age_s(self, signature: int) -> float:
        """For how long clients here have wanted it; 0 if none does."""
        since = self._since.get(signature)
        return 0.0 if since is None else self.turn.now - since

    def wanted_since(self, client: str, pattern: Pattern, qos: int = 0) -> float:
        """As far as it is known of events of this QoS whether the client has had them."""
        since = self._wishes[client, pattern]
        return min(since, self._surely.get(client, {}).get(pattern, since)) if qos else since
