"""A session as bytes, and back."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.session import Message, Session
from reknit.mqtt.subscriptions import Subscription
from reknit.mqtt.travel import BadState, State, pack, unpack, unpacked


def _session() -> Session:
    session = Session("ann", DoorOptions())
    session.expiry_s = 30
    session.subscriptions.restore([Subscription("a/#", Pattern.parse("a/#", "x > 1"), 1, no_local=True, identifier=7)])
    one, two, three = (Event(topic, b"x", {"x": 2}, source="b1.1", seq=seq) for seq, topic in enumerate("abc", 1))
    session.send(Message(one, (7,)))
    session.wait(Message(two, (7,)))
    session.wait(Message(three, (7,), 0))
    session.remember([one])
    return session


def test_all_that_a_session_is_arrives() -> None:
    before, after = _session(), Session("ann", DoorOptions())
    will = Event("will")
    state = unpack(pack(before, 12.5, will, 3.0))
    unpacked(state, after)
    assert (state.ends_in_s, state.will, state.will_in_s) == (12.5, will, 3.0)
    assert after.expiry_s == 30
    assert after.subscriptions.all() == before.subscriptions.all()
    assert after.inflight == before.inflight
    assert after.waiting == before.waiting
    assert after.last_id == before.last_id == 1
    assert after.keeps_plain
    assert after.is_own(before.inflight[1].event)
    assert not after.is_own(before.waiting[0].event)


@pytest.mark.parametrize(
    "changes",
    [{"version": 2}, {"inflight": [(0, Message(Event("a")))]}, {"last_id": 70_000}],
    ids=lambda each: next(iter(each)),
)
def test_what_cannot_be_a_session_is_none(changes: dict[str, object]) -> None:
    good = unpack(pack(_session(), 0.0, None, 0.0))
    with pytest.raises(BadState):
        unpack(msgspec.msgpack.encode(msgspec.structs.replace(good, **changes)))


def test_a_pattern_that_is_none_is_found() -> None:
    good = unpack(pack(_session(), 0.0, None, 0.0))
    bad = [msgspec.structs.replace(good.subscriptions[0], pattern=Pattern("a/#/b"))]
    with pytest.raises(BadState):
        unpack(msgspec.msgpack.encode(msgspec.structs.replace(good, subscriptions=bad)))


@given(st.binary(max_size=200) | st.integers(0, 300).map(lambda cut: pack(_session(), 1.0, None, 1.0)[:cut]))
def test_any_bytes_are_a_session_or_the_documented_error(data: bytes) -> None:
    with contextlib.suppress(BadState):
        assert isinstance(unpack(data), State)
