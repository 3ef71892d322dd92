"""What a session writes down is what it is: after any steps, and any commits between them, its entries say the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.keeping import IDENTS, MESSAGES, RECEIVED, SESSIONS, Keeper, KeptSession
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.parser import Parser
from reknit.mqtt.recalling import Recalled
from reknit.mqtt.session import Connection, Message
from reknit.mqtt.subscriptions import Subscription
from reknit.store.memory import MemoryStore

EPOCH = 1000.0
OPTIONS = DoorOptions(inflight_max=3, queue_messages_max=5)


def message(number: int, qos: int = 1) -> Message:
    return Message(Event("t", b"%d" % number, qos=qos, source="b.1", seq=number), (7,), qos)


def connection() -> Connection:
    return Connection(1, Parser(1000), 0.0)


def lasting(keeper: Keeper, client: str = "c") -> KeptSession:
    session = keeper.session(client)
    session.expiry_s = 100
    session.changed()
    keeper.take()
    return session


def shelves(batch: dict[tuple[str, bytes], bytes | None]) -> list[tuple[str, bool]]:
    return [(shelf, value is not None) for (shelf, _), value in batch.items()]


@pytest.fixture
def keeper() -> Keeper:
    return Keeper(OPTIONS, EPOCH)


def test_a_session_that_ends_with_its_connection_writes_nothing(keeper: Keeper) -> None:
    session = keeper.session("c")
    session.changed()
    session.wait(message(1))
    session.send(message(2))
    session.took(5)
    assert keeper.take() == {}
    assert keeper.idle


def test_a_message_that_is_sent_at_once_costs_one_entry(keeper: Keeper) -> None:
    session = lasting(keeper)
    ident = session.send(message(1))
    assert shelves(keeper.take()) == [(MESSAGES, True)]
    session.acknowledged(ident)
    assert shelves(keeper.take()) == [(MESSAGES, False)]


def test_a_message_that_waits_is_written_once(keeper: Keeper) -> None:
    session = lasting(keeper)
    session.wait(message(1))
    assert shelves(keeper.take()) == [(MESSAGES, True)]
    session.resume(connection())
    assert session.next_to_send() is not None
    assert shelves(keeper.take()) == [(IDENTS, True)]
    session.acknowledged(1)
    assert sorted(shelves(keeper.take())) == [(IDENTS, False), (MESSAGES, False)]


def test_what_comes_and_goes_between_two_commits_costs_nothing(keeper: Keeper) -> None:
    session = lasting(keeper)
    ident = session.send(message(1))
    session.acknowledged(ident)
    assert keeper.take() == {}


def test_qos_2_is_written_down_to_the_last_step(keeper: Keeper) -> None:
    session = lasting(keeper)
    ident = session.send(message(1, qos=2))
    keeper.take()
    assert session.release(ident)
    assert sorted(shelves(keeper.take())) == [(IDENTS, True), (MESSAGES, False)]
    assert session.release(ident)  # said again
    assert keeper.take() == {}
    assert session.completed(ident)
    assert shelves(keeper.take()) == [(IDENTS, False)]
    session.took(9)
    assert shelves(keeper.take()) == [(RECEIVED, True)]
    assert session.freed(9)
    assert not session.freed(9)
    assert shelves(keeper.take()) == [(RECEIVED, False)]


def test_a_session_that_begins_to_last_is_written_whole_and_dropped_whole_when_it_does_not(keeper: Keeper) -> None:
    session, store = keeper.session("c"), MemoryStore()
    session.send(message(1))
    session.wait(message(2))
    session.took(3)
    session.expiry_s = 10
    session.changed()
    store.commit(keeper.take())
    assert sorted({shelf for shelf, _, _ in store.load()}) == [MESSAGES, RECEIVED, SESSIONS]
    session.expiry_s = 0
    session.changed()
    store.commit(keeper.take())
    assert len(store) == 0


def test_a_session_that_ends_leaves_nothing_and_the_next_of_its_name_is_another(keeper: Keeper) -> None:
    session, store = lasting(keeper), MemoryStore()
    session.changed()
    session.wait(message(1))
    session.send(message(2))
    store.commit(keeper.take())
    session.ended()
    again = keeper.session("c")
    again.expiry_s = 5
    again.changed()
    again.write()
    ident = again.send(message(3))
    again.acknowledged(ident)
    store.commit(keeper.take())
    assert [shelf for shelf, _, _ in store.load()] == [SESSIONS]


# --- any steps

NAMES = ["deliver", "deliver2", "play", "next", "ack", "release", "complete", "withdraw", "took", "freed"]
NAMES += ["come", "go", "expire", "subscribe", "commit"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.integers(0, 4),
    ),
    max_size=40,
)


def known(session: Any) -> dict[str, Any]:
    """All of a session that must outlive its broker."""

    def plain(each: Message) -> tuple[Any, ...]:
        return each.event, each.identifiers, each.qos, each.retain

    return {
        "inflight": {ident: plain(each) for ident, each in session.inflight.items()},
        "waiting": [plain(each) for each in session.waiting if each.qos],
        "replay": [plain(each) for each in session.replay if each.qos],
        "released": list(session.released),
        "received": set(session.received),
        "subscriptions": session.subscriptions.all(),
        "expiry_s": session.expiry_s,
        "user": session.user,
    }


def step(session: KeptSession, name: str, number: int, count: int) -> None:
    if name in ("deliver", "deliver2"):
        each = message(count, 2 if name == "deliver2" else 1)
        if session.open and not session.replay and not session.waiting:
            session.send(each)
        else:
            session.wait(each)
    elif name == "play":
        session.play(message(count))
    elif name == "next":
        session.next_to_send()
    elif name == "ack":
        session.acknowledged(number + 1)
    elif name == "release":
        session.release(number + 1)
    elif name == "complete":
        session.completed(number + 1)
    elif name == "withdraw" and number + 1 in session.inflight:
        session.withdraw(number + 1)
    elif name == "took":
        session.took(number + 1)
    elif name == "freed":
        session.freed(number + 1)
    else:
        _step_of_session(session, name, number)


def _step_of_session(session: KeptSession, name: str, number: int) -> None:
    if name == "come":
        session.resume(connection())
    elif name == "go":
        session.connection = None
    elif name == "expire":
        session.expiry_s = number * 10
    elif name == "subscribe":
        pattern = Pattern.parse(f"t/{number}")
        session.subscriptions.restore([Subscription(pattern.topic, pattern, 1)])
    session.changed()


@settings(max_examples=300)
@given(STEPS, st.booleans())
def test_after_any_steps_the_entries_say_what_the_session_is(steps: list[tuple[str, int]], lasts: bool) -> None:
    keeper, store = Keeper(OPTIONS, EPOCH), MemoryStore()
    session = keeper.session("c")
    session.expiry_s = 10 * lasts
    session.resume(connection())
    session.changed()
    store.commit(keeper.take())
    for count, (name, number) in enumerate(steps):
        if name == "commit":
            store.commit(keeper.take())
        else:
            step(session, name, number, count)
    store.commit(keeper.take())
    recalled = Recalled(Keeper(OPTIONS, EPOCH))
    for entry in store.load():
        recalled.take(*entry)
    found = recalled.sessions(0.0)
    if not session.expiry_s:
        assert (found, len(store)) == ([], 0)
    else:
        assert [known(each) for each in found] == [known(session)]
