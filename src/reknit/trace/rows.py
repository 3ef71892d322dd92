"""From what a node saw to the rows of its trace, passages without a detour over records.

Owns: how a passage becomes rows. Must not know: what a record's columns hold (see ``columns``), files, or when
anything is written (see ``segmenter``).

The rows of a passage repeat themselves: each event gives one row for each thing that happened to it, and most events
of a node have the same things happen to them. So there are two small tables: one of the events, and one of *shapes*,
which says who published, who got it and to whom it went. A row is a pair of numbers, one into each; Arrow puts them
together. That is a quarter of what it costs to make records first, and it decides whether a scribe can follow a node
that is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from reknit.model.event import EVENT_OVERHEAD_BYTES, event_bytes
from reknit.trace.columns import event_arrays, schema, to_table
from reknit.trace.passage import Passage
from reknit.trace.plain import Plain, Told, short_hops
from reknit.trace.records import Kind, Record

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["to_rows"]

_T = TypeVar("_T")


def to_rows(seen: Sequence[Told]) -> pa.Table:
    """What ``to_table`` makes of all records that ``seen`` stands for, but for ``order``: whoever writes gives it."""
    import pyarrow as pa

    records = [each for each in seen if isinstance(each, Record)]
    passages = [each for each in seen if isinstance(each, Passage)]
    plains = [each for each in seen if isinstance(each, Plain)]
    parts = [to_table(records)] if records or not seen else []
    parts += [_table(_passage_events(passages), _Rows(passages))] if passages else []
    parts += [_table(_plain_events(plains), _Rows(plains))] if plains else []
    if len(parts) == 1:
        return parts[0]
    places = {Record: 0, Passage: len(records), Plain: len(records) + sum(each.count() for each in passages)}
    return pa.concat_tables(parts).combine_chunks().take(pa.array(_places(seen, places), pa.int64()))


def _places(seen: Sequence[Told], at: dict[Any, int]) -> Iterator[int]:
    """For each row in its order, where it is in a table in which the rows of each type begin ``at`` some place."""
    for each in seen:
        first = at[type(each)]
        at[type(each)] += 1 if isinstance(each, Record) else each.count()
        yield from range(first, at[type(each)])


class _Shapes:
    """What can happen to an event, each shape once; ``rows`` are those of all shapes, one after the other."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, Kind, str | None, str | None]] = []  # node, kind, peer, client
        self._known: dict[tuple[str, str | None, tuple[str, ...], tuple[str, ...]], list[int]] = {}
        self._settled: dict[str, int] = {}

    def of(self, node: str, client: str | None, clients: tuple[str, ...], peers: tuple[str, ...]) -> list[int]:
        key = (node, client, clients, peers)
        if (known := self._known.get(key)) is None:
            before = len(self.rows)
            if client is not None:
                self.rows.append((node, Kind.PUBLISHED, None, client or None))
            self.rows += [(node, Kind.DELIVERED, None, name or None) for name in clients]
            self.rows += [(node, Kind.FORWARDED, name or None, None) for name in peers]
            known = self._known[key] = list(range(before, len(self.rows)))
        return known

    def settled(self, node: str) -> int:
        if node not in self._settled:
            self._settled[node] = len(self.rows)
            self.rows.append((node, Kind.SETTLED, None, None))
        return self._settled[node]


class _Rows:
    """The rows of all passages: for each its time, and its places in the tables of shapes and of events."""

    def __init__(self, passages: Sequence[Passage] | Sequence[Plain]) -> None:
        self.shapes = _Shapes()
        self.times: list[float] = []
        self.shape_at: list[int] = []
        self.event_at: list[int] = []
        first = 0
        for passage in passages:
            length = passage.length if isinstance(passage, Plain) else len(passage.events)
            self._add(passage, range(first, first + length))
            first += length

    def _add(self, passage: Passage | Plain, events: range) -> None:
        before = len(self.shape_at)
        self._add_hops(passage, events)
        if passage.settled:
            self.shape_at += repeat(self.shapes.settled(passage.node), len(events))
            self.event_at += events
        self.times += repeat(passage.time, len(self.shape_at) - before)

    def _add_hops(self, passage: Passage | Plain, events: range) -> None:
        """The rows of each event. Where all went the same way, no loop of the interpreter's is needed."""
        clients, peers = _hops(passage)
        if len(clients) == len(peers) == 1:
            shape = self.shapes.of(passage.node, passage.client, clients[0], peers[0])
            self.shape_at += shape * len(events)
            self.event_at += chain.from_iterable(zip(*repeat(events, len(shape)), strict=True))
            return
        for at, *hops in zip(events, _each(clients), _each(peers), strict=False):
            shape = self.shapes.of(passage.node, passage.client, *hops)
            self.shape_at += shape
            self.event_at += repeat(at, len(shape))


