"""Through a server of Spark Connect: every flow, the stream, and the network as a source and as a sink."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from reknit.client.line import Door
from reknit.client.sending import Message, send_once
from reknit.client.taking import Journal, Taker
from reknit.model.event import Event
from reknit.pipeline.flow import read_parameters
from reknit.pipeline.flows.traffic import FLOW
from reknit.pipeline.registry import all_flows, find_flow
from reknit.pipeline.report import Report
from reknit.pipeline.run import REPORT, Order, run_flow
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from tests.client.brokers import broker_beside
from tests.pipeline.conftest import SMALL
from tests.pipeline.places import QUICK
from tests.pipeline.test_stream import batch_tables, rows, write_parts
from tests.pipeline.tiny import TINY, Made

LIMIT_S = 170
SERVER = "local[2]"
"""A server of its own for each process, on this machine; everything goes through it as it would elsewhere."""


def run(*words: str, limit_s: float = LIMIT_S) -> str:
    environ = os.environ | {"JDK_JAVA_OPTIONS": QUICK}
    ran = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=limit_s, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


FLOWS = f"""
import json, sys, traceback
from pathlib import Path
from reknit.pipeline.flow import read_parameters
from reknit.pipeline.registry import find_flow
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.session import Place, session

with session(Place(remote={SERVER!r}, further={SMALL!r})) as spark:
    for name, (inputs, told) in json.loads(sys.argv[1]).items():
        flow, out = find_flow(name), Path(sys.argv[2]) / name
        try:
            run_flow(spark, Order(flow, read_parameters(flow, told), inputs, str(out)))
        except Exception:
            out.with_suffix(".problem").write_text(traceback.format_exc())
"""
FLOWS_LIMIT_S = 600


@pytest.fixture(scope="module")
def through_connect(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Made], Path]:
    """All flows in one process, for it is the server's start that takes long: what each was given, and the results."""
    place = tmp_path_factory.mktemp("flows")
    given = {}
    for name in all_flows():
        (place / f"{name}-in").mkdir()
        given[name] = TINY[name](place / f"{name}-in")
    run(sys.executable, "-c", FLOWS, json.dumps(given), str(place), limit_s=FLOWS_LIMIT_S)
    return given, place


@pytest.mark.long
@pytest.mark.timeout(2 * FLOWS_LIMIT_S)
@pytest.mark.parametrize("name", all_flows())
def test_a_flow_makes_the_same_tables(
    spark: SparkSession, tmp_path: Path, through_connect: tuple[dict[str, Made], Path], name: str
) -> None:
    (inputs, told), place = through_connect[0][name], through_connect[1]
    problem = place / f"{name}.problem"
    assert not problem.exists(), problem.read_text()
    flow = find_flow(name)
    report = run_flow(spark, Order(flow, read_parameters(flow, told), inputs, str(tmp_path)))
    assert msgspec.json.decode((place / name / REPORT).read_bytes(), type=Report) == report
    for step in flow.steps:
        if step.kept:
            both = [spark.read.schema(step.schema).parquet(str(each / step.name)) for each in (place / name, tmp_path)]
            assert rows(both[0]) == rows(both[1]), step.name


@pytest.mark.long
@pytest.mark.timeout(2 * LIMIT_S)
def test_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """In two goes, so that the second finds what the first has left."""
    trace, out = tmp_path / "run", tmp_path / "out"
    for part in write_parts(trace, 2):
        words = ["pipeline", "stream", "--from", str(trace), "--out", str(out), "--once", "--window-s", "0.5"]
        said = run(sys.executable, "-m", "reknit", *words, "--top", "5", "--late-s", "2", "--remote", SERVER, "--json")
        assert json.loads(said)["aside"] == {}, part
    wanted = batch_tables(spark, trace)
    for step in FLOW.steps:
        assert rows(spark.read.schema(step.schema).parquet(str(out / step.name))) == wanted[step.name], step.name


SOURCE = f"""
import sys
from reknit.pipeline.session import Place, session
from reknit.pipeline.source import register

trace, door, place = sys.argv[1:]
with session(Place(remote={SERVER!r})) as spark:
    register(spark)
    read = spark.readStream.format("reknit").option("from", trace).option("topic", "t/+").option("selector", "x >= 6")
    copied = read.load().selectExpr("concat('copy/', topic) AS topic", "attributes")
    sink = copied.writeStream.format("reknit").option("broker", door).option("client", "writer")
    sink.option("checkpointLocation", place + "/out").trigger(availableNow=True).start().awaitTermination()
    now = spark.readStream.format("reknit").option("broker", door).option("client", "reader").option("topic", "now/#")
    query = now.option("ledger", place + "/ledger").load().writeStream.format("parquet").option("path", place + "/now")
    query = query.option("checkpointLocation", place + "/in").trigger(processingTime="0 seconds").start()
    query.processAllAvailable()
    query.stop()
"""


@pytest.mark.long
@pytest.mark.timeout(3 * LIMIT_S)
def test_the_network_as_a_source_and_as_a_sink(spark: SparkSession, tmp_path: Path) -> None:
    """Twice: what has been published is not published again, and what came meanwhile is read."""
    events = [Event(f"t/{at % 3}", attributes={"x": at}, source="b1.1", seq=at) for at in range(10)]
    records = [Record(float(at), "b1", Kind.PUBLISHED, event=event) for at, event in enumerate(events)]
    write_segment(to_table(records), tmp_path / "run" / "node-b1", 1)
    with broker_beside() as broker, closing(Journal(tmp_path / "journal")) as journal:
        door = f"127.0.0.1:{broker.mqtt.port}"
        listener = Door("127.0.0.1", broker.mqtt.port, "taker")
        with Taker(listener, "copy/#", "", journal):
            pass  # from now on its session has what comes; nobody keeps the line up for as long as that takes
        for number in range(3):
            run(sys.executable, "-c", SOURCE, str(tmp_path / "run"), door, str(tmp_path))
            if number < 2:
                send_once(Door("127.0.0.1", broker.mqtt.port, "s"), [Message("now/a", b"x")], tmp_path / f"n{number}")
        with Taker(listener, "copy/#", "", journal) as taker:
            while len(journal.events) < 4:
                assert taker.take(10)
            assert taker.take(0.3) == 0
        assert sorted(each.attributes["x"] for each in journal.events) == [6, 7, 8, 9]
    assert [row["payload"] for row in spark.read.parquet(str(tmp_path / "now")).collect()] == [b"x", b"x"]
