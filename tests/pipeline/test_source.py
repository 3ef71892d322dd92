"""Spark reads from a real broker and from a trace, and publishes: exactly once, over restarts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from reknit.client.line import Door
from reknit.client.sending import Message, send_once
from reknit.client.taking import Journal, Taker
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.pipeline.source import BadSource, NowReader, ReknitSource, Writer, door_of, message_of, register
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from tests.client.brokers import broker_beside


def test_what_a_source_can_be_told() -> None:
    door = door_of({"broker": "[::1]:1883", "client": "c", "username": "u", "password": "p"})
    assert door == Door("::1", 1883, "c", "u", "p")
    for options, why in (
        ({"client": "c"}, "broker is missing"),
        ({"broker": "b1", "client": "c"}, "HOST:PORT"),
        ({"broker": "b1:1883"}, "client is missing"),
    ):
        with pytest.raises(BadSource, match=why):
            door_of(options)
    assert ReknitSource.name() == "reknit"


def test_a_row_becomes_a_message() -> None:
    whole = Row(topic="t", payload="text", attributes='{"x": 1}', content_type="text/plain", retain=True)
    assert message_of(whole) == Message("t", b"text", {"x": 1}, "text/plain", True)
    assert message_of(Row(topic="t")) == Message("t")


def test_a_batch_that_is_repeated_is_not_published_twice(tmp_path: Path) -> None:
    with broker_beside() as broker:
        journal = Journal(tmp_path / "journal")
        with Taker(Door("127.0.0.1", broker.mqtt.port, "taker"), "#", "", journal) as taker:
            writer = Writer(Door("127.0.0.1", broker.mqtt.port, "w"), str(tmp_path))
            rows = [Row(topic=f"t/{number}") for number in range(5)]
            assert writer.publish(0, 0, iter(rows)) == 5
            assert writer.publish(0, 0, iter(rows[::-1])) == 0
            assert writer.publish(0, 1, iter(rows[:1])) == 1
            assert writer.publish(1, 0, iter(rows[:2])) == 2
            for batch in range(3):
                writer.commit([], batch)
            assert not (tmp_path / "reknit" / "batch=0").exists()
            assert (tmp_path / "reknit" / "batch=1").exists()
            while len(journal.events) < 8:
                assert taker.take(10)
            assert taker.take(0.2) == 0
        journal.close()


def run(frame: DataFrame, name: str, checkpoint: Path) -> None:
    query = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.long
def test_from_the_trace_and_into_the_network(spark: SparkSession, tmp_path: Path) -> None:
    """Stopped, and started again when there is more: each event that is wanted is published once."""
    register(spark)
    trace, checkpoint = tmp_path / "run", tmp_path / "checkpoint"
    with broker_beside() as broker:
        journal = Journal(tmp_path / "journal")
        door = f"127.0.0.1:{broker.mqtt.port}"
        with Taker(Door("127.0.0.1", broker.mqtt.port, "taker"), "copy/#", "", journal) as taker:
            for number in (1, 2):
                events = [Event(f"t/{at % 3}", attributes={"x": at}, source="b1.1", seq=at) for at in range(10)]
                records = [Record(float(at), "b1", Kind.PUBLISHED, event=event) for at, event in enumerate(events)]
                write_segment(to_table(records), trace / "node-b1", number)
                read = spark.readStream.format("reknit").option("from", str(trace))
                rows = read.option("topic", "t/+").option("selector", "x >= 6").load()
                copied = rows.selectExpr("concat('copy/', topic) AS topic", "attributes")
                query = copied.writeStream.format("reknit").option("broker", door).option("client", "writer")
                query = query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
                query.start().awaitTermination()
                while len(journal.events) < 4 * number:
                    assert taker.take(10)
            assert taker.take(0.3) == 0
        assert sorted((each.topic, each.attributes["x"]) for each in journal.events) == sorted(
            (f"copy/t/{at % 3}", at) for at in (6, 7, 8, 9) for _ in range(2)
        )
        journal.close()


@pytest.mark.long
def test_from_now_on(spark: SparkSession, tmp_path: Path) -> None:
    """What comes while no query runs waits in the session."""
    register(spark)
    with broker_beside() as broker:
        read = spark.readStream.format("reknit").option("broker", f"127.0.0.1:{broker.mqtt.port}")
        read = read.option("client", "reader").option("ledger", str(tmp_path / "ledger"))
        rows = read.option("topic", "t/#").option("selector", "x > 1").load()
        sink = tmp_path / "sink"
        sent = [Message("t/a", str(number).encode(), {"x": number}) for number in range(6)]
        for part in ([], sent[:3], sent[3:]):
            door = Door("127.0.0.1", broker.mqtt.port, "sender")
            send_once(door, part, tmp_path / f"notes-{len(part)}-{part[:1]}".replace("/", "_")[:60])
            query = rows.writeStream.format("parquet").option("path", str(sink))
            query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(processingTime="0 seconds")
            started = query.start()
            started.processAllAvailable()
            started.stop()
        found = spark.read.parquet(str(sink)).orderBy("payload").collect()
        assert [(row["payload"], json.loads(row["attributes"])) for row in found] == [
            (str(number).encode(), {"x": number}) for number in range(2, 6)
        ]


def test_a_reader_goes_on_when_its_line_was_cut(tmp_path: Path) -> None:
    with broker_beside() as broker:
        reader = NowReader(Door("127.0.0.1", broker.mqtt.port, "reader"), Pattern("t"), str(tmp_path))
        offset = reader.initialOffset()
        assert reader._taker is not None
        reader._taker._line._socket.shutdown(2)
        send_once(Door("127.0.0.1", broker.mqtt.port, "sender"), [Message("t", b"x")], tmp_path / "notes")
        found: list[bytes] = []
        while not found:
            rows, offset = reader.read(offset)
            found = [row[5] for row in rows]
        assert (found, offset) == ([b"x"], {"number": 1})
        reader.commit(offset)
        assert list(reader.readBetweenOffsets({"number": 0}, offset)) == []
        assert reader._taker is not None
        reader._taker.__exit__()
        reader._open().close()
