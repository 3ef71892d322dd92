"""The network between brokers: connections, and what can go wrong on them.

A *stream* carries frames in order and without loss as long as it lives; where a direction is cut off, its frames
wait, as they would for TCP, and arrive after the cut has healed unless the connection was given up meanwhile.
*Datagrams* get lost, doubled and overtake each other; where a direction is cut off they are gone.

Owns: connections, latencies, cuts. Must not know: what a frame says, or what a broker does with it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from reknit.core.io import Accepted, DialFailed, Dialled, Direct, Input, Lost, Received
from reknit.sim.kernel import Kernel

__all__ = ["Network", "NetworkOptions", "Traffic"]


class NetworkOptions(msgspec.Struct, frozen=True):
    latency_s_min: float = 0.001
    latency_s_max: float = 0.02
    dial_timeout_s: float = 1.0
    datagrams: bool = False
    loss: float = 0.0
    """Datagrams: the share that is lost, on links and past them."""
    duplication: float = 0.0
    """Datagrams: the share that arrives twice."""


@dataclass(slots=True)
class Traffic:
    frames: int = 0
    datagrams: int = 0
    """Past all links."""
    bytes: int = 0
    lost: int = 0
    duplicated: int = 0


@dataclass(slots=True)
class _End:
    """One end of a connection. ``peer`` is the number of the other."""

    node: str
    other: str
    peer: int
    known: bool = False  # the node has been told of this end
    deaf: bool = False  # what is under way towards this end will not arrive
    arrives_at: float = 0.0  # streams: the last frame towards this end
    line: deque[bytes] = field(default_factory=deque)  # streams: what is under way towards this end, in its order
    stopped: int = 0  # how many of these wait for a cut to heal


class Network:
    """``give(node, given)`` hands an input to a node; ``alive(node)`` says whether it would take it."""

    def __init__(
        self,
        kernel: Kernel,
        options: NetworkOptions,
        rng: random.Random,
        give: Callable[[str, Input], None],
        alive: Callable[[str], bool],
    ) -> None:
        self.kernel = kernel
        self.options = options
        self.rng = rng
        self.give = give
        self.alive = alive
        self.latency_of: Callable[[str, str], float] | None = None
        """By the names of both ends: how long each frame between them takes. None: each frame draws its own."""
        self.is_stream: Callable[[str, str], bool] = lambda one, other: not options.datagrams
        """By the names of both ends: whether what connects them is a stream."""
        self.loss = options.loss  # may be changed while it runs
        self.traffic = Traffic()
        self._ends: dict[int, _End] = {}
        self._cuts: dict[tuple[str, str], None] = {}  # directions
        self._severed: dict[tuple[str, str], None] = {}  # the same, for good
        self._count = 0

    # --- what a node does

    def dial(self, node: str, peer: str) -> None:
        if self._cut(node, peer) or self._cut(peer, node) or not self.alive(peer):
            wait = self._latency(node, peer) if not self._cut(node, peer) else self.options.dial_timeout_s
            self.kernel.after(wait, self.give, node, DialFailed(peer, "no answer"))
            return
        near, far = self._count + 1, self._count + 2
        self._count = far
        self._ends[near] = _End(node, peer, far)
        self._ends[far] = _End(peer, node, near)
        delay = self._latency(node, peer)
        self.kernel.after(delay, self._open, far, Accepted(far))
        self.kernel.after(2 * delay, self._open, near, Dialled(peer, near))

    def send(self, conn: int, frame: bytes) -> None:
        end = self._ends.get(conn)
        if end is None:
            return
        self.traffic.frames += 1
        self.traffic.bytes += len(frame)
        far = self._ends.get(end.peer)
        if far is None:
            if not self._cut(end.node, end.other) and not self._cut(end.other, end.node):
                self.kernel.after(2 * self._latency(end.node, end.other), self._lose, conn, "connection reset")
        elif not self.is_stream(end.node, end.other):
            self._send_datagram(end, frame)
        else:
            far.line.append(frame)
            self._set_out(end.peer, far)

    def send_directly(self, node: str, peer: str, datagram: bytes) -> None:
        """A datagram past all links, whatever those are made of."""
        self.traffic.datagrams += 1
        self.traffic.bytes += len(datagram)
        for _ in range(self._copies(node, peer)):
            self.kernel.after(self._latency(node, peer), self.give, peer, Direct(datagram))

    def close(self, conn: int) -> None:
        end = self._ends.get(conn)
        if end is not None:
            del self._ends[conn]
            self._tell_lost(end.peer, f"closed by {end.node}", end)

    def other_end(self, conn: int) -> str:
        """Who is at the other end of a connection; empty if it is gone."""
        return self._ends[conn].other if conn in self._ends else ""

    # --- what goes wrong

    def crash(self, node: str) -> None:
        """All its connections are gone; the other ends notice, unless they are cut off.

        What it had sent and was still under way arrives, or is lost with it.
        """
        for conn, end in list(self._ends.items()):
            if end.node == node:
                if (far := self._ends.get(end.peer)) is not None:
                    far.deaf = self.rng.random() < 0.5
                del self._ends[conn]
                self._tell_lost(end.peer, f"{node} crashed", end)

    def break_connection(self, one: str, other: str) -> bool:
        """Both ends lose the connection, and what is in flight on it."""
        for conn, end in list(self._ends.items()):
            if (end.node, end.other) == (one, other) and end.known and end.peer in self._ends:
                self._lose(conn, "connection reset")
                self._lose(end.peer, "connection reset")
                return True
        return False

    def cut(self, node: str, towards: str) -> None:
        """Nothing gets from ``node`` to ``towards`` any more."""
        self._cuts[node, towards] = None

    def sever(self, one: str, other: str) -> None:
        """Nothing gets from one to the other any more, nor back, and that is not healed."""
        self._severed[one, other] = self._severed[other, one] = None

    def has_lost(self, node: str) -> bool:
        """Whether one of its links is gone for good."""
        return any(node in pair for pair in self._severed)

    def heal(self, *directions: tuple[str, str]) -> None:
        """Undo these cuts, or all."""
        for direction in directions or list(self._cuts):
            self._cuts.pop(direction, None)
        for conn, end in list(self._ends.items()):
            stopped, end.stopped = end.stopped, 0
            for _ in range(stopped):
                self._set_out(conn, end)

    # --- inside

    def _cut(self, node: str, towards: str) -> bool:
        return (node, towards) in self._cuts or (node, towards) in self._severed

    def _latency(self, one: str, other: str) -> float:
        if self.latency_of is not None:
            return self.latency_of(one, other)
        return self.rng.uniform(self.options.latency_s_min, self.options.latency_s_max)

    def _set_out(self, conn: int, end: _End) -> None:
        """One more of the line will arrive, unless it is cut off; which one, the line says."""
        if self._cut(end.other, end.node):
            end.stopped += 1
        else:
            end.arrives_at = max(end.arrives_at, self.kernel.now + self._latency(end.other, end.node))
            self.kernel.at(end.arrives_at, self._arrive, conn)

    def _arrive(self, conn: int) -> None:
        """A cut that began meanwhile stops it, and all behind it, as it would a TCP segment."""
        end = self._ends.get(conn)
        if end is None or end.deaf:
            return
        if self._cut(end.other, end.node):
            end.stopped += 1
        else:
            self.give(end.node, Received(conn, end.line.popleft()))

    def _send_datagram(self, end: _End, frame: bytes) -> None:
        for _ in range(self._copies(end.node, end.other)):
            self.kernel.after(
                self._latency(end.node, end.other), self._give_if_open, end.peer, Received(end.peer, frame)
            )

    def _copies(self, node: str, other: str) -> int:
        """How many of a datagram arrive."""
        if self._cut(node, other) or self.rng.random() < self.loss:
            self.traffic.lost += 1
            return 0
        if self.rng.random() < self.options.duplication:
            self.traffic.duplicated += 1
            return 2
        return 1

    def _open(self, conn: int, given: Accepted | Dialled) -> None:
        end = self._ends.get(conn)
        if end is not None:
            end.known = True
            self.give(end.node, given)

    def _give_if_open(self, conn: int, given: Input) -> None:
        end = self._ends.get(conn)
        if end is not None and not end.deaf:
            self.give(end.node, given)

    def _tell_lost(self, conn: int, reason: str, near: _End) -> None:
        """The far end notices behind what was sent to it before; cut off, it notices nothing."""
        if not self._cut(near.node, near.other):
            far = self._ends.get(conn)
            at = max(self.kernel.now + self._latency(near.node, near.other), far.arrives_at if far else 0.0)
            self.kernel.at(at, self._lose, conn, reason)

    def _lose(self, conn: int, reason: str) -> None:
        end = self._ends.pop(conn, None)
        if end is not None:
            self.give(end.node, Lost(conn, reason) if end.known else DialFailed(end.other, reason))
