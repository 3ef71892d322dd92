"""Peers are judged as by the simulator's own checker, to the record: as they were, tampered with, and broken."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import copy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline._judging.membership import ENDS, OF_BROKERS, Ladder, Member
from reknit.pipeline.communities import parasites, read_parents
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.read import look, read_table
from reknit.pipeline.trace import TRACE
from reknit.sim.checkers.parasites import check_parasites
from reknit.sim.gathering import LEASE_S, GatheringOutcome, run_gathering_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from tests.sim.planted_in_peers import PLANTED

LATE_S = LEASE_S + 1.0
SEEDS = (1, 3, 6)
"""The last has brokers and gateways beside the peers."""
BUG = "take-events-of-any-community"
SPOILED = 12


def tampered(records: list[Record], rng: random.Random) -> list[Record]:
    """Some of what peers did is done by others; some has not begun to belong to what it belongs to."""
    made = list(records)
    places = [at for at, each in enumerate(records) if each.event is not None and not each.client]
    wishes = [at for at, each in enumerate(records) if each.kind is Kind.SUBSCRIBED]
    for at in rng.sample(places, min(SPOILED, len(places))):
        made[at] = copy(made[at])
        made[at].node = records[rng.choice(places)].node
    for at in sorted(rng.sample(wishes, 2), reverse=True):
        del made[at]
    return made


def judge(records: list[Record], parents: dict[str, tuple[str, ...]]) -> Iterator[Record]:
    """The judges of the pipeline, fed by a plain loop."""
    ladder, members = Ladder(parents), dict[str, Member]()
    brokers = {each.node for each in records if each.client or each.kind in OF_BROKERS}
    for each in records:
        if each.node in brokers:
            continue
        member = members.setdefault(each.node, Member())
        if each.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, *ENDS):
            member.see(each.kind, each.pattern.topic if each.pattern is not None else "", each.time)
        elif each.event is not None and member.is_stranger(
            each.kind, ladder.filters(each.event.topic), each.time, LATE_S
        ):
            yield each


def said(node: str, kind: str, topic: str) -> str:
    return f"{node} has {kind} an event on {topic!r}, which it is no member for"


def by_the_checker(records: list[Record], parents: dict[str, tuple[str, ...]]) -> list[tuple[float, str]]:
    """With what is above what as the peers themselves have it."""
    from reknit.community.hierarchy import Hierarchy, filter_of

    hierarchy = Hierarchy(parents)
    found = check_parasites(records, lambda topic: tuple(map(filter_of, hierarchy.ladder(topic))), LATE_S)
    return sorted((each.time, each.what) for each in found)


def by_the_judges(records: list[Record], parents: dict[str, tuple[str, ...]]) -> list[tuple[float, str]]:
    found = judge(records, parents)
    return sorted((each.time, said(each.node, each.kind, each.event.topic)) for each in found if each.event is not None)


@pytest.fixture(scope="module")
def outcomes() -> list[GatheringOutcome]:
    sound = [run_gathering_seed(seed) for seed in SEEDS]
    with pytest.MonkeyPatch.context() as patch:
        plant, _, seed = PLANTED[BUG]
        plant(patch)
        return [*sound, run_gathering_seed(seed)]


def test_the_judges_say_what_the_checker_says(outcomes: list[GatheringOutcome]) -> None:
    counts = []
    for number, each in enumerate(outcomes):
        for records in (each.records, tampered(each.records, random.Random(number))):
            wanted = by_the_checker(records, each.plan.parents)
            assert by_the_judges(records, each.plan.parents) == wanted
            counts.append(len(wanted))
    assert counts[0] == counts[2] == counts[4] == 0  # the runs that nobody has spoiled
    assert all(count for at, count in enumerate(counts) if at not in (0, 2, 4))


def test_the_table_has_what_the_judges_say(
    spark: SparkSession, tmp_path: Path, outcomes: list[GatheringOutcome]
) -> None:
    beside, broken = outcomes[-2:]
    assert beside.plan.beside is not None
    assert beside.plan.parents == broken.plan.parents
    for name, each in (("beside", beside), ("broken", broken)):
        write_segment(to_table(each.records), tmp_path / name / "node-all", 1)
    trace = read_table(spark, look(spark, str(tmp_path)), TRACE.schema, "trace")
    text = json.dumps(broken.plan.parents)
    found = parasites(text, LATE_S, trace).collect()
    assert {row["run"] for row in found} == {"broken"}
    assert sorted((row["time"], said(row["node"], row["kind"], row["topic"])) for row in found) == by_the_judges(
        broken.records, broken.plan.parents
    )


def test_what_is_above_a_topic() -> None:
    assert Ladder({}).filters("a/b") == {"a/b/#", "a/#", "#"}
    assert Ladder({"a/b": ("a", "x/y")}).filters("a/b/c") == {"a/b/c/#", "a/b/#", "a/#", "x/y/#", "x/#", "#"}
    assert Ladder({}).filters("$SYS/x") == {"$SYS/x/#", "$SYS/#"}
    assert read_parents('{"a/b": ["a", "c"]}') == {"a/b": ("a", "c")}
    for text in ("a/b=c", '["a"]', '{"a": "b"}'):
        with pytest.raises(BadFlow, match="write it as"):
            read_parents(text)
