"""A passage of plain events is told by a few columns; any other is told whole. Its rows: see ``test_rows``."""

from __future__ import annotations

import msgspec
from hypothesis import given

from reknit.model.event import Event
from reknit.trace.columns import from_table
from reknit.trace.passage import Passage, Seen, expand
from reknit.trace.plain import Plain, plain, tell
from reknit.trace.rows import to_rows
from tests.trace.strategies import seen


@given(seen)
def test_however_it_is_told_it_stands_for_as_many_records(given_: list[Seen]) -> None:
    passages = [each.count() for each in given_ if isinstance(each, Passage)]
    assert tell(given_)[1] == sum(passages) + len(given_) - len(passages) == len(expand(given_))


def test_what_a_burst_of_one_topic_is_told_by() -> None:
    events = [Event("t", b"abc", source="b1.1", seq=seq) for seq in range(5, 1005)]
    told = plain(Passage(1.0, "b1", "ann", events, [("bob",)] * 1000, [], settled=True))
    assert told == Plain(1.0, "b1", "ann", True, 1000, [("bob",)], [()], ["t"], [3], [0], ["b1.1"], [5])
    assert len(msgspec.msgpack.encode(told)) < 100


def test_events_with_more_than_a_topic_and_a_payload_are_told_whole() -> None:
    for more in ({"attributes": {"n": 1}}, {"properties": (("k", "v"),)}, {"derived": {"d": 1}}, {"content_type": "x"}):
        events = [Event("t", seq=1), Event("t", seq=2, **more)]  # type: ignore[arg-type]
        passage = Passage(1.0, "b1", "ann", events)
        assert plain(passage) is passage
        assert from_table(to_rows([passage])) == expand([passage])
