"""A broker among nonsense: whatever callers and neighbours send, it never raises, stays bounded, and serves the others.

The hostile ends greet rightly, wrongly or not at all, ask to be joined, hang up at any moment, and send every message
in any state: numbers of any size, waves that nobody began, leaves twice, snapshots without end. Beside them one healthy
neighbour sends an event now and then, answers what it is asked, and must be served all along. They do not steal its
name, nor that of its events: nobody proves who it is here.
"""

from __future__ import annotations

import random

import msgspec
import pytest

from reknit.core.io import Accepted, AddLink, Close, Dial, DialFailed, Dialled, Lost, Received, RemoveLink, Send
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.options import OverlayOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.codec import VERSION, decode, encode
from reknit.wire.messages import (
    Abort,
    Ack,
    AskHeld,
    Change,
    Commit,
    Ctrl,
    Data,
    Done,
    Events,
    Farewell,
    Flush,
    Frame,
    Held,
    Hello,
    Known,
    Leave,
    Message,
    Prepare,
    Prepared,
    Rec,
    Refuse,
    Release,
    Seek,
    Snapshot,
    Sought,
    Sub,
    Unsub,
    Wave,
)
from tests.core.desk import Desk, FarEnd, event, pattern

ROUTINGS = ("subscription-forwarding", "global-table", "flooding")
NUMBERS = (0, 1, 2, 3, 5, 100, 2**31, 2**47, 2**63 - 1, 2**64 - 1, -1, -(2**63))
NAMES = ("evil", "e1", "e2", "b", "", "zz")
LINKS = LinkOptions(neighbours_max=4, outbox_bytes_max=20_000, reorder_frames_max=8, greeting_s_max=3.0)
STEPS = 1_200
WISHES = [pattern("#"), pattern("a", "x > 1"), *(pattern(f"t/{number}") for number in range(50))]


