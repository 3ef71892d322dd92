"""The columns of a trace: records as one wide table, and back.

Owns: the schema, its version, and how each field of a record becomes a value of a column. Must not know: files,
threads, or who reads (see ``store``).

A trace is one table, so that a question about it is one query. A record fills the columns of its kind; the others are
null, and null says "none": an empty peer, client or detail is stored as null and read back as empty. An event lies
flat beside its record, without its payload: the trace says how many bytes there were, never which.

An event's three maps stay three columns of JSON text, because a reader must be able to tell a typed string
(``attributes``, ``derived``) from an untyped text (``properties``). JSON keeps integers apart from floats by the point
or exponent that every float is written with, so 64-bit integers and floats come back exactly. The floats that JSON
does not have are written as an object, ``{"float": "nan"}``; nothing else can be an object, so that is not ambiguous.

Time is a float of seconds, the very number that the node saw: in the simulator two moments may be closer than any
timestamp type can tell. ``order`` rises within what one node wrote, and decides between equal times.

Names are plain strings. Parquet writes each different one once per file anyway, and Arrow's dictionary type would only
stand in the way of readers: tables with different dictionaries cannot be grouped or put together by all of them.

pyarrow is imported on first use only: a broker without a trace starts without it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from reknit.model.event import Attributes, Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "VERSION",
    "VERSION_KEY",
    "BadTrace",
    "event_arrays",
    "event_of",
    "from_table",
    "schema",
    "to_table",
    "with_orders",
]

VERSION = 1
"""Raised when a reader of the old columns would misread the new ones; a new column alone does not raise it."""

VERSION_KEY = b"reknit.trace.version"


class BadTrace(ValueError):
    """What was read is no trace, is broken, or is newer than this reader."""


@functools.cache
def schema() -> pa.Schema:
    """The columns in their order; docs/trace.md says what each holds."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    always = {"time": pa.float64(), "order": number, "node": text, "kind": text}
    record = {"peer": text, "client": text, "size": number, "detail": text}
    event = {"source": text, "seq": number, "topic": text, "payload_size": number, "qos": pa.int8()}
    event |= {"attributes": text, "properties": text, "derived": text, "content_type": text}
    pattern = {"pattern_topic": text, "selector": text}
    fields = [pa.field(key, kind, nullable=False) for key, kind in always.items()]
    fields += [pa.field(key, kind) for key, kind in (record | event | pattern).items()]
    return pa.schema(fields, metadata={VERSION_KEY: str(VERSION).encode()})


# --- records to columns


def to_table(records: Sequence[Record], orders: Sequence[int] | None = None) -> pa.Table:
    """The records as a table of ``schema()``. ``orders`` are their places in the trace; from 0 if not given."""
    import pyarrow as pa

    columns: _Columns = {"order": range(len(records)) if orders is None else orders}
    events = [record.event or _NO_EVENT for record in records]
    columns |= _record_columns(records) | _event_columns(events) | _pattern_columns(records)
    arrays = [_array(columns[name], kind, len(records)) for name, kind in _fields()]
    return pa.Table.from_arrays(arrays, schema=schema())


