"""A wave through a tree: is a broker in it?, and a lock on the way.

The echo algorithm: whoever begins asks all its neighbours; each asks all its others, and answers when all of them have
answered. On a tree that visits every broker once, and the answer *no* is definite. Each broker that a wave has visited
is locked for joins until the wave is released, so that of two joins that touch one tree at most one goes on; the other
finds a locked broker somewhere, and tries again later. A lock has a lease. A broker that takes part in a swap is
locked, too; it says nothing of its neighbours, since one of them may have gone.

Owns: the one wave that holds this broker. Must not know: what the answer is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from reknit.wire.messages import Message, Release, Seek, Sought, Wave

__all__ = ["Answer", "Search"]


@dataclass(frozen=True, slots=True)
class Answer:
    """``path`` leads to the target; ``busy`` names one who was locked; neither: the tree is ours, and without it."""

    wave: Wave
    path: list[str]
    busy: str


@dataclass(slots=True)
class _Held:
    wave: Wave
    parent: str  # "" where the wave began
    expires: float
    asked: list[str]
    waiting: dict[str, None]
    path: list[str] = field(default_factory=list)
    busy: str = ""


class Search:
    """One broker's part in waves. ``send`` sends to a neighbour."""

    def __init__(
        self, me: str, lease_s: float, send: Callable[[str, Message], None], engaged: Callable[[], str] = str
    ) -> None:
        """``engaged``: why this broker is locked by something else; empty if it is not."""
        self.me = me
        self.lease_s = lease_s
        self.send = send
        self.engaged = engaged
        self.unreached: Callable[[str], bool] = lambda _: False  # is it a neighbour whose link may be given up soon?
        self.reserved = ""  # why this broker may take part in no join, apart from a search: a link is being replaced
        self._held: _Held | None = None
        self._count = 0

    @property
    def locked_by(self) -> Wave | None:
        return self._held.wave if self._held else None

    @property
    def busy(self) -> str:
        """Why this broker takes part in no other search now, for people to read; empty if it does."""
        return self.joining or self.reserved or self.engaged()

    @property
    def joining(self) -> str:
        return f"{self.me} takes part in a join that {self._held.wave[0]} began" if self._held else ""

    def begin(self, target: str, neighbours: Iterable[str], now: float) -> Answer | Wave:
        """Lock this broker and search the tree. The answer, if it is there at once; else the wave to wait for."""
        assert self._held is None
        self._count += 1
        wave = (self.me, self._count)
        asked = list(neighbours)
        if target in asked:
            return Answer(wave, [self.me, target], "")
        self._held = _Held(wave, "", now + self.lease_s, asked, dict.fromkeys(asked))
        for neighbour in asked:
            self.send(neighbour, Seek(wave, target, [self.me]))
        return wave if asked else Answer(wave, [], "")

    def on_seek(self, sender: str, seek: Seek, neighbours: Iterable[str], now: float) -> None:
        path = [*seek.path, self.me]
        others = [name for name in neighbours if name != sender]
        if self.me == seek.target:
            self.send(sender, Sought(seek.wave, path, ""))
        elif why := self.engaged():  # who its neighbours are is about to change, or has changed without its knowledge
            self.send(sender, Sought(seek.wave, [], why))
        elif seek.target in others and self.unreached(seek.target):
            self.send(sender, Sought(seek.wave, [], f"{self.me} does not reach {seek.target} now"))
        elif seek.target in others:
            self.send(sender, Sought(seek.wave, [*path, seek.target], ""))
        elif self.busy:
            self.send(sender, Sought(seek.wave, [], self.busy))
        else:
            self._held = _Held(seek.wave, sender, now + self.lease_s, others, dict.fromkeys(others))
            for neighbour in others:
                self.send(neighbour, Seek(seek.wave, seek.target, path))
            if not others:
                self.send(sender, Sought(seek.wave, [], ""))

    def on_sought(self, sender: str, sought: Sought) -> Answer | None:
        held = self._held
        if held is None or held.wave != sought.wave:
            return None
        return self._echo(held, sender, sought.path, sought.busy)

    def on_release(self, sender: str, release: Release) -> None:
        if self._held is not None and self._held.wave == release.wave and self._held.parent == sender:
            self.release(release.wave)

    def release(self, wave: Wave) -> None:
        """Unlock this broker and all that the wave has visited from here."""
        if self._held is not None and self._held.wave == wave:
            asked, self._held = self._held.asked, None
            for neighbour in asked:
                self.send(neighbour, Release(wave))

    def neighbour_gone(self, neighbour: str, why: str) -> Answer | None:
        """A neighbour was removed (``why`` empty) or has lost its memory: it will not answer any more."""
        held = self._held
        if held is None:
            return None
        if neighbour in held.asked and not why:
            held.asked.remove(neighbour)
        if neighbour == held.parent:
            self.release(held.wave)
            return None
        return self._echo(held, neighbour, [], why)

    def _echo(self, held: _Held, sender: str, path: list[str], busy: str) -> Answer | None:
        if sender not in held.waiting:
            return None
        del held.waiting[sender]
        held.path = held.path or path
        held.busy = held.busy or busy
        if held.waiting:
            return None
        if held.parent:
            self.send(held.parent, Sought(held.wave, held.path, held.busy))
            return None
        return Answer(held.wave, held.path, held.busy)

    def deadline(self) -> float | None:
        return self._held.expires if self._held else None

    def due(self, now: float) -> None:
        """The lease is over: whoever began has given up, or is dead."""
        if self._held is not None and now >= self._held.expires:
            self.release(self._held.wave)
