"""Every record survives the columns; what is no trace is refused with a reason."""

from __future__ import annotations

import math
import subprocess
import sys

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Event, Text
from reknit.model.pattern import Pattern
from reknit.trace.columns import VERSION, VERSION_KEY, BadTrace, from_table, schema, to_table
from reknit.trace.records import Kind, Record

texts = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
integers = st.integers(INTEGER_MIN, INTEGER_MAX)
attributes = st.dictionaries(names, st.one_of(texts, integers, st.floats(allow_nan=False), st.booleans()), max_size=3)
properties = st.lists(st.tuples(names, texts), max_size=3).map(tuple)
events = st.builds(
    Event, names, st.binary(max_size=9), attributes, properties, attributes, st.integers(0, 2), texts, texts, integers
)
patterns = st.builds(Pattern, names, texts)
records = st.builds(
    Record,
    st.floats(allow_nan=False),
    texts,
    st.sampled_from(Kind),
    texts,
    texts,
    st.none() | events,
    st.none() | patterns,
    integers,
    texts,
)


def without_payload(record: Record) -> Record:
    event = record.event and msgspec.structs.replace(record.event, payload=b"")
    return msgspec.structs.replace(record, event=event)


def types(values: dict[str, object]) -> list[type]:
    return [type(value) for value in values.values()]


@given(st.lists(records, max_size=5))
def test_every_record_comes_back_without_its_payload(wrote: list[Record]) -> None:
    assert from_table(to_table(wrote)) == [without_payload(record) for record in wrote]


@given(attributes)
def test_attributes_keep_their_types(wrote: dict[str, object]) -> None:
    event = read_back(Event("t", attributes=wrote, derived=wrote))  # type: ignore[arg-type]
    assert types(event.attributes) == types(event.derived) == types(wrote)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_floats_that_json_does_not_have(value: float) -> None:
    assert repr(read_back(Event("t", attributes={"x": value, "y": 1})).attributes) == repr({"x": value, "y": 1})


def test_untyped_text_is_told_from_a_typed_string() -> None:
    event = read_back(Event("t", attributes={"zip": "01234"}, properties=(("n", "3"), ("n", "4"))))
    assert event.properties == (("n", "3"), ("n", "4"))
    assert {name: type(value) for name, value in event.view().items()} == {"n": Text, "zip": str}


def test_the_size_of_the_payload_is_kept() -> None:
    table = to_table([Record(0.0, "b1", Kind.PUBLISHED, event=Event("t", b"12345")), Record(0.0, "b1", Kind.CALM)])
    assert table.column("payload_size").to_pylist() == [5, None]


def test_orders_count_from_zero_unless_given() -> None:
    pair = [Record(0.0, "b1", Kind.CALM)] * 2
    assert to_table(pair).column("order").to_pylist() == [0, 1]
    assert to_table(pair, [7, 9]).column("order").to_pylist() == [7, 9]


def test_no_records_are_a_table_too() -> None:
    assert to_table([]).schema.equals(schema(), check_metadata=True)
    assert from_table(to_table([])) == []


def test_a_newer_version_is_refused_by_name() -> None:
    newer = to_table([]).replace_schema_metadata({VERSION_KEY: str(VERSION + 1)})
    with pytest.raises(BadTrace, match=f"newer reknit.*version {VERSION + 1}"):
        from_table(newer)


@pytest.mark.parametrize("metadata", [None, {VERSION_KEY: "one"}, {VERSION_KEY: b"\xff"}])
def test_a_table_without_a_version_is_no_trace(metadata: dict[bytes, str] | None) -> None:
    with pytest.raises(BadTrace, match="no trace"):
        from_table(to_table([]).replace_schema_metadata(metadata))


def replaced(name: str, column: pa.Array) -> pa.Table:
    table = to_table([Record(0.0, "b1", Kind.PUBLISHED, event=Event("t"))])
    return table.set_column(table.schema.get_field_index(name), name, column)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (to_table([]).drop_columns(["kind", "seq"]), "missing: kind, seq"),
        (replaced("seq", pa.array(["1"])), "column seq is string, not int64"),
        (replaced("kind", pa.array(["sneezed"])), "sneezed"),
        (replaced("node", pa.array([None], pa.string())), "column node has no value"),
        (replaced("attributes", pa.array(["{"])), "no record can have"),
        (replaced("attributes", pa.array(['{"a":[1]}'])), "no record can have"),
        (replaced("attributes", pa.array(['{"a":{"double":"1"}}'])), "no record can have"),
        (replaced("properties", pa.array(['[["a"]]'])), "no record can have"),
    ],
)
def test_what_no_record_can_be_is_refused(table: pa.Table, reason: str) -> None:
    with pytest.raises(BadTrace, match=reason):
        from_table(table)


def test_pyarrow_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, reknit.trace.store; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def read_back(event: Event) -> Event:
    (record,) = from_table(to_table([Record(0.0, "b1", Kind.PUBLISHED, event=event)]))
    assert record.event is not None
    return record.event
