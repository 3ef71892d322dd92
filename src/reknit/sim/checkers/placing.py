"""Sessions that move on a ring: none is lost on its way, none is doubled, and nobody is sent back and forth.

A session that its old broker has let go is at the new one, unless that has died. When all is calm a client has one
session. And a broker that sends a client elsewhere because of what it wants leaves it there for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.sim.checkers.violation import Violation
from reknit.trace.records import PLACED_BETTER, Kind, Record

__all__ = ["check_placing"]


class _Sessions:
    def __init__(self, stay_s: float) -> None:
        self.stay_s = stay_s
        self.of: dict[str, dict[str, None]] = {}  # by client: brokers that have a session of it
        self.ended: dict[tuple[str, str], None] = {}  # by broker and client: sessions that came there and have ended
        self.came: dict[str, float] = {}  # by client: when it came where it was sent for its wishes
        self.sent: dict[tuple[str, str], None] = {}  # by broker and client: to go for its wishes

    def see(self, record: Record) -> Iterator[Violation]:
        node, client, time = record.node, record.client, record.time
        match record.kind:
            case Kind.ATTACHED:
                self.of.setdefault(client, {})[node] = None
                self.came.pop(client, None)
            case Kind.MOVED_IN:
                self.of.setdefault(client, {})[node] = None
                self.ended.pop((node, client), None)
                if self.sent.pop((record.peer, client), False) is None:
                    self.came[client] = time
            case Kind.DETACHED:
                self.of.get(client, {}).pop(node, None)
                self.ended[node, client] = None
            case Kind.CRASHED:
                for each, brokers in self.of.items():
                    if node in brokers:
                        del brokers[node]
                        self.ended[node, each] = None
            case Kind.MOVED_OUT:
                if record.peer not in self.of.get(client, {}) and (record.peer, client) not in self.ended:
                    yield Violation("placing", time, f"{node} has sent {client} to {record.peer}, which has no session")
            case Kind.CHANGE if record.detail == PLACED_BETTER:
                yield from self._sent(record)
            case Kind.CALM:
                for each, brokers in self.of.items():
                    if len(brokers) > 1:
                        yield Violation("placing", time, f"{each} has sessions at {' and '.join(sorted(brokers))}")

    def _sent(self, record: Record) -> Iterator[Violation]:
        """It may have to be tried again; but once it has come, it stays."""
        self.sent[record.node, record.client] = None
        came = self.came.get(record.client)
        if came is not None and record.time < came + self.stay_s:
            after = record.time - came
            what = f"{record.node} sends {record.client} to {record.peer} {after:.2f} s after it was sent there itself"
            yield Violation("placing", record.time, what)


def check_placing(records: Iterable[Record], stay_s: float) -> Iterator[Violation]:
    """``stay_s``: for how long a client that has moved has to be left where it is."""
    sessions = _Sessions(stay_s)
    for record in records:
        yield from sessions.see(record)
