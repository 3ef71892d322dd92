"""The journal of one broker: what has become of its links, in lines for people and in counts for machines.

Owns: which records of the core are news, the line that each is told by, and the counts and last words by neighbour.
Must not know: where a line goes, or what made a link fail. Links change seldom, so every change is told; what only
repeats itself is told once, and what strangers cause is bounded, since they choose how often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from reknit.live.log import Line
from reknit.trace.records import Kind, Record

__all__ = ["NEWS", "Journal", "Say"]

Say = Callable[[str], None]

NEIGHBOURS_MAX = 4096
"""Neighbours, past ones among them, of which counts are kept; beyond it the oldest go."""
STRANGERS_TOLD_MAX = 20
"""Lines about connections of strangers between two changes of links; beyond it they are only counted."""
LINE_CHARS_MAX = 300
LEFT = "left"
"""The core's reason for closing a link that was removed or has moved, which is told as such."""

NEWS: dict[Kind, str] = {
    Kind.LINK_ADDED: "link to {} added",
    Kind.LINK_REMOVED: "link to {} removed",
    Kind.LINK_LOST: "{} is taken for lost",
    Kind.LINK_MOVED: "link moved to {} from",
    Kind.LINK_HANDED: "link of {} handed over to",
    Kind.LINK_TAKEN: "link of {} taken over from",
    Kind.LINK_UP: "link to {} is up",
    Kind.LINK_DOWN: "link to {} is down",
    Kind.LINK_STALLED: "link to {} has stalled",
    Kind.REFUSED: "link to {} refused",
}


class Neighbour(msgspec.Struct):
    """What was seen of one neighbour since this broker began."""

    ups: int = 0
    downs: int = 0
    stalls: int = 0
    refusals: int = 0
    last: str = ""
    """The last thing that went wrong, in words."""


_COUNTED = {Kind.LINK_UP: "ups", Kind.LINK_DOWN: "downs", Kind.LINK_STALLED: "stalls", Kind.REFUSED: "refusals"}


_SWAPS = (Kind.LINK_MOVED, Kind.LINK_HANDED, Kind.LINK_TAKEN)
_BAD_NEWS = (Kind.LINK_LOST, Kind.LINK_STALLED)
_GOOD_NEWS = (Kind.LINK_REMOVED, *_SWAPS)


def _silence(line: str) -> None:
    pass


class Journal:
    """Tells each change by ``say``, which must return at once."""

    def __init__(self, say: Say = _silence) -> None:
        self.neighbours: dict[str, Neighbour] = {}
        self.waiting = False
        """Whether this broker has begun, and is not ready yet."""
        self._say = say
        self._told: dict[str, str] = {}  # by neighbour: the last line
        self._strangers: set[tuple[str, str]] = set()

    def say(self, line: str) -> None:
        """One line, whatever it holds: reasons may come from the other end."""
        plain = "".join(each if each.isprintable() else "?" for each in line)
        told = line if isinstance(line, Line) else Line(line)
        self._say(told.reworded(plain if len(plain) <= LINE_CHARS_MAX else plain[: LINE_CHARS_MAX - 3] + "..."))

    # --- links

    def note(self, record: Record) -> None:
        """One of the ``NEWS``."""
        peer = record.peer
        seen = self._of(peer)
        if (counted := _COUNTED.get(record.kind)) is not None:
            setattr(seen, counted, getattr(seen, counted) + 1)
        if record.detail and record.kind not in _GOOD_NEWS:
            seen.last = record.detail
        self._strangers.clear()
        colon = "" if record.kind in _SWAPS else ":"
        text = NEWS[record.kind].format(peer) + (f"{colon} {record.detail}" if record.detail else "")
        event = f"link.{record.kind.name.lower().removeprefix('link_')}"
        self._tell(peer, Line(text, event, "warning" if record.kind in _BAD_NEWS else "notice", peer=peer))

    def unreachable(self, peer: str, reason: str) -> None:
        """An attempt to reach ``peer`` has failed; the next one may fail for the same reason, which is no news."""
        self._of(peer).last = reason
        self._tell(peer, Line(f"waiting for {peer}: {reason}", "link.waiting", peer=peer))

    def closed(self, remote: str, reason: str) -> None:
        """A connection that the core did not want. That of a neighbour was told as its link's going down, or moving."""
        if reason == LEFT or any(each.last == reason for each in self.neighbours.values()):
            return
        stranger = (remote, reason)
        if stranger in self._strangers or len(self._strangers) > STRANGERS_TOLD_MAX:
            return
        self._strangers.add(stranger)
        if len(self._strangers) > STRANGERS_TOLD_MAX:
            self.say("more such connections are only counted, until a link changes")
        else:
            self.say(Line(f"closed a connection with {remote}: {reason}", "link.closed", peer=remote))

    def _of(self, peer: str) -> Neighbour:
        if (seen := self.neighbours.get(peer)) is None:
            if len(self.neighbours) >= NEIGHBOURS_MAX:
                oldest = next(iter(self.neighbours))
                del self.neighbours[oldest]
                self._told.pop(oldest, None)
            seen = self.neighbours[peer] = Neighbour()
        return seen

    def _tell(self, peer: str, line: str) -> None:
        if self._told.get(peer) != line:
            self._told[peer] = line
            self.say(line)

    # --- the broker's own life

    def begin(self, waiting_for: Iterable[str]) -> None:
        """It has begun, and is ready when it waits for nobody."""
        self.waiting = True
        if names := ", ".join(waiting_for):
            self.say(Line(f"waiting for {names}", "waiting"))

    def look(self, waiting_for: Iterable[str]) -> None:
        if not any(True for _ in waiting_for):
            self.waiting = False
            self.say(Line("ready", "ready"))
