"""Copies that only a session which has moved can know for copies.

When a broker dies, what it had not settled is sent again through its next life. Further on the numbers weed that out:
each broker knows the last event of every source that came by it. But if meanwhile a session moves from such a broker
to the next life of the dead one, which knows nothing, the copy would be delivered to it. So a session brings along what
its old broker has seen, as far as the new one has not; and as sources' numbers only rise, an entry is of no use once
the new one has seen as much itself. Where nobody has died, nothing is left to be kept. The new one may die in its
turn, so where sessions are kept, these numbers have an entry that lasts as long as they are of use. Where links lose
events, one may come behind later ones: then a number is kept for as long as such may come back (``guard``), and after
that like any other, until this broker has seen as much itself.

Owns: these numbers. Must not know: why a session has moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reknit.core.io import DropHad, KeepHad
from reknit.core.sessions.guard import Guard
from reknit.core.turn import Turn
from reknit.model.event import Event, EventId
from reknit.wire.codec import HAD_EVENTS_MAX
from reknit.wire.messages import Age, Lack, Range

__all__ = ["Copies"]


class Copies:
    def __init__(self, turn: Turn, seen: dict[str, int], own: str) -> None:
        """``seen``: by source, the last event that came by this broker; shared with it. ``own``: its own source."""
        self.turn = turn
        self._own = own
        self._seen = seen
        self._of: dict[str, dict[str, int]] = {}  # by client
        self._kept: dict[str, None] = {}  # clients that have an entry
        self._had: dict[str, dict[EventId, None]] = {}  # by client: events that stand in no line of numbers
        self.guard = Guard(turn)
        self.runs: Callable[[], Iterable[tuple[str, list[Range]]]] | None = None
        """By source, what came by this broker; none if nothing that was lost comes back."""
        self.lacks: Callable[[str, Iterable[Event]], tuple[list[Age], list[Lack]]] = lambda client, aside: ([], [])
        """How old its wishes are, and what it has not had, also of what was put aside for it."""
        self.late = False  # whether events may come behind later ones of their source
        self.last_of_own: Callable[[], int] = int  # the number of the last event that was published here

    def __bool__(self) -> bool:
        return bool(self._of or self._had or self.guard)

    @property
    def here(self) -> Mapping[str, int]:
        """By source, the last event that came by this broker."""
        return self._seen

    def of(self, client: str) -> dict[str, int]:
        """What this client may have had beyond what came by here."""
        return {source: last for source, last in self._of.get(client, {}).items() if last > self._seen.get(source, 0)}

    def brings(self, client: str) -> dict[str, int]:
        """What it may have had when it leaves; also what was published here, as the next life may send that again."""
        last = self.last_of_own()
        return self._seen | self.of(client) | ({self._own: last} if last else {})

    def tells(self, client: str) -> tuple[dict[str, int], list[EventId], dict[str, list[Range]], list[Age], list[Lack]]:
        """All that its new broker has to know, as ``Rest`` has it."""
        seen, last = self.brings(client), self.last_of_own()
        if self.runs is None:
            return seen, self.had(client), {}, [], []
        here = [*self.runs(), *([(self._own, [(1, last)])] if last else [])]
        runs = self.guard.brings(client, seen, self._of.get(client, {}), here)
        return seen, self.had(client), runs, *self.lacks(client, ())

    def expect(self, client: str, *before: Mapping[str, int]) -> None:
        """A session comes, from another broker or from a life before, whose client may have had these.

        Where events may come late, also what this broker has seen: an earlier one may come back.
        """
        ahead: dict[str, int] = {}
        late = self.runs is not None
        for seen in before:
            for source, last in seen.items():
                known = 0 if late else self._seen.get(source, 0)
                if (late or source != self._own) and last > max(known, ahead.get(source, 0)):
                    ahead[source] = last
        if ahead:
            self._of[client] = ahead
            if late:
                self.guard.remember(client)

    def keep(self, client: str) -> None:
        """Its session is here: the next life has to know what it brought along."""
        if self.turn.keeping and (had := self.of(client)):
            self._kept[client] = None
            self.turn.effects.append(KeepHad(client, had))

    def recall(self, had: Iterable[str]) -> None:
        """Clients of which a life before has kept it; an entry that says no more than this broker's own goes."""
        self._kept.update(dict.fromkeys(had))
        for client in had:
            if client not in self._of:
                self._drop(client)

    def came_back(self, event: Event, client: str) -> None:
        """Past the tree, while its session may be about to leave; its new broker cannot know that by any number."""
        self.expect_had(client, (event.id,))

    def had(self, client: str) -> list[EventId]:
        """What it has had in that way, the newest last."""
        return list(self._had.get(client, ()))

    def expect_had(self, client: str, events: Iterable[EventId]) -> None:
        """These it has had."""
        for each in events:
            had = self._had.setdefault(client, {})
            had[each] = None
            if len(had) > HAD_EVENTS_MAX:
                del had[next(iter(had))]

    def forget(self, client: str) -> None:
        self._of.pop(client, None)
        self._had.pop(client, None)
        self.guard.forget(client)
        self._drop(client)

    def settle(self) -> list[str]:
        """Sessions that came so long ago that it is enough to know what is ahead of what this broker has seen."""
        old = self.guard.over()
        for client in old:
            if ahead := self.of(client):
                self._of[client] = ahead
            else:
                self._of.pop(client, None)
                self._drop(client)
        return old

    def _drop(self, client: str) -> None:
        if client in self._kept:
            del self._kept[client]
            self.turn.effects.append(DropHad(client))

    def is_one(self, event: Event, client: str) -> bool:
        """Whether the client has had this event before it came here."""
        if self._had and event.id in self._had.get(client, ()):
            return True
        if (had := self.guard.has_had(event, client)) is not None:
            return had
        ahead = self._of.get(client)
        if ahead is None or event.source not in ahead:
            return False
        if event.seq <= ahead[event.source]:
            return True
        if self.late and (self.runs is None or self.guard.remembers(client)):
            return False
        del ahead[event.source]
        if not ahead:
            del self._of[client]
            self._drop(client)
        return False
