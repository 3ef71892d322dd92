"""The live shell of a broker that has a store: nothing leaves before what it rests on is on the disk.

All that turns would write, to clients and to neighbours, is *held*, together with the changes that they have made.
While one batch of changes is being committed, in a thread of its own, turns go on and the next batch gathers; when the
commit is done, what was held with it leaves, and the next begins. So an acknowledgement is never ahead of what it
acknowledges, and many messages share one sync.

    state     input           what follows
    --------  --------------  --------------------------------------------------------------------------------------
    idle      a turn's end    nothing has changed: what is held leaves at once; else: to *writing*
    writing   a turn's end    held behind what is being written; beyond a bound nobody is read any more
              it is written   what was held with it leaves; if more has changed, again, else: to *idle*
              it failed       all stays held; it is told once; after a while both batches are tried as one

Owns: what is held, and when a commit begins. Must not know: what is written, or how.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reknit.core.io import Effect, Kept
from reknit.live.driver import LOOK_S, STOP_S_MAX, Driver
from reknit.live.ledger import Ledger, Past, StoreCounters
from reknit.store.entries import Batch, Store, StoreError

if TYPE_CHECKING:
    from reknit.core.broker import Broker
    from reknit.live.links import LinkProtocol
    from reknit.live.mqtt_server import ClientProtocol
    from reknit.mqtt.door import Door
    from reknit.mqtt.options import Output

__all__ = ["DurableDriver"]

RETRY_S_MIN = 0.1
RETRY_S_MAX = 5.0


@dataclass(slots=True)
class _Held:
    """What is to leave once a batch is committed."""

    clients: dict[int, list[bytes]] = field(default_factory=dict)
    clients_closing: dict[int, None] = field(default_factory=dict)
    links: dict[int, list[bytes]] = field(default_factory=dict)
    links_closing: dict[int, None] = field(default_factory=dict)
    size: int = 0

    def take(self, output: Output) -> None:
        if output.data:
            self.clients.setdefault(output.conn, []).append(output.data)
            self.size += len(output.data)
        if output.close:
            self.clients_closing[output.conn] = None

    def take_frames(self, frames: Mapping[int, list[bytes]]) -> None:
        for conn, parts in frames.items():
            self.links.setdefault(conn, []).extend(parts)
            self.size += sum(map(len, parts))

    def follow(self, later: _Held) -> None:
        """What was held later goes behind this."""
        for mine, theirs in ((self.clients, later.clients), (self.links, later.links)):
            for conn, parts in theirs.items():
                mine.setdefault(conn, []).extend(parts)
        self.clients_closing |= later.clients_closing
        self.links_closing |= later.links_closing
        self.size += later.size


class DurableDriver(Driver):
    def __init__(self, broker: Broker, door: Door, *, ledger: Ledger, store: Store, past: Past, **shell: Any) -> None:
        """``past``: what was in the store. ``shell``: as for any driver."""
        super().__init__(broker, door, **shell)
        self._counted = self.store = StoreCounters()
        self._stopping = False
        self._ledger = ledger
        ledger.wall_offset = self.wall_offset
        ledger.clock = self._clock if broker.recovery is not None else None
        self._store = store
        self._past: Past | None = past
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="reknit-store")
        self._held = _Held()
        self._writing: _Held | None = None  # with the batch that is being committed
        self._batch: Batch = {}
        self._retry_s = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._hushed = False
        self._quiet = asyncio.Event()  # nothing is being written
        self._quiet.set()

    def start(self) -> None:
        """What the life before has left comes before everything else."""
        past, self._past = self._past, None
        if past is not None:
            now = self._clock()
            sessions = past.recalled.sessions(now)
            commands = self.door.recall(sessions, now)
            self._perform(self.broker.handle(past.recall(sessions, self.wall_offset), now), now)
            for command in commands:
                self._perform(self.broker.handle(command, now), now)
        super().start()

    async def stop(self) -> None:
        """Nobody is read any more; what is held leaves if it can be committed soon."""
        self._stopping = True
        self._hush()
        try:
            async with asyncio.timeout(STOP_S_MAX):
                while self._writing is not None:
                    await self._quiet.wait()
        except TimeoutError:
            self.journal.say(f"ended before all was written: {self.trouble or 'the store is slow'}")
        if self._retry is not None:
            self._retry.cancel()
        await super().stop()
        await self.loop.run_in_executor(None, self._pool.shutdown)
        self._store.close()

    # --- a turn

    def _perform_rare(self, effect: Effect, now: float) -> None:
        if isinstance(effect, Kept):
            self._ledger.note(effect)
        else:
            super()._perform_rare(effect, now)

    def _finish(self) -> None:
        if self.moves.pending or self.door.moods.noted:
            self.moves.give(self.broker, self._perform, self._clock())
        if self.door.abroad.seeks:
            self.relays.take()
        held = self._held
        for output in self.door.output():
            if output.conn in self.clients:
                held.take(output)
        if self.door.news:
            self._tell_clients()
        if self._frames:
            frames, self._frames = self._frames, {}
            held.take_frames(frames)
        for conn in self._closing:
            if self._writing is None or conn not in self._writing.links_closing:
                held.links_closing[conn] = None
        self.counters.turns += 1
        if self._look is None:
            self._look = self.loop.call_later(LOOK_S, self._set_alarm)
        if self._writing is None:
            self._advance()
        else:
            self._weigh()

    def _weigh(self) -> None:
        """How much is held, and is that too much?"""
        self._counted.held_bytes = self._held.size + (self._writing.size if self._writing is not None else 0)
        if not self._hushed and self._counted.held_bytes > self.bounds.held_bytes_max:
            self._counted.pauses += 1
            self._hush()

    # --- commits

    def _advance(self) -> None:
        """Commit what has changed, or let go what waits for nothing."""
        batch = self._ledger.take()
        held, self._held = self._held, _Held()
        if batch:
            self._commit(batch, held)
        else:
            self._let_go(held)

    def _commit(self, batch: Batch, held: _Held) -> None:
        self._batch, self._writing = batch, held
        self._quiet.clear()
        self._weigh()
        done = self.loop.run_in_executor(self._pool, self._write, batch)
        done.add_done_callback(self._committed)

    def _write(self, batch: Batch) -> float:
        """In the thread: how long it took."""
        begun = time.perf_counter()
        self._store.commit(batch)
        return time.perf_counter() - begun

    def _committed(self, done: asyncio.Future[float]) -> None:
        try:
            self._count(done.result())
        except StoreError as error:
            self._fail(str(error))
        except Exception:
            self.failed("a commit")
            self._fail("an internal failure")
        else:
            self._go_on()

    def _go_on(self) -> None:
        try:
            self._succeed()
        except Exception:
            self.failed("what was held for a commit")

    def _count(self, took_s: float) -> None:
        gone = sum(value is None for value in self._batch.values())
        self._counted.commits += 1
        self._counted.commit_s += took_s
        self._counted.entries_dropped += gone
        self._counted.entries_kept += len(self._batch) - gone

    def _succeed(self) -> None:
        held, self._writing, self._batch = self._writing, None, {}
        if self.trouble:
            self.journal.say("the store is written again")
            self.trouble, self._retry_s = "", 0.0
        self._quiet.set()
        if held is not None:
            self._let_go(held)
        if self._writing is None:
            self._advance()
        self._weigh()
        if self._hushed and self._counted.held_bytes <= self.bounds.held_bytes_max // 2 and not self._stopping:
            self._listen()

    def _fail(self, why: str) -> None:
        """Nothing of the batch is kept, so nothing that rests on it may leave."""
        self._counted.commits_failed += 1
        if self.trouble != why:
            self.trouble = why
            self.journal.say(f"{why}; until then nothing is acknowledged")
        self._retry_s = min(max(self._retry_s * 2, RETRY_S_MIN), RETRY_S_MAX)
        self._retry = self.loop.call_later(self._retry_s, self._try_again)

    def _try_again(self) -> None:
        self._retry = None
        held, later, self._held = self._writing or _Held(), self._held, _Held()
        held.follow(later)
        self._commit({**self._batch, **self._ledger.take()}, held)

    # --- what was held

    def _let_go(self, held: _Held) -> None:
        """One write for each socket, and then the ends."""
        for conn, parts in held.clients.items():
            if (client := self.clients.get(conn)) is not None:
                self._give(client, parts)
        for conn in held.clients_closing:
            if (client := self.clients.get(conn)) is not None:
                client.close(lingers=True)
        for conn, parts in held.links.items():
            if (link := self.links.get(conn)) is not None:
                self._give(link, parts)
        for conn in held.links_closing:
            self._close_link(conn, self._closing.pop(conn, ""))

    def _give(self, to: ClientProtocol | LinkProtocol, parts: list[bytes]) -> None:
        to.write(parts[0] if len(parts) == 1 else b"".join(parts))
        self.counters.writes += 1

    # --- who is read

    def _hush(self) -> None:
        """Read nobody: who sends more would only make more wait."""
        self._hushed = True
        for protocol in self._protocols():
            _read(protocol.transport, False)

    def _listen(self) -> None:
        self._hushed = False
        for protocol in self._protocols():
            _read(protocol.transport, True)

    def _protocols(self) -> list[ClientProtocol | LinkProtocol]:
        return [*self.clients.values(), *self.links.values()]

    def client_opened(self, client: ClientProtocol) -> bool:
        opened = super().client_opened(client)
        if self._hushed:
            _read(client.transport, False)
        return opened

    def link_opened(self, link: LinkProtocol) -> bool:
        opened = super().link_opened(link)
        if self._hushed:
            _read(link.transport, False)
        return opened


def _read(transport: asyncio.Transport, ready: bool) -> None:
    if transport.is_closing() or transport.is_reading() is ready:
        return
    if ready:
        transport.resume_reading()
    else:
        transport.pause_reading()
