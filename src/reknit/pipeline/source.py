"""Spark reads the network, and writes to it: ``readStream.format("reknit")``, ``writeStream.format("reknit")``.

Owns: options, columns, offsets, and which batch has been published. Must not know: what a broker does inside.

Reading *from the trace*, an offset is the number of segments read of each node. Segments never change, so a batch can
be read again at any time, by as many workers as there are segments: exactly once with a checkpoint. The trace has no
payloads. Reading *from now* on, events go into a journal before they are acknowledged (``client.taking``), and an
offset is a number in it; it is kept until Spark has committed.

Writing, the rows of a batch and a partition are first kept in a ledger, and published from there (``client.sending``);
so a batch that is repeated goes on where it was, and one that was published is not published again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from pyspark import TaskContext
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from reknit.client.errors import Disconnected
from reknit.client.line import Door
from reknit.client.sending import Message, send_once, write_whole
from reknit.client.taking import Journal, Taken, Taker
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.trace.segments import read_segment, segments_of

__all__ = ["COLUMNS", "ReknitSource", "door_of", "register"]

COLUMNS = (
    "time double, node string, source string, seq long, topic string, payload binary, attributes string, "
    "qos int, content_type string, retain boolean"
)
"""Of what is read. From the trace there is no payload; from now on there is no time, node, source and number."""

TAKE_S = 0.2
"""How long a look for new events waits for the first of them."""
BATCHES_KEPT = 2
"""In the ledger: the last one may be repeated."""
_BATCH_ID = "streaming.sql.batchId"


class BadSource(ValueError):
    """What a source was told does not do."""


def register(spark: Any) -> None:
    """Let this session know the format ``reknit``."""
    spark.dataSource.register(ReknitSource)


class ReknitSource(DataSource):
    """Options, for reading: ``from`` (``now``, or the directory of a trace), ``topic``, ``selector``; from now on also
    ``broker`` (HOST:PORT), ``client`` and ``ledger``, a directory. For writing: ``broker``, ``client``, and ``ledger``
    if it is to be another than the checkpoint's. ``username`` and ``password`` where brokers ask for them.
    """

    @classmethod
    def name(cls) -> str:
        return "reknit"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if _from(self.options) == "now":
            said = {"feature": "streamReader"}  # so that Spark asks for the simple one
            raise PySparkNotImplementedError(errorClass="NOT_IMPLEMENTED", messageParameters=said)
        return TraceReader(_from(self.options), _pattern(self.options))

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        door = door_of(self.options)
        return NowReader(door, _pattern(self.options), _needed(self.options, "ledger"))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        if "topic" not in schema.fieldNames():
            raise BadSource(f"there is no column topic to publish to; there are {', '.join(schema.fieldNames())}")
        place = self.options.get("ledger") or self.options.get("checkpointLocation") or _needed(self.options, "ledger")
        return Writer(door_of(self.options), place)


def _needed(options: Mapping[str, str], name: str) -> str:
    if not options.get(name):
        raise BadSource(f"the option {name} is missing")
    return options[name]


def _from(options: Mapping[str, str]) -> str:
    return options.get("from", "now")


def _pattern(options: Mapping[str, str]) -> Pattern:
    return Pattern.parse(options.get("topic", "#"), options.get("selector", ""))


def door_of(options: Mapping[str, str]) -> Door:
    host, sign, port = _needed(options, "broker").rpartition(":")
    if not (host and sign and port.isdecimal()):
        raise BadSource(f"broker is {options['broker']!r}: write it as HOST:PORT")
    name = _needed(options, "client")
    return Door(host.strip("[]"), int(port), name, options.get("username", ""), options.get("password", ""))


# --- from the trace


@dataclass
class Segment(InputPartition):
    path: str

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class TraceReader(DataSourceStreamReader):
    def __init__(self, trace: str, pattern: Pattern) -> None:
        self._trace = trace
        self._pattern = pattern

    def initialOffset(self) -> dict[str, int]:
        return {}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """By node, how many of its segments there are."""
        return {path.name: len(segments_of(path)) for path in sorted(Path(self._trace).glob("node-*"))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [
            Segment(str(path))
            for node, count in sorted(end.items())
            for path in segments_of(Path(self._trace) / node)[start.get(node, 0) : count]
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, Segment)
        for _, record in read_segment(Path(partition.path)):
            event = record.event
            if record.kind is Kind.PUBLISHED and event is not None and self._pattern.matches(event):
                attributes = _json({**dict(event.properties), **event.attributes})
                about = (record.time, record.node, event.source, event.seq, event.topic, None, attributes)
                yield (*about, event.qos, event.content_type, False)


def _json(attributes: Mapping[str, Any]) -> str:
    return json.dumps(attributes, ensure_ascii=False)


# --- from now on


class NowReader(SimpleDataSourceStreamReader):
    """Lives in one process for as long as the query runs. Another goes on with its session and its journal."""

    def __init__(self, door: Door, pattern: Pattern, ledger: str) -> None:
        self._door = door
        self._pattern = pattern
        self._ledger = ledger
        self._journal: Journal | None = None
        self._taker: Taker | None = None

    def _open(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(Path(self._ledger) / f"{self._door.client_id}.journal")
        return self._journal

    def initialOffset(self) -> dict[str, int]:
        journal = self._open()
        self._take(journal)  # from here on the broker keeps what comes
        return {"number": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        journal = self._open()
        self._take(journal)
        end = {"number": max(journal.last, start["number"])}
        return self.readBetweenOffsets(start, end), end

    def _take(self, journal: Journal) -> None:
        try:
            if self._taker is None:
                self._taker = Taker(self._door, self._pattern.topic, self._pattern.selector, journal).__enter__()
            self._taker.ping()
            self._taker.take(TAKE_S)
        except (Disconnected, OSError):
            taker, self._taker = (
                self._taker,
                None,
            )  # the next look connects again; the broker keeps what comes meanwhile
            if taker is not None:
                taker.__exit__()

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Any, ...]]:
        wanted = [each for each in self._open().events if start["number"] < each.number <= end["number"]]
        return iter([(*(None,) * 4, *_told(each)) for each in wanted])

    def commit(self, end: dict[str, int]) -> None:
        self._open().forget(end["number"])


def _told(each: Taken) -> tuple[Any, ...]:
    return each.topic, each.payload, _json(each.attributes), each.qos, each.content_type, each.retain


# --- writing


class Published(WriterCommitMessage):
    def __init__(self, partition: int, sent: int) -> None:
        self.partition = partition
        self.sent = sent


class Writer(DataSourceStreamWriter):
    def __init__(self, door: Door, place: str) -> None:
        self._door = door
        self._ledger = Path(place.removeprefix("file:")) / "reknit"

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        batch, partition = context.getLocalProperty(_BATCH_ID), context.partitionId()
        if batch is None:
            raise BadSource("Spark does not say which batch this is")
        return Published(partition, self.publish(int(batch), partition, iterator))

    def publish(self, batch: int, partition: int, rows: Iterator[Row]) -> int:
        """How many of the rows had not been published before."""
        kept = self._ledger / f"batch={batch}" / f"part-{partition}.rows"
        if not kept.exists():
            write_whole(kept, msgspec.msgpack.encode([message_of(row) for row in rows]))
        messages = msgspec.msgpack.decode(kept.read_bytes(), type=list[Message])
        own = replace(self._door, client_id=f"{self._door.client_id}-{partition}")
        return send_once(own, messages, kept.with_suffix(".notes"))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        shutil.rmtree(self._ledger / f"batch={batchId - BATCHES_KEPT}", ignore_errors=True)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What was published stays so, and the ledger knows it: the batch goes on there when it is repeated."""


def message_of(row: Row) -> Message:
    given = row.asDict()
    payload = given.get("payload") or b""
    attributes = json.loads(given.get("attributes") or "{}")
    data = payload.encode() if isinstance(payload, str) else bytes(payload)
    return Message(row["topic"], data, attributes, given.get("content_type") or "", bool(given.get("retain")))
