"""The live shell of one peer: datagrams and alarms in, datagrams and deliveries out.

Owns: the turns of one peer, its one alarm, who waits until a publication is under way. Must not know: what a word
means, or who wants what is delivered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from math import inf

from reknit.community.io import Deliver, Due, Effect, Input, Observe, Publish, Received, Send
from reknit.community.peer import Peer
from reknit.live.peers.port import PeerPort
from reknit.model.event import Event
from reknit.trace.records import Record
from reknit.wire.peers import Remove, Replace, Withdraw

__all__ = ["ALARM_S_MIN", "PeerDriver"]

ALARM_S_MIN = 0.001
"""No alarm sooner than this, so that an overdue deadline cannot starve the sockets."""

_log = logging.getLogger("reknit.live.peers")


class PeerDriver:
    """Create it inside the running loop. ``deliver`` gets events for this peer, ``observe`` what it has seen."""

    def __init__(
        self,
        peer: Peer,
        port: PeerPort,
        deliver: Callable[[Deliver], None],
        observe: Callable[[Record], None] = lambda record: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.peer = peer
        self.port = port
        self.failures = 0
        self._deliver = deliver
        self._observe = observe
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = inf
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._goodbye: asyncio.Event | None = None
        port.received = self._received

    def give(self, given: Input) -> None:
        """What its user wants; raises what the peer says to it."""
        self._perform(self.peer.handle(given, self._clock()))
        self._finish()

    def set_deliver(self, deliver: Callable[[Deliver], None]) -> None:
        """Somebody else gets all events from now on."""
        self._deliver = deliver

    async def publish(self, event: Event) -> None:
        """Until it is under way: who has just become a member waits until it knows others, or that it is alone."""
        self.give(Publish(event))
        if self.peer.is_waiting(event.seq):
            future = self._loop.create_future()
            self._waiting.append((event.seq, future))
            await future
        else:
            await asyncio.sleep(0)  # whoever publishes in a loop lets the sockets have their turn

    async def said_goodbye(self, within_s: float) -> None:
        """Until those who have to know that it leaves have confirmed it; what was lost is repeated meanwhile."""
        self._goodbye = asyncio.Event()
        self._finish()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._goodbye.wait(), within_s)

    def stop(self) -> None:
        self.port.received = lambda sender, word: None
        if self._alarm is not None:
            self._alarm.cancel()
        for _, future in self._waiting:
            future.cancel()

    # --- a turn

    def _received(self, sender: str, word: bytes) -> None:
        self._turn(Received(sender, word))

    def _turn(self, given: Input) -> None:
        try:
            self._perform(self.peer.handle(given, self._clock()))
        except Exception:  # one bad word is not the end of a peer; but it is a bug
            self.failures += 1
            _log.exception("unhandled failure: %s", type(given).__name__)
        self._finish()

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self.port.send(effect.to, effect.frame)
            elif type(effect) is Deliver:
                self._deliver(effect)
            elif type(effect) is Observe:
                self._observe(effect.record)

    def _finish(self) -> None:
        if self._waiting:
            self._release()
        if self._goodbye is not None and not self.peer.courier.is_waiting_for(Remove, Replace, Withdraw):
            self._goodbye.set()
        at = self.peer.deadline()
        if at is not None and at < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = at
            self._alarm = self._loop.call_later(max(at - self._clock(), ALARM_S_MIN), self._due)

    def _due(self) -> None:
        self._alarm, self._alarm_at = None, inf
        self._turn(Due())

    def _release(self) -> None:
        still = []
        for seq, future in self._waiting:
            if self.peer.is_waiting(seq):
                still.append((seq, future))
            elif not future.done():
                future.set_result(None)
        self._waiting = still
