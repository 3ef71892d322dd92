"""The stream beside a plain walk through all visits, one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from reknit.pipeline.flows.subscriptions import FLOW
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.subscriptions import Following
from reknit.trace.wishes import brokers_of, days_of, read_wishes
from tests.pipeline.tables import at

Visit = tuple[int, int, datetime, float | None]


def visits(rng: random.Random) -> Iterator[Visit]:
    for user in range(1, 13):
        hours = sorted(rng.sample(range(0, 24 * 6), rng.randint(1, 9)))
        for hour, following in zip(hours, [*hours[1:], None], strict=True):
            linger_s = None if following is None else 3600.0 * (following - hour)
            yield user, rng.randrange(5), at(hour), linger_s


def write(path: Path, rows: list[Visit], edges: list[tuple[int, int]]) -> dict[str, str]:
    path.mkdir()
    names = ("user_id", "cell", "start", "linger_s")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path / "visits.parquet")
    u, v = map(list, zip(*edges, strict=True))
    pq.write_table(pa.table({"u": u, "v": v}), path / "edges.parquet")
    return {"visits": str(path / "visits.parquet"), "edges": str(path / "edges.parquet")}


def walk(rows: list[Visit], edges: list[tuple[int, int]]) -> list[tuple[float, bool, str, str]]:
    """What each user wants after each hour in which anybody moves."""
    follows = {user: {user} for user, *_ in rows}
    for u, v in edges:
        follows[u].add(v)
        follows[v].add(u)
    where: dict[int, int] = {}
    wanted: dict[int, set[int]] = {user: set() for user in follows}
    said = []
    for moment in sorted({start for _, _, start, _ in rows}):
        where |= {user: cell for user, cell, start, _ in rows if start == moment}
        for user, others in follows.items():
            now = {where[other] for other in others if other in where}
            for wish, cells in ((True, now - wanted[user]), (False, wanted[user] - now)):
                said += [(moment.timestamp(), wish, f"u{user}", f"cell/{cell}") for cell in cells]
            wanted[user] = now
    return sorted(said)


def test_the_stream_is_what_a_plain_walk_finds(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = list(visits(rng))
    edges = [(1, 2), (2, 3), (5, 1), (7, 9), (7, 10), (7, 11), (7, 12)]
    inputs = write(tmp_path / "in", rows, edges)
    report = run_flow(spark, Order(FLOW, Following(brokers="b1,b2"), inputs, str(tmp_path / "out")))
    wishes = list(read_wishes(tmp_path / "out" / "stream"))
    assert sorted((wish.at, wish.wanted, wish.client, wish.topic) for wish in wishes) == walk(rows, edges)
    assert [wish.at for wish in wishes] == sorted(wish.at for wish in wishes)
    assert days_of(tmp_path / "out" / "stream")[0].name == "day=2010-08-01"
    assert brokers_of(tmp_path / "out" / "stream") == ["b1", "b2"]
    homes = {f"u{user}": f"b{1 + cell % 2}" for user, cell, _, _ in reversed(rows)}
    assert {wish.client: wish.broker for wish in wishes} == homes
    carried = {step.name: step.carried for step in report.steps}
    assert carried["stays"] == len(rows)
    assert carried["by_broker"] == carried["by_topic"] == carried["by_day"] == len(wishes)
    by_day = {row["day"]: row["changes"] for row in pq.read_table(tmp_path / "out" / "by_day").to_pylist()}
    moments = [datetime.fromtimestamp(wish.at, UTC) for wish in wishes]
    assert by_day == Counter(moment.date().isoformat() for moment in moments)
    assert (tmp_path / "out" / "changes.png").read_bytes().startswith(b"\x89PNG")
    by_topic = pq.read_table(tmp_path / "out" / "by_topic").to_pylist()
    assert sum(row["subscribes"] for row in by_topic if row["topic"] == "cell/3") == sum(
        1 for wish in wishes if wish.wanted and wish.topic == "cell/3"
    )