class Hostile:
    """Many connections of ill will; each knows its own session, if it has got one."""

    def __init__(self, desk: Desk, rng: random.Random) -> None:
        self.desk = desk
        self.rng = rng
        self.open: dict[int, dict[str, int]] = {}
        self.opened = 100
        self.dials: list[str] = []

    def act(self) -> None:
        rng = self.rng
        choice = rng.random()
        if choice < 0.08 or not self.open:
            self.opened += 1
            self.open[self.opened] = {"session": 0, "seq": 0}
            self.desk.give(Accepted(self.opened))
            return
        conn = rng.choice(list(self.open))
        if choice < 0.12:
            del self.open[conn]
            self.desk.give(Lost(conn, "hung up"))
        elif choice < 0.15 and self.dials:
            self._answer_dial(self.dials.pop())
        elif choice < 0.2 or (not self.open[conn]["session"] and rng.random() < 0.8):
            self.desk.give(Received(conn, encode(self._hello())))
        elif choice < 0.95:
            self.desk.give(Received(conn, encode(self._frame(conn))))
        else:
            self.desk.give(Received(conn, self._damaged(encode(self._frame(conn)))))

    def _answer_dial(self, peer: str) -> None:
        if self.rng.random() < 0.3:
            self.desk.give(DialFailed(peer, "nobody there"))
        else:
            self.opened += 1
            self.open[self.opened] = {"session": 0, "seq": 0}
            self.desk.give(Dialled(peer, self.opened))

    def see(self, effects: list[object]) -> None:
        """Learn sessions from greetings, forget what was closed, note who is dialled."""
        for effect in effects:
            if isinstance(effect, Send) and effect.conn in self.open:
                frame = decode(effect.frame)
                if isinstance(frame, Hello):
                    self.open[effect.conn] = {"session": frame.session, "seq": 0}
            elif isinstance(effect, Close):
                self.open.pop(effect.conn, None)
            elif isinstance(effect, Dial):
                self.dials.append(effect.peer)

    def _wave(self) -> Wave:
        return (self.rng.choice(("b", "good", "evil")), self.rng.choice((*NUMBERS, *range(1, 12))))

    def _hello(self) -> Hello:
        rng = self.rng
        version = VERSION if rng.random() < 0.95 else rng.choice(NUMBERS)
        dialect = self.desk.options.routing if rng.random() < 0.95 else "telepathy"
        session = rng.choice((0, 0, *NUMBERS, *(each["session"] for each in self.open.values())))
        wave = self._wave() if rng.random() < 0.3 else None
        incarnation, received = rng.choice(NUMBERS), rng.choice(NUMBERS)
        name, linked = rng.choice(NAMES), rng.random() < 0.7
        who = (version, dialect, name, rng.choice(("", "e:1")), incarnation)
        return Hello(*who, session, received, linked, wave, rng.random() < 0.2)

    def _frame(self, conn: int) -> Frame:
        rng, state = self.rng, self.open[conn]
        choice = rng.random()
        if choice < 0.75:
            state["seq"] += 1
            wild = rng.random() < 0.1
            session = rng.choice(NUMBERS) if wild else state["session"]
            seq = rng.choice(NUMBERS) if wild else state["seq"]
            said = [self._message() for _ in range(rng.randrange(4))]
            return Data(session, seq, rng.choice(NUMBERS), rng.choice(NUMBERS), said)
        if choice < 0.85:
            return Ack(state["session"], rng.choice(NUMBERS), rng.choice(NUMBERS))
        if choice < 0.87:
            return Farewell("so long")
        if choice < 0.89:
            return Refuse("no", rng.random() < 0.5, rng.random() < 0.5)
        return self._hello()

    def _change_message(self, wishes: list[Pattern]) -> Message:
        rng = self.rng
        path = rng.sample(["b", "good", "evil", "e1", "e2", "zz"], rng.randint(3, 6))
        id_, strategy = (
            rng.choice(("b.1:1", "b.1:2", "x")),
            rng.choice(("path", "path-batched", "deferred", "strawman", "")),
        )
        change = Change(id_, strategy, path, rng.randrange(len(path) - 1))
        return rng.choice(
            (
                Prepare(change, rng.choice(("", "e:1")), rng.random() < 0.5),
                Prepared(id_, rng.choice(("", "no")), rng.random() < 0.5),
                Commit(change),
                Rec(change, wishes[:2], wishes[1:], rng.choice((b"", b"digest")), rng.random() < 0.7),
                Flush(change),
                Held(id_, wishes, rng.random() < 0.5),
                rng.choice((Abort, Ctrl, AskHeld, Done))(id_),
            )
        )

    def _message(self) -> Message:
        rng = self.rng
        wishes = [
            rng.choice((pattern("#"), pattern("a", "x > 1"), pattern(f"t/{rng.randrange(50)}"))) for _ in range(4)
        ]
        seq = rng.choice((1, 2, 3, 2**63 - 1))
        if rng.random() < 0.3:
            return self._change_message(wishes)
        return rng.choice(
            (
                Events([event("a", seq, f"evil.{rng.randrange(9)}"), event("spam/ham", seq, "evil.0")]),
                Sub(wishes),
                Unsub(wishes),
                Known(rng.choice(NAMES), wishes[:2], wishes[1:]),
                Snapshot([(rng.choice(NAMES), wishes)], rng.random() < 0.2),
                Leave(),
                Seek(self._wave(), rng.choice(("nobody", "good", "b", "")), ["x"] * rng.randrange(3)),
                Sought(self._wave(), ["b", "x"][: rng.randrange(3)], rng.choice(("", "busy"))),
                Release(self._wave()),
            )
        )

    def _damaged(self, data: bytes) -> bytes:
        at = self.rng.randrange(len(data))
        choice = self.rng.random()
        if choice < 0.4:
            return data[:at] + bytes((self.rng.randrange(256),)) + data[at + 1 :]
        if choice < 0.7:
            return data[:at]
        return self.rng.randbytes(self.rng.randrange(40))


