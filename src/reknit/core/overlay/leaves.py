"""Links that are being left: each end says *Leave* behind all that it has sent, and waits for the other's.

A link that an operator removes is done with when both have said it. One that a swap has replaced has moreover to be
empty, for nobody else has what it carried. Nobody waits for ever. A broker that is drained is patient, since a
neighbour that is down must hear of it, or would wait in its next life. But that one may have been drained itself, as
soon as it had heard of it and before its answer came; and all else was settled before the leave was said. That holds
for its next life, too, which has nothing to say but that its former one has left.

Owns: what a link that is left still waits for. Must not know: why it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from reknit.core.links.links import Links
from reknit.core.overlay.options import OverlayOptions
from reknit.core.turn import Turn
from reknit.wire.messages import Leave

__all__ = ["Leaves", "Leaving"]


@dataclass(slots=True)
class Leaving:
    requests: list[int]
    give_up_at: float
    heard: bool  # the neighbour has said its own leave
    whole: bool = False  # a link that was replaced: all that it carried must be settled, for nobody else has it
    for_good: bool = False  # this broker leaves the network
    replaced: bool = False  # another link comes instead


class Leaves:
    def __init__(self, turn: Turn, links: Links, options: OverlayOptions) -> None:
        self.turn = turn
        self.links = links
        self.options = options
        self.lost_s = inf  # a neighbour that has been away for so long is lost
        self.of: dict[str, Leaving] = {}
        self.had_left: Callable[[], bool] = lambda: False  # a former life did, for good, and nobody needs this one

    def begin(self, peer: str, requests: list[int], heard: bool, patient: bool, replaced: bool) -> None:
        until = inf if patient else self.turn.now + self.options.leave_s_max
        self.of[peer] = Leaving(requests, until, heard, for_good=patient, replaced=replaced)

    def begin_with_replaced(self, peer: str, heard: bool) -> None:
        self.of[peer] = Leaving([], self.turn.now + self.options.close_s_max, heard, whole=True)

    def say(self, peer: str) -> None:
        """The last word to it: whatever else it has to hear has been said."""
        self.links.leave(peer)
        self.say_again(peer)

    def say_again(self, peer: str) -> None:
        """A broker that goes for good says who may call it in vain: nobody else could tell them."""
        holders = list(self.links.former.given_up) if self.of[peer].for_good else []
        self.links.of[peer].send(Leave(holders, self.of[peer].replaced))

    def over(self, holds: Callable[[str], bool]) -> Iterator[tuple[str, bool]]:
        """Those that are done with, and whether the other end has answered. ``holds``: is a replaced link needed?"""
        for peer, leaving in list(self.of.items()):
            link = self.links.of[peer]
            done = link.empty and not holds(peer) if leaving.whole else link.everything_received
            if leaving.heard and done:
                yield peer, True
            elif self.turn.now >= self._give_up_at(peer, leaving):
                yield peer, False

    def _give_up_at(self, peer: str, leaving: Leaving) -> float:
        """A far end that has been away for long will not empty a link that was replaced, nor answer if it is lost."""
        away_since = self.links.of[peer].away_since
        away_s_max = self.options.absent_s_max if leaving.whole else self.lost_s
        if leaving.for_good:
            away_s_max = min(away_s_max, self.options.drained_s_max)
        return min(leaving.give_up_at, inf if away_since is None else away_since + away_s_max)

    def unheard(self) -> list[str]:
        """Those that a former life has left for good, and that have been out of reach for too long to hear of it."""
        return [peer for peer in self._had_left() if self.turn.now >= self._unheard_at(peer)]

    def _had_left(self) -> list[str]:
        return [peer for peer in self.links.of if peer not in self.of] if self.had_left() else []

    def _unheard_at(self, peer: str) -> float:
        away_since = self.links.of[peer].away_since
        return inf if away_since is None else away_since + self.options.drained_s_max

    def deadline(self) -> float:
        times = [self._give_up_at(*each) for each in self.of.items()] if self.of else []
        return min(times + [self._unheard_at(peer) for peer in self._had_left()], default=inf)