def _hops(passage: Passage | Plain) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    if isinstance(passage, Plain):
        return passage.clients, passage.peers
    length = len(passage.events)
    return short_hops(passage.clients, length), short_hops(passage.peers, length)


def _each(hops: list[tuple[str, ...]]) -> Iterable[tuple[str, ...]]:
    return repeat(hops[0]) if len(hops) == 1 else hops


# --- the table


def _table(events: dict[str, pa.Array], rows: _Rows) -> pa.Table:
    """``events`` are the columns of all events, each once, and beside them ``size``, as it is if one is forwarded."""
    import pyarrow as pa

    length = len(rows.times)
    at = pa.array(rows.event_at, pa.int64())
    columns = {name: pa.nulls(length, schema().field(name).type) for name in ("detail", "pattern_topic", "selector")}
    columns |= {"time": pa.array(rows.times, pa.float64()), "order": pa.repeat(pa.scalar(0, pa.int64()), length)}
    columns |= _shape_columns(rows) | {name: _taken(each, at) for name, each in events.items()}
    columns["size"] = _sizes(rows, columns)
    return pa.Table.from_arrays([columns[name] for name in schema().names], schema=schema())


def _shape_columns(rows: _Rows) -> dict[str, pa.Array]:
    import pyarrow as pa

    at = pa.array(rows.shape_at, pa.int64())
    names = ("node", "kind", "peer", "client")
    values = zip(*rows.shapes.rows, strict=True) if rows.shapes.rows else repeat((), len(names))
    return {name: pa.array(each, pa.string()).take(at) for name, each in zip(names, values, strict=False)}


def _taken(column: pa.Array, at: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(len(at), column.type) if column.null_count == len(column) else column.take(at)


def _sizes(rows: _Rows, columns: dict[str, pa.Array]) -> pa.Array:
    """What was forwarded has its size; nothing else has one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    none = pa.scalar(0, pa.int64())
    if not any(kind is Kind.FORWARDED for _, kind, _, _ in rows.shapes.rows):
        return pa.repeat(none, len(rows.times))
    return pc.if_else(pc.equal(columns["kind"], Kind.FORWARDED.value), columns["size"], none)


def _passage_events(passages: Sequence[Passage]) -> dict[str, pa.Array]:
    import pyarrow as pa

    events = list(chain.from_iterable(each.events for each in passages))
    forwards = any(each.peers for each in passages)
    sizes = map(event_bytes, events) if forwards else repeat(0, len(events))
    return event_arrays(events) | {"size": pa.array(sizes, pa.int64())}


def _plain_events(plains: Sequence[Plain]) -> dict[str, pa.Array]:
    """The same columns, of events that were never made."""
    import pyarrow as pa
    import pyarrow.compute as pc

    topics = _column(plains, lambda each: each.topics)
    sizes = pa.array(_column(plains, lambda each: each.payload_sizes), pa.int64())
    columns = {
        "source": pa.array(_column(plains, lambda each: each.sources), pa.string()),
        "seq": pa.array(chain.from_iterable(map(_seqs, plains)), pa.int64()),
        "topic": pa.array(topics, pa.string()),
        "payload_size": sizes,
        "qos": pa.array(_column(plains, lambda each: each.qos), pa.int8()),
        "size": pc.add(pc.add(sizes, pa.array(map(len, topics), pa.int64())), EVENT_OVERHEAD_BYTES),
    }
    empty = ("attributes", "properties", "derived", "content_type")
    return columns | {name: pa.nulls(len(topics), pa.string()) for name in empty}


def _column(plains: Sequence[Plain], of: Callable[[Plain], list[_T]]) -> list[_T]:
    values: list[_T] = []
    for each in plains:
        found = of(each)
        values += found * each.length if len(found) == 1 else found
    return values


def _seqs(each: Plain) -> Sequence[int]:
    return range(each.seqs[0], each.seqs[0] + each.length) if len(each.seqs) == 1 else each.seqs