class Healthy:
    """Its events must be delivered; it answers searches, and acknowledges."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.far: FarEnd = desk.linked("good", 1, pattern("wanted/by/good"))
        self.sent = 0
        self.echoed = 0

    def act(self) -> None:
        self.sent += 1
        self.far.say(Events([Event(f"good/{self.sent}", source="good.1", seq=self.sent)]))
        for message in self.far.heard():
            if isinstance(message, Seek):
                self.echoed += 1
                self.far.say(Sought(message.wave, [], ""))
        self.far.ack()
        self.far.forget()

    def served(self) -> list[str]:
        return [topic for topic, client in self.desk.deliveries() if client == "ann" and topic.startswith("good/")]


def _check(desk: Desk) -> None:
    table = desk.broker.table()
    assert len(table["neighbours"]) <= LINKS.neighbours_max
    assert all(each["outbox_bytes"] <= 2 * LINKS.outbox_bytes_max for each in table["neighbours"].values())
    assert len(table["entries"]) <= 60 * (LINKS.neighbours_max + 1)
    deadline = desk.broker.deadline()
    assert deadline is None or deadline > desk.now  # all that was due has been done


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("datagrams", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_neighbour_is_served_all_along(routing: str, datagrams: bool, seed: int) -> None:
    rng = random.Random(f"{routing}/{datagrams}/{seed}")
    links = msgspec.structs.replace(LINKS, retransmit_s=0.5 if datagrams else 0.0)
    desk = Desk("good", routing=routing, links=links, overlay=OverlayOptions(lease_s=2.0, join_s_max=3.0))
    desk.client("ann", pattern("good/#"), pattern("spam/#"))
    hostile, healthy = Hostile(desk, rng), Healthy(desk)
    for step in range(STEPS):
        before = len(desk.effects)
        hostile.act()
        if step % 10 == 0:
            healthy.act()
        if step % 25 == 0:
            desk.give(AddLink(rng.choice(NAMES), rng.choice(("", "e:1")), step))
        if step % 60 == 0:
            desk.give(RemoveLink(rng.choice(NAMES), step))
        desk.run(rng.random() / 5)
        hostile.see(list(desk.effects[before:]))
        _check(desk)
    assert healthy.served() == [f"good/{number}" for number in range(1, healthy.sent + 1)]
    assert healthy.far.closed is None
    assert desk.broker.table()["malformed_frames"] > 0
    assert "good" in desk.broker.table()["neighbours"]


@pytest.mark.parametrize("seed", range(3))
def test_the_broker_comes_to_rest_when_the_nonsense_ends(seed: int) -> None:
    """All hostile connections hang up: no connection is held, no search is locked, no alarm spins."""
    rng = random.Random(f"rest/{seed}")
    desk = Desk("good", links=LINKS, overlay=OverlayOptions(lease_s=2.0, join_s_max=3.0))
    hostile, healthy = Hostile(desk, rng), Healthy(desk)
    for step in range(STEPS):
        before = len(desk.effects)
        hostile.act()
        if step % 10 == 0:
            healthy.act()
        desk.run(0.05)
        hostile.see(list(desk.effects[before:]))
    for conn in list(hostile.open):
        desk.give(Lost(conn, "hung up"))
    for name in list(desk.broker.table()["neighbours"]):
        if name != "good":
            desk.give(RemoveLink(name, 1))
    for _ in range(30):
        desk.run(1.0)
        healthy.act()
    assert list(desk.broker.table()["neighbours"]) == ["good"]
    assert desk.broker.overlay.at_rest
    newcomer = desk.far_end("newcomer", 99_999)
    newcomer.greet(linked=False, wave=("newcomer", 1))
    healthy.act()
    assert any(isinstance(frame, Hello) for frame in newcomer.frames())


def test_before_a_greeting_any_bytes_end_the_connection() -> None:
    rng = random.Random(1)
    desk = Desk("good")
    for conn in range(1, 300):
        desk.give(Accepted(conn))
        desk.give(Received(conn, rng.randbytes(rng.randrange(60))))
    assert [each.conn for each in desk.all(Close)] == list(range(1, 300))
    assert desk.broker.table()["malformed_frames"] == 299


@pytest.mark.parametrize("datagrams", [False, True])
def test_frames_ahead_of_a_missing_one_are_kept_within_a_bound_and_on_a_stream_not_at_all(datagrams: bool) -> None:
    desk = Desk("good", links=msgspec.structs.replace(LINKS, retransmit_s=0.5 if datagrams else 0.0))
    far = desk.linked("good", 1)
    for ahead in range(1_000, 1, -1):
        far.send(Data(far.session, far.seq + ahead, 0, 0, [Sub([Pattern.parse(f"t/{ahead}")])]))
    for ahead in range(1, 1_001 - LINKS.reorder_frames_max):
        far.send(Data(far.session, far.seq + ahead, 0, 0, []))
    assert len(desk.broker.table()["entries"]) == (LINKS.reorder_frames_max if datagrams else 0)
