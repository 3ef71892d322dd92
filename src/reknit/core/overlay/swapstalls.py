"""The goal of a swap hears of each way's end before what follows it, though they come on different links.

8 comes from the mover, 10 from the middle, 12 from the mover: they may overtake each other. So 10 waits for 8, and 12
for 10, and all that comes behind them waits with them. If both others have lost their memory the mover says 8 to the
middle, too, which passes it on before it tells what it wants without the mover; that waits for 8 as well, or the goal
would know nobody who wants what the mover's side does.

Owns: what waits, by sender. Must not know: what the steps do.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from reknit.core.links.custody import Custody
from reknit.core.links.links import Links
from reknit.core.overlay.history import History
from reknit.core.overlay.notes import Part
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.swaplocks import SwapLocks
from reknit.core.turn import Turn
from reknit.wire.messages import Close, Events, Message, Open, Steered

__all__ = ["SwapStalls"]


class SwapStalls(SwapLocks):
    def __init__(
        self,
        turn: Turn,
        links: Links,
        options: OverlayOptions,
        rng: random.Random,
        neighbours: Callable[[], list[str]],
        busy: Callable[[], str],
        close_link: Callable[[str], None],
        history: History,
    ) -> None:
        super().__init__(turn, links, options, rng, neighbours, busy, close_link, history)
        self._stalled: dict[str, list[tuple[Message, Custody]]] = {}

    def stalls(self, peer: str, message: Message, custody: Custody) -> bool:
        """Keep ``message`` for later? 10 waits for 8, as 8 by the middle does, and 12 for 10, and all behind them."""
        if peer not in self._stalled and not self._must_stall(peer, message):
            return False
        custody.pending += 1
        self._stalled.setdefault(peer, []).append((message, custody))
        return True

    def _must_stall(self, peer: str, message: Message) -> bool:
        swap = self.current
        if swap is None or swap.note.part is not Part.GOAL or not isinstance(message, Open | Close):
            return False
        if isinstance(message, Open):
            return message.id == swap.note.id and peer == swap.note.middle and not swap.note.opened
        if message.id != swap.note.id or message.from_mover != (peer == swap.note.middle):
            return False  # of another swap, or only to be passed on
        return not (swap.note.opened if message.from_mover else swap.note.closed_ab)

    def _stalled_for(self, peer: str) -> set[str]:
        """Whose word it is that what ``peer`` has said waits for, if it does."""
        swap = self.current
        if swap is None or peer not in self._stalled:
            return set()
        return {swap.mover if peer == swap.note.middle else swap.note.middle}

    def _discard(self, peer: str) -> None:
        """It has died: events of it that wait are not settled, so they come again, in their order."""
        waiting = self._stalled.get(peer, [])
        events = [custody for message, custody in waiting if isinstance(message, Events | Steered)]
        self.turn.custodies.extend(events)
        if rest := [each for each in waiting if not isinstance(each[0], Events | Steered)]:
            self._stalled[peer] = rest
        if self.current is not None and self.involves(peer):
            self.current.triangle.discard(peer)

    def unstalled(self) -> list[tuple[str, Message, Custody]]:
        """What need wait no longer."""
        swap = self.current
        for peer in list(self._stalled):
            if swap is None or not self._must_stall(peer, self._stalled[peer][0][0]):
                freed = self._stalled.pop(peer)
                self.turn.custodies.extend(custody for _, custody in freed)
                return [(peer, message, custody) for message, custody in freed]
        return []
