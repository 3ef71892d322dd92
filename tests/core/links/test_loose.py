"""A link on which events may be lost: sent once and forgotten, while all else is still sent until it arrives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.io import Deliver, Lost
from reknit.core.links.loose import LOOSE_BYTES_MAX, datagram_bytes_of
from reknit.core.links.options import LinkOptions
from reknit.model.event import Event, Share, Sharing
from reknit.trace.records import NO_CONNECTION, Kind
from reknit.wire.codec import encode
from reknit.wire.marks import write_marks
from reknit.wire.messages import Data, Events, Loose, Sub
from tests.core.desk import Desk, FarEnd, event, pattern


def _linked(**options: object) -> tuple[Desk, FarEnd]:
    desk = Desk("n", links=LinkOptions(loose=True, retransmit_s=0.5, **options))  # type: ignore[arg-type]
    far = desk.linked("n", 1, pattern("#"))
    return desk, far


def _loose(far: FarEnd) -> list[list[str]]:
    """The topics of the events in each datagram that was sent once."""
    frames = [frame for frame in far.frames() if isinstance(frame, Loose)]
    return [[each.topic for say in one.messages if isinstance(say, Events) for each in say.events] for one in frames]


def test_events_go_without_a_number_and_are_settled_at_once() -> None:
    desk, far = _linked()
    desk.publish(event("a"), event("b"))
    assert _loose(far) == [["a", "b"]]
    assert far.data() == []
    assert len(desk.records(Kind.SETTLED)) == 2
    desk.run(5.0)
    assert len(_loose(far)) == 1  # nobody sends it again


def test_subscriptions_are_sent_until_they_arrive() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("a"))
    desk.run(1.2)
    sent = [frame for frame in far.frames() if isinstance(frame, Data)]
    assert [frame.messages for frame in sent] == [[Sub([pattern("a")])]] * 3
    assert len({frame.seq for frame in sent}) == 1


def test_an_event_that_comes_loosely_is_delivered_and_nobody_waits_for_a_word_on_it() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("a"))
    far.forget()
    far.send(Loose(far.session, [Events([event("a", 1, "n.1")])]))
    far.send(Loose(far.session + 1, [Events([event("a", 2, "n.1")])]))  # of another session
    assert desk.deliveries() == [("a", "ann")]
    assert far.acks() == []


def test_events_that_overtake_each_other_are_not_taken_for_copies() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("+"))
    for number in (2, 1, 2, 1):
        far.send(Loose(far.session, [Events([event(f"t{number}", number, "n.1")])]))
    assert desk.deliveries() == [("t2", "ann"), ("t1", "ann")]


def test_without_a_connection_events_do_not_wait() -> None:
    desk, _ = _linked()
    desk.give(Lost(1, "gone"))
    desk.publish(event("a"))
    assert [record.detail for record in desk.records(Kind.DROPPED)] == [NO_CONNECTION]
    back = desk.far_end("n", 2)
    back.greet(incarnation=2)
    assert back.topics() == []
    assert _loose(back) == []


def test_small_events_share_a_datagram_and_a_large_one_has_its_own() -> None:
    desk, far = _linked(datagram_bytes=400)
    desk.publish(event("a"), event("b"), Event("c", bytes(1000)), event("d"), event("e"), event("f"), event("g"))
    assert [topic for each in _loose(far) for topic in each] == list("abcdefg")
    assert ["c"] in _loose(far)
    assert len(_loose(far)) < 7


def test_what_members_of_a_group_share_is_sent_until_it_arrives() -> None:
    desk, far = _linked()
    desk.publish(Event("a", sharing=Sharing((Share("g", "a", "", "n"),))))
    assert _loose(far) == []
    assert [each for each in far.heard() if isinstance(each, Events)]


def test_while_a_session_moves_events_keep_their_place_among_the_words() -> None:
    """What was sent loosely before, and comes late, is taken for lost."""
    desk, far = _linked()
    link = desk.broker.links.of[far.name]
    link.sends_in_line = link.takes_in_line = True
    desk.publish(Event("a"))
    assert _loose(far) == []
    assert [each for each in far.heard() if isinstance(each, Events)]
    before = len(desk.all(Deliver))
    desk.client("ann", pattern("a"))
    far.send(Loose(far.session, [Events([Event("a", source="s.1", seq=1)])]))
    assert len(desk.all(Deliver)) == before


def test_what_is_too_large_to_come_back_is_sent_until_it_arrives() -> None:
    desk, far = _linked()
    for size in (LOOSE_BYTES_MAX - 200, LOOSE_BYTES_MAX, 10 * LOOSE_BYTES_MAX):
        desk.publish(Event("a", bytes(size)))
    assert _loose(far) == [["a"]]
    sent = [len(event.payload) for each in far.heard() if isinstance(each, Events) for event in each.events]
    assert sent == [LOOSE_BYTES_MAX, 10 * LOOSE_BYTES_MAX]
    assert desk.records(Kind.DROPPED) == []


@given(
    st.text(min_size=1, max_size=30),
    st.binary(max_size=300),
    st.just({})
    | st.dictionaries(st.text(min_size=1, max_size=9), st.text(max_size=20) | st.integers(-(2**60), 2**60), max_size=4),
    st.integers(0, 9),
)
def test_the_estimate_is_not_too_low(topic: str, payload: bytes, attributes: dict[str, str | int], many: int) -> None:
    number, marks = write_marks([(2**62, 2**40)] * many, ("broker",) * many, "127.0.0.1:65535")
    named = {"source": "broker.18c0ffee000", "seq": 2**40}
    known = Event(topic, payload, dict(attributes), **named, number=number, marks=marks)
    assert len(encode(known)) <= datagram_bytes_of(known)