def with_orders(table: pa.Table, first: int) -> pa.Table:
    """The same rows, numbered from ``first`` on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = table.schema.get_field_index("order")
    numbers = pc.add(_counting(table.num_rows), pa.scalar(first, pa.int64()))
    return table.set_column(at, table.schema.field(at), numbers)


@functools.lru_cache(4)
def _counting(length: int) -> pa.Array:
    """The numbers from 0 on; most segments of a busy node have the same length."""
    import pyarrow as pa

    return pa.array(range(length), pa.int64())


def event_arrays(events: Sequence[Event]) -> dict[str, pa.Array]:
    """The columns of the events alone, by name."""
    columns, kinds = _event_columns(events), dict(_fields())
    return {name: _array(values, kinds[name], len(events)) for name, values in columns.items()}


_Columns: TypeAlias = dict[str, Sequence[Any] | None]


@functools.cache
def _fields() -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema()]


def _array(values: Sequence[Any] | None, kind: pa.DataType, length: int) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(length, kind) if values is None else pa.array(values, kind)


# This is what a trace costs its node: the columns are gathered with C loops (``map`` over ``attrgetter``) where that
# is possible, a missing event or pattern is a stand-in whose fields are all None, and a column that nobody fills is
# not even looked at twice.


def _record_columns(records: Sequence[Record]) -> _Columns:
    return {
        "time": list(map(attrgetter("time"), records)),
        "node": list(map(attrgetter("node"), records)),
        "kind": list(map(attrgetter("kind"), records)),
        "size": list(map(attrgetter("size"), records)),
        "peer": _filled(map(attrgetter("peer"), records)),
        "client": _filled(map(attrgetter("client"), records)),
        "detail": _filled(map(attrgetter("detail"), records)),
    }


def _event_columns(events: Sequence[Any]) -> _Columns:
    return {
        "source": list(map(attrgetter("source"), events)),
        "seq": list(map(attrgetter("seq"), events)),
        "topic": list(map(attrgetter("topic"), events)),
        "qos": list(map(attrgetter("qos"), events)),
        "payload_size": [None if payload is None else len(payload) for payload in map(attrgetter("payload"), events)],
        "content_type": _filled(map(attrgetter("content_type"), events)),
        "attributes": _filled(map(attrgetter("attributes"), events), _to_json),
        "properties": _filled(map(attrgetter("properties"), events), _encode),
        "derived": _filled(map(attrgetter("derived"), events), _to_json),
    }


def _pattern_columns(records: Sequence[Record]) -> _Columns:
    if not any(map(attrgetter("pattern"), records)):
        return {"pattern_topic": None, "selector": None}
    patterns = [record.pattern or _NO_PATTERN for record in records]
    return {
        "pattern_topic": list(map(attrgetter("topic"), patterns)),
        "selector": _filled(map(attrgetter("selector"), patterns)),
    }


_NO_EVENT = SimpleNamespace(**dict.fromkeys(Event.__struct_fields__))
_NO_PATTERN = SimpleNamespace(topic=None, selector=None)


def _filled(values: Iterable[Any], encode: Callable[[Any], bytes] | None = None) -> list[Any] | None:
    """The values with null for each empty one; nothing at all if every one is empty."""
    found = list(values)
    if not any(found):
        return None
    if encode is None:
        return [value or None for value in found]
    return [encode(value) if value else None for value in found]


_encode = msgspec.json.Encoder().encode


def _to_json(attributes: Attributes) -> bytes:
    values = attributes.values()
    if any(type(value) is float and not math.isfinite(value) for value in values):
        return _encode({name: _spelled(value) for name, value in attributes.items()})
    return _encode(attributes)


def _spelled(value: Any) -> Any:
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


# --- columns to records


def from_table(table: pa.Table) -> list[Record]:
    """The records of a table, row by row; their events carry no payload. ``BadTrace`` if it is no trace."""
    _check(table.schema)
    for field in schema():
        if not field.nullable and table.column(field.name).null_count:
            raise BadTrace(f"column {field.name} has no value in some row")
    try:
        columns = {field.name: _values(table.column(field.name)) for field in schema()}
        return list(_records(columns))
    except (ValueError, TypeError, KeyError) as error:
        raise BadTrace(f"a value that no record can have: {error}") from error


def _check(found: pa.Schema) -> None:
    version = (found.metadata or {}).get(VERSION_KEY, b"").decode(errors="replace")
    if not (version.isascii() and version.isdigit()):
        raise BadTrace("no trace: the version of its columns is missing")
    if int(version) > VERSION:
        raise BadTrace(f"a newer reknit wrote it (columns of version {version}; this one reads up to {VERSION})")
    missing = [field.name for field in schema() if field.name not in found.names]
    if missing:
        raise BadTrace(f"columns are missing: {', '.join(missing)}")
    for field in schema():
        if found.field(field.name).type != field.type:
            raise BadTrace(f"column {field.name} is {found.field(field.name).type}, not {field.type}")


def _values(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        column = column.fill_null(0)  # that there is none, the topic says
    values: list[Any] = column.to_pylist()
    return values


def _records(columns: dict[str, list[Any]]) -> Iterator[Record]:
    kinds = {kind.value: kind for kind in Kind}
    events = _events(columns)
    patterns = zip(columns["pattern_topic"], columns["selector"], strict=True)
    names = ("time", "node", "kind", "peer", "client", "size", "detail")
    rows = zip(*(columns[name] for name in names), events, patterns, strict=True)
    for time, node, kind, peer, client, size, detail, event, (topic, selector) in rows:
        pattern = None if topic is None else Pattern(topic, selector or "")
        yield Record(time, node, kinds[kind], peer or "", client or "", event, pattern, size, detail or "")


def _events(columns: dict[str, list[Any]]) -> Iterator[Event | None]:
    names = ("topic", "attributes", "properties", "derived", "qos", "content_type", "source", "seq")
    for topic, attributes, properties, derived, qos, content_type, source, seq in zip(
        *(columns[name] for name in names), strict=True
    ):
        if topic is None:
            yield None
            continue
        yield event_of(topic, attributes, properties, derived, qos, content_type or "", source, seq)


def event_of(
    topic: str,
    attributes: str | None,
    properties: str | None,
    derived: str | None,
    qos: int = 0,
    content_type: str = "",
    source: str = "",
    seq: int = 0,
) -> Event:
    """The event of one row, without its payload."""
    pairs = _decode_pairs(properties) if properties else ()
    return Event(topic, b"", _from_json(attributes), pairs, _from_json(derived), qos, content_type, source, seq)


_decode_pairs = msgspec.json.Decoder(tuple[tuple[str, str], ...]).decode
_decode_map = msgspec.json.Decoder(dict[str, str | bool | int | float | dict[str, str]]).decode


def _from_json(text: str | None) -> Attributes:
    if text is None:
        return {}
    values = _decode_map(text)
    return {name: float(value["float"]) if isinstance(value, dict) else value for name, value in values.items()}
