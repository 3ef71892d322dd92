"""The rows of a passage are those of the records that it stands for, by whichever way they are made."""

from __future__ import annotations

import msgspec
from hypothesis import given

from reknit.model.event import Event
from reknit.trace.columns import from_table, schema, to_table
from reknit.trace.passage import Passage, Seen, expand
from reknit.trace.plain import Plain, plain, tell
from reknit.trace.records import Record
from reknit.trace.rows import to_rows
from tests.trace.strategies import passages, seen


def columns_of(records: list[Record]) -> list[dict[str, object]]:
    return to_table(records).drop_columns(["order"]).to_pylist()  # type: ignore[no-any-return]


@given(seen)
def test_rows_of_passages_are_those_of_their_records(given_: list[Seen]) -> None:
    rows = to_rows(given_)
    assert rows.schema.equals(schema())
    assert rows.drop_columns(["order"]).to_pylist() == columns_of(expand(given_))


@given(seen)
def test_passages_as_columns_make_the_same_rows(given_: list[Seen]) -> None:
    told, count = tell(given_)
    assert to_rows(told).drop_columns(["order"]).to_pylist() == columns_of(expand(given_))
    assert count == len(expand(given_))


@given(passages())
def test_a_passage_counts_its_records(passage: Passage) -> None:
    assert passage.count() == len(expand([passage]))


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
