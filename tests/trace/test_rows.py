"""The rows of a passage are those of the records that it stands for, by whichever way they are made."""

from __future__ import annotations

from hypothesis import given

from reknit.trace.columns import schema, to_table
from reknit.trace.passage import Seen, expand
from reknit.trace.plain import tell
from reknit.trace.records import Record
from reknit.trace.rows import to_rows
from tests.trace.strategies import seen


def columns_of(records: list[Record]) -> list[dict[str, object]]:
    return to_table(records).drop_columns(["order"]).to_pylist()  # type: ignore[no-any-return]


@given(seen)
def test_rows_of_passages_are_those_of_their_records(given_: list[Seen]) -> None:
    rows = to_rows(given_)
    assert rows.schema.equals(schema())
    assert rows.drop_columns(["order"]).to_pylist() == columns_of(expand(given_))


@given(seen)
def test_passages_as_columns_make_the_same_rows(given_: list[Seen]) -> None:
    told, _ = tell(given_)
    assert to_rows(told).drop_columns(["order"]).to_pylist() == columns_of(expand(given_))
