"""In causal order nothing comes before its publication, and no broker's own order changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.cli._demo.history import causal_order
from reknit.model.event import Event
from reknit.trace.records import Kind, Record

EVENTS = [Event("t", source="b1.1", seq=number) for number in range(1, 4)]


def test_a_delivery_waits_for_its_publication_and_holds_what_follows_it() -> None:
    delivered = Record(1.0, "b2", Kind.DELIVERED, event=EVENTS[0])
    after = Record(1.1, "b2", Kind.LINK_DOWN)
    published = Record(1.2, "b1", Kind.PUBLISHED, event=EVENTS[0])
    assert causal_order([delivered, after, published]) == [published, delivered, after]


def test_a_publication_that_died_with_its_broker_is_not_waited_for() -> None:
    records = [Record(1.0, "b2", Kind.DELIVERED, event=EVENTS[0]), Record(2.0, "demo", Kind.CALM)]
    assert causal_order(records) == records


def test_a_session_is_on_its_way_before_it_is_there_and_there_before_it_is_given_up() -> None:
    moving = Record(1.2, "b1", Kind.MOVING, "b2", "ann")
    there = Record(1.1, "b2", Kind.MOVED_IN, "b1", "ann")
    out = Record(1.0, "b1", Kind.MOVED_OUT, "b2", "ann")
    assert causal_order([there, moving, out]) == [moving, there, out]
    assert causal_order([moving, out, there]) == [moving, there, out]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["b1", "b2", "b3"]),
            st.sampled_from([Kind.PUBLISHED, Kind.DELIVERED, Kind.LINK_UP]),
            st.sampled_from(EVENTS),
        ),
        max_size=12,
    )
)
def test_nothing_is_lost_and_each_brokers_order_stays(steps: list[tuple[str, Kind, Event]]) -> None:
    records = [Record(float(at), node, kind, event=event) for at, (node, kind, event) in enumerate(steps)]
    ordered = causal_order(records)
    for node in ("b1", "b2", "b3"):
        assert [each for each in ordered if each.node == node] == [each for each in records if each.node == node]


@given(st.permutations(range(6)))
def test_a_consistent_trace_is_put_right_however_clocks_differ(places: list[int]) -> None:
    """b1 publishes three events, b2 delivers them; the merge by time has mixed the two in any way."""
    ones = iter([Record(0, "b1", Kind.PUBLISHED, event=event) for event in EVENTS])
    twos = iter([Record(0, "b2", Kind.DELIVERED, event=event) for event in EVENTS])
    mixed = [next(ones) if place < 3 else next(twos) for place in places]
    seen: dict[int, None] = {}
    for record in causal_order(mixed):
        assert record.event is not None
        assert record.kind is Kind.PUBLISHED or record.event.seq in seen
        seen[record.event.seq] = None


MOVED = Record(2.0, "a", Kind.LINK_MOVED, peer="c", detail="b")
HANDED = Record(1.8, "b", Kind.LINK_HANDED, peer="a", detail="c")
TAKEN = Record(1.9, "c", Kind.LINK_TAKEN, peer="a", detail="b")


def test_the_others_of_a_swap_wait_for_the_word_of_the_mover() -> None:
    behind = Record(1.95, "c", Kind.LINK_UP)
    assert causal_order([HANDED, TAKEN, behind, MOVED]) == [MOVED, HANDED, TAKEN, behind]
    back = [
        Record(2.1, "a", Kind.LINK_MOVED, peer="b", detail="c"),
        Record(2.2, "c", Kind.LINK_HANDED, peer="a", detail="b"),
        Record(2.2, "b", Kind.LINK_TAKEN, peer="a", detail="c"),
    ]
    again = [HANDED, TAKEN, MOVED]
    ordered = causal_order([HANDED, TAKEN, MOVED, *back, *again])
    assert ordered == [MOVED, HANDED, TAKEN, *back, MOVED, HANDED, TAKEN]


def test_a_move_that_died_with_its_broker_is_not_waited_for() -> None:
    assert causal_order([HANDED, TAKEN]) == [HANDED, TAKEN]
