"""A passage stands for the records that would have been made one by one."""

from __future__ import annotations

from reknit.model.event import Event, event_bytes
from reknit.trace.passage import Passage, expand
from reknit.trace.records import Kind, Record

ONE, TWO, THREE = (Event("t", b"abc", source="b1.1", seq=seq) for seq in (1, 2, 3))


def test_what_happened_to_each_event_comes_in_its_order_and_that_all_settled_at_the_end() -> None:
    passage = Passage(2.0, "b1", "ann", [ONE, TWO], [("bob", "cay")], [(), ("b2",)], settled=True)
    assert list(passage.records()) == [
        Record(2.0, "b1", Kind.PUBLISHED, client="ann", event=ONE),
        Record(2.0, "b1", Kind.DELIVERED, client="bob", event=ONE),
        Record(2.0, "b1", Kind.DELIVERED, client="cay", event=ONE),
        Record(2.0, "b1", Kind.PUBLISHED, client="ann", event=TWO),
        Record(2.0, "b1", Kind.FORWARDED, peer="b2", event=TWO, size=event_bytes(TWO)),
        Record(2.0, "b1", Kind.SETTLED, event=ONE),
        Record(2.0, "b1", Kind.SETTLED, event=TWO),
    ]
    assert passage.count() == 7


def test_events_from_elsewhere_were_not_published_here() -> None:
    passage = Passage(2.0, "b1", None, [ONE, TWO, THREE], [(), ("bob",)])
    assert list(passage.records()) == [Record(2.0, "b1", Kind.DELIVERED, client="bob", event=TWO)]
    assert passage.count() == 1


def test_records_and_passages_keep_their_order() -> None:
    first, last = Record(1.0, "b1", Kind.STARTED), Record(3.0, "b1", Kind.CALM)
    seen = [first, Passage(2.0, "b1", "ann", [ONE]), last]
    assert expand(seen) == [first, Record(2.0, "b1", Kind.PUBLISHED, client="ann", event=ONE), last]
