"""One end of a link: numbers, acknowledgements, resumption, liveness."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.io import Close, Dial, DialFailed, Lost, Send, Unsubscribe
from reknit.core.links.options import LinkOptions
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.codec import FRAME_BYTES_MAX, encode
from reknit.wire.messages import Ack, Data, Events, Farewell, Snapshot, Sub, Unsub
from tests.core.desk import Desk, FarEnd, event, pattern


def _linked(**options: object) -> tuple[Desk, FarEnd]:
    desk = Desk("n", links=LinkOptions(**options))  # type: ignore[arg-type]
    return desk, desk.linked("n", 1)


def _events(far: FarEnd, number: int) -> Data:
    """The frame that comes as the ``number``th from now, if it comes in order; it holds an event of that number."""
    return Data(far.session, far.seq + number, 0, 0, [Events([event(f"t{number}", number, "n.1")])])


def _topics(far: FarEnd) -> list[str]:
    return [each.topic for message in far.heard() if isinstance(message, Events) for each in message.events]


def test_frames_are_numbered_from_one_and_one_turn_fills_one_frame() -> None:
    desk, far = _linked()
    far.say(Sub([pattern("a"), pattern("b")]))
    desk.publish(event("a"), event("b"))
    desk.publish(event("a"))
    assert [(frame.seq, frame.messages) for frame in far.data()] == [  # number 1 was the snapshot
        (2, [Events([event("a", 1, "b.1"), event("b", 2, "b.1")])]),
        (3, [Events([event("a", 3, "b.1")])]),
    ]


def test_what_was_handled_once_is_not_handled_again() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("#"))
    frame = Data(far.session, far.seq + 1, 0, 0, [Events([event("a", 1, "n.1")]), Sub([pattern("a")])])
    far.send(frame)
    routes = len(desk.records(Kind.ROUTE_ADDED))
    far.send(frame)
    assert desk.deliveries() == [("a", "ann")]
    assert desk.records(Kind.DROPPED) == []  # it was the link that knew, not the guard behind it
    assert len(desk.records(Kind.ROUTE_ADDED)) == routes == 1


def test_a_frame_ahead_of_a_missing_one_waits_for_it() -> None:
    desk, far = _linked(retransmit_s=0.5)
    desk.client("ann", pattern("#"))
    for seq in (3, 2, 1):
        far.send(_events(far, seq))
    assert desk.deliveries() == [("t1", "ann"), ("t2", "ann"), ("t3", "ann")]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 8), max_size=40), st.permutations(range(1, 9)))
def test_datagrams_in_any_order_and_number_arrive_once_and_in_order(copies: list[int], last: list[int]) -> None:
    desk, far = _linked(retransmit_s=0.5)
    desk.client("ann", pattern("#"))
    for seq in [*copies, *last]:
        far.send(_events(far, seq))
    assert [topic for topic, _ in desk.deliveries()] == [f"t{seq}" for seq in range(1, 9)]


def test_early_frames_are_kept_up_to_a_bound() -> None:
    desk, far = _linked(retransmit_s=0.5, reorder_frames_max=2)
    desk.client("ann", pattern("#"))
    for seq in (2, 3, 4, 1):
        far.send(_events(far, seq))
    assert [topic for topic, _ in desk.deliveries()] == ["t1", "t2", "t3"]


def test_a_frame_of_another_session_is_not_heard() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("#"))
    far.send(Data(far.session + 1, far.seq + 1, 0, 0, [Events([event("a", 1, "n.1")])]))
    assert desk.deliveries() == []


def test_an_acknowledgement_waits_for_data_to_travel_with() -> None:
    desk, far = _linked(ack_delay_s=0.02)
    far.say(Sub([pattern("a")]))
    assert far.acks() == []
    desk.run(0.03)
    assert far.acks() == [Ack(far.session, 2, 2)]
    far.say(Sub([pattern("b")]))
    desk.publish(event("b"))
    assert [(frame.received, frame.settled) for frame in far.data()] == [(3, 3)]
    before = len(far.acks())
    desk.run(0.03)
    assert len(far.acks()) == before


def test_after_many_frames_an_acknowledgement_waits_no_longer() -> None:
    desk, far = _linked(ack_frames_max=3)
    desk.run(0.03)
    far.forget()
    for _ in range(3):
        far.say()
    assert [ack.received for ack in far.acks()] == [4]


def test_a_link_with_nothing_to_say_says_so() -> None:
    desk, far = _linked(heartbeat_s=1.0)
    for _ in range(3):
        desk.run(1.0)
        far.ack()
    assert len(far.acks()) == 3
    assert far.closed is None


def test_silence_ends_the_connection_but_not_the_link() -> None:
    desk, far = _linked(silence_s_max=4.0)
    desk.run(4.1)
    assert far.closed == "silent for 4 s"
    assert Farewell("silent for 4 s") in far.frames()
    assert [record.detail for record in desk.records(Kind.LINK_DOWN)] == ["silent for 4 s"]
    assert list(desk.broker.table()["neighbours"]) == ["n"]


def test_talk_without_progress_is_reported_and_ends_the_connection() -> None:
    desk, far = _linked(progress_s_max=6.0)
    desk.client("ann", pattern("a"))  # a frame that is never acknowledged
    for _ in range(7):
        desk.run(1.0)
        far.ack(received=0)
    assert [record.peer for record in desk.records(Kind.LINK_STALLED)] == ["n"]
    assert far.closed == "took frames, handled none for 6 s"


def test_slow_progress_is_progress() -> None:
    desk, far = _linked(progress_s_max=6.0)
    for number in range(10):
        desk.client("ann", pattern(f"t{number}"))
    for received in range(2, 12):
        desk.run(3.0)
        far.ack(received=received)
    assert desk.records(Kind.LINK_STALLED) == []
    assert far.closed is None


def test_a_resumed_session_sends_what_is_missing_and_only_that() -> None:
    desk, far = _linked()
    far.say(Sub([pattern("#")]))
    for topic in "abc":
        desk.publish(event(topic))
    assert _topics(far) == ["a", "b", "c"]
    desk.give(Lost(1, "reset"))
    desk.publish(event("d"))
    far.got -= 1  # the last frame was lost with the connection
    session = far.session
    far.redial(2)
    far.greet()
    assert far.session == session
    assert _topics(far) == ["c", "d"]


def test_a_neighbour_that_has_lost_its_memory_gets_the_unsettled_events_again() -> None:
    desk, far = _linked()
    far.say(Sub([pattern("#")]))
    for topic in "abc":
        desk.publish(event(topic))
    sent = [frame.seq for frame in far.data()]
    far.ack(received=sent[-1], settled=sent[0])
    desk.give(Lost(1, "reset"))
    next_life = desk.far_end("n", 2)
    next_life.greet(incarnation=2)
    assert next_life.session != far.session
    assert _topics(next_life) == ["b", "c"]
    assert [frame.seq for frame in next_life.data()] == [1, 2, 3]  # and a snapshot


def test_only_what_is_settled_leaves_the_outbox() -> None:
    desk, far = _linked()
    far.say(Sub([pattern("#")]))
    desk.publish(event("a"))
    far.data()
    far.ack(settled=0)
    assert desk.broker.table()["neighbours"]["n"]["outbox_bytes"] > 0
    assert desk.records(Kind.SETTLED) == []
    far.ack()
    assert desk.broker.table()["neighbours"]["n"]["outbox_bytes"] == 0
    assert [record.event.id for record in desk.records(Kind.SETTLED) if record.event] == [("b.1", 1)]


@pytest.mark.parametrize("received", [-1, 10**12, 2**64 - 1])
def test_an_acknowledgement_of_what_was_never_sent_counts_for_what_was(received: int) -> None:
    desk, far = _linked()
    far.say(Sub([pattern("#")]))
    desk.publish(event("a"))
    far.ack(received=received)
    desk.publish(event("b"))
    assert _topics(far) == ["a", "b"]
    assert far.closed is None


def test_a_full_outbox_drops_new_events_and_each_drop_is_seen() -> None:
    desk, far = _linked(outbox_bytes_max=1000)
    far.say(Sub([pattern("#")]))
    for number in range(20):
        desk.publish(event(f"t{number}"))
    kept = _topics(far)
    dropped = [record.event.topic for record in desk.records(Kind.DROPPED) if record.event]
    assert kept + dropped == [f"t{number}" for number in range(20)]
    assert {record.detail for record in desk.records(Kind.DROPPED)} == {"outbox full"}
    assert desk.broker.table()["neighbours"]["n"] == {
        "up": True,
        "outbox_bytes": desk.broker.table()["neighbours"]["n"]["outbox_bytes"],
        "dropped": len(dropped),
    }
    assert 0 < desk.broker.table()["neighbours"]["n"]["outbox_bytes"] <= 1000
    far.ack()
    desk.publish(event("again"))
    assert _topics(far)[-1] == "again"


def test_a_large_turn_is_split_into_frames() -> None:
    desk, far = _linked(frame_bytes_target=1000)
    far.say(Sub([pattern("#")]))
    desk.publish(*(event(f"t{number}") for number in range(100)))
    assert len(far.data()) > 3
    assert _topics(far) == [f"t{number}" for number in range(100)]


def test_what_is_said_about_subscriptions_is_split_into_frames_too() -> None:
    desk = Desk("n", links=LinkOptions(frame_bytes_target=1000))
    wanted = [pattern(f"{'t' * 50}/{number}") for number in range(100)]
    desk.client("ann", *wanted)
    far = desk.far_end("n", 1)
    far.greet()
    far.say(Snapshot([], last=True))
    desk.give(Unsubscribe("ann", tuple(wanted)))
    assert [message for message in far.heard() if isinstance(message, Unsub)] == [Unsub([each]) for each in wanted]
    retracting = [frame for frame in far.data() if any(isinstance(each, Unsub) for each in frame.messages)]
    assert max(len(encode(frame)) for frame in retracting) < 2000


def test_a_table_of_any_size_fits_into_frames_that_the_far_end_takes() -> None:
    desk = Desk("n")
    wanted = [pattern(f"{'t' * 1000}/{number}") for number in range(16_800)]
    desk.client("ann", *wanted)
    far = desk.far_end("n", 1)
    far.greet()  # reads what comes, and would find a frame that is too long
    told = [
        each for message in far.heard() if isinstance(message, Snapshot) for _, part in message.entries for each in part
    ]
    assert told == wanted


@pytest.mark.parametrize("where", ["attributes", "properties", "derived"])
def test_all_that_an_event_carries_counts_for_its_size(where: str) -> None:
    desk, far = _linked(frame_bytes_target=10_000, outbox_bytes_max=50_000)
    far.say(Sub([pattern("#")]))
    carried = {"x": "y" * 1_000}
    load = {where: tuple(carried.items()) if where == "properties" else carried}
    desk.publish(*(Event("a", **load) for _ in range(100)))
    assert 1 < len(far.data()) < 10
    assert max(len(encode(frame)) for frame in far.data()) < 20_000
    assert len(desk.records(Kind.DROPPED)) > 40


def test_an_event_that_no_frame_can_hold_is_dropped_where_it_is_seen() -> None:
    desk, far = _linked()
    far.say(Sub([pattern("#")]))
    desk.publish(Event("a", b"x" * (FRAME_BYTES_MAX - 100)), event("b"))
    assert _topics(far) == ["b"]
    assert [record.detail for record in desk.records(Kind.DROPPED)] == ["too large for a frame"]


def test_datagrams_that_are_not_acknowledged_are_sent_again() -> None:
    desk, far = _linked(retransmit_s=0.5)
    desk.client("ann", pattern("a"))
    first = far.data()
    desk.run(0.6)
    again = far.data()[len(first) :]
    assert [frame.messages for frame in again] == [frame.messages for frame in first] == [[Sub([pattern("a")])]]
    far.ack()
    count = len(far.data())
    desk.run(0.9)
    assert len(far.data()) == count


def test_a_burst_of_retransmissions_is_bounded() -> None:
    desk, far = _linked(retransmit_s=0.5, window_frames=4)
    for number in range(10):
        desk.client("ann", pattern(f"t{number}"))
    far.forget()
    desk.run(0.6)
    assert [frame.seq for frame in far.data()] == [2, 3, 4, 5]


def test_streams_send_nothing_twice_on_one_connection() -> None:
    desk, far = _linked()
    desk.client("ann", pattern("a"))
    desk.run(3.0)
    assert [message for message in far.heard() if isinstance(message, Sub)] == [Sub([pattern("a")])]


def test_a_farewell_closes_the_connection_and_not_the_link() -> None:
    desk, far = _linked()
    far.send(Farewell("going down"))
    assert far.closed == "going down"
    assert desk.records(Kind.LINK_DOWN)[-1].detail == "closed by n: going down"
    assert list(desk.broker.table()["neighbours"]) == ["n"]


def test_the_wait_between_dials_doubles_up_to_a_bound() -> None:
    options = LinkOptions(dial_s_min=0.1, dial_s_max=0.5)
    desk = Desk(dials={"a": "a:1"}, links=options)
    times: list[float] = []
    for step in range(1, 400):
        desk.run(0.01)
        if len(desk.all(Dial)) > len(times):
            times.append(step * 0.01)
            desk.give(DialFailed("a", "nobody there"))
    gaps = [round(later - earlier, 2) for earlier, later in itertools.pairwise(times)]
    assert gaps == pytest.approx([0.1, 0.2, 0.4] + [0.5] * (len(gaps) - 3), abs=0.011)
    assert len(gaps) > 5


def test_the_order_of_messages_of_a_turn_is_kept() -> None:
    desk, far = _linked()
    other = desk.linked("m", 2)
    far.forget()
    other.say(Sub([pattern("a")]), Sub([pattern("b")]), Unsub([pattern("a")]))
    assert far.heard()[-3:] == [Sub([pattern("a")]), Sub([pattern("b")]), Unsub([pattern("a")])]


def test_output_goes_to_the_connection_in_use() -> None:
    desk, far = _linked()
    far.redial(2)
    far.greet()
    assert [each.reason for each in desk.all(Close) if each.conn == 1] == ["replaced by a newer connection"]
    desk.client("ann", pattern("a"))
    sends = [each.conn for each in desk.all(Send)]
    assert sends[-1] == 2
