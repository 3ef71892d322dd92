"""A selector is worth the same in a broker and in Spark, for random selectors and events that are made to collide."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reknit.model.event import Event, Scalar, Text
from reknit.model.pattern import Pattern
from reknit.model.selector.evaluate import evaluate
from reknit.model.selector.like import like_matcher
from reknit.model.selector.syntax import Arithmetic, Comparison, Condition, Name, Number
from reknit.model.topic import topic_matches
from reknit.pipeline.selector import like_regex, matching, names_in, topic_regex, view, with_truths
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from tests.model.strategies import SCALARS, conditions, filters, like_patterns, topics

NAMES = ("a", "b", "c")
EVENTS = 150
BATCH = 30
"""Selectors that one query evaluates."""

UNSHRUNK = settings(
    max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
"""A failure names the selector and the event; to shrink a whole batch would take as many queries again."""


def events() -> list[Event]:
    """Each with its attributes where their type lets them be: typed, as properties, or derived."""
    rng = random.Random(11)
    return [_event(rng) for _ in range(EVENTS)]


def _event(rng: random.Random) -> Event:
    attributes: dict[str, Scalar] = {}
    derived: dict[str, Scalar] = {}
    properties: list[tuple[str, str]] = []
    for name in NAMES:
        for value in rng.sample(SCALARS, rng.choice((0, 1, 1, 2))):
            if type(value) is Text:
                properties.append((name, str(value)))
            else:
                rng.choice((attributes, derived))[name] = value
    return Event("t", attributes=attributes, properties=tuple(properties), derived=derived, source="b1.1", seq=1)


def frame(spark: SparkSession, some: list[Event]) -> Any:
    """As the trace has them, with their number."""
    rows = to_table([Record(0.0, "b1", Kind.PUBLISHED, event=each) for each in some]).to_pylist()
    names = ("topic", "attributes", "properties", "derived")
    values = [(number, *(row[name] for name in names)) for number, row in enumerate(rows)]
    schema = "number int, topic string, attributes string, properties string, derived string"
    return spark.createDataFrame(values, schema)


class Bench:
    """The events, prepared once."""

    made: Any = None
    events: list[Event]

    @classmethod
    def of(cls, spark: SparkSession) -> Any:
        if cls.made is None:
            cls.events = events()
            valued = frame(spark, cls.events).withColumns({f"v_{name}": view(name) for name in NAMES})
            cls.made = valued.select("number", *(f"v_{name}" for name in NAMES)).coalesce(2).cache()
        return cls.made


def agree(spark: SparkSession, some: list[Condition]) -> None:
    rows = Bench.of(spark)
    named = {name: f"v_{name}" for name in NAMES}
    asked = with_truths(rows, {f"c{number}": each for number, each in enumerate(some)}, named)
    answers = {row["number"]: row for row in asked.drop(*named.values()).collect()}
    assert len(answers) == EVENTS
    for place, event in enumerate(Bench.events):
        view = event.view()
        for number, condition in enumerate(some):
            wanted = evaluate(condition, view)
            assert answers[place][f"c{number}"] is wanted, f"{condition} of {view!r} is {wanted}"


@given(st.lists(conditions, min_size=BATCH, max_size=BATCH))
@UNSHRUNK
def test_random_selectors_are_worth_the_same(spark: SparkSession, some: list[Condition]) -> None:
    agree(spark, some)


def test_integers_and_floats_at_the_edges_compare_exactly(spark: SparkSession) -> None:
    edges = [2**53, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, -(2**63), -(2.0**63), 0.1, -0.0, 1e300, 7, 2]
    agree(spark, [Comparison(sign, Name("a"), Number(edge)) for edge in edges for sign in ("=", "<", ">=")])


def test_arithmetic_at_the_edges(spark: SparkSession) -> None:
    pairs = [(sign, value) for sign in "+-*/" for value in (0, 1, -1, 2, 3.0, 0.0, 2**63 - 1)]
    agree(
        spark,
        [Comparison("<", Arithmetic(sign, Name("a"), Number(value)), Name("b")) for sign, value in pairs]
        + [Comparison("=", Arithmetic(sign, Number(value), Name("c")), Number(1)) for sign, value in pairs],
    )


def test_nesting_does_not_make_the_expression_explode(spark: SparkSession) -> None:
    deep: Any = Name("a")
    for _ in range(30):
        deep = Arithmetic("+", deep, Number(1))
    agree(spark, [Comparison(">", deep, Number(3))])


# --- texts


@given(
    st.lists(like_patterns, min_size=BATCH, max_size=BATCH),
    st.lists(st.text("ab%_\\\n\U0001f600", max_size=8), min_size=BATCH, max_size=BATCH),
)
@UNSHRUNK
def test_like_matches_the_same_texts(spark: SparkSession, patterns: list[str], texts: list[str]) -> None:
    rows = spark.createDataFrame([(text,) for text in texts], "text string")
    asked = [F.col("text").rlike(like_regex(each)).alias(f"p{number}") for number, each in enumerate(patterns)]
    for row in rows.select("text", *asked).collect():
        for number, each in enumerate(patterns):
            assert row[f"p{number}"] == like_matcher(each)(row["text"]), (each, row["text"])


def test_like_takes_linear_time(spark: SparkSession) -> None:
    """A pattern that would keep a search that goes back busy for years, twenty pieces in a text of ten thousand."""
    pattern = "%a_" * 20 + "b"
    rows = spark.createDataFrame([("a" * 10_000,), ("ac" * 5_000 + "b",)], "text string")
    found = [row[0] for row in rows.select(F.col("text").rlike(like_regex(pattern))).collect()]
    matches = like_matcher(pattern)
    assert found == [matches("a" * 10_000), matches("ac" * 5_000 + "b")] == [False, True]


@given(
    st.lists(filters, min_size=BATCH, max_size=BATCH),
    st.lists(topics, min_size=BATCH, max_size=BATCH),
)
@UNSHRUNK
def test_filters_match_the_same_topics(spark: SparkSession, some_filters: list[str], some: list[str]) -> None:
    rows = spark.createDataFrame([(topic,) for topic in some], "topic string")
    asked = [F.col("topic").rlike(topic_regex(each)).alias(f"f{number}") for number, each in enumerate(some_filters)]
    for row in rows.select("topic", *asked).collect():
        for number, each in enumerate(some_filters):
            assert row[f"f{number}"] == topic_matches(each, row["topic"]), (each, row["topic"])


# --- whole patterns


def test_matching_keeps_what_a_subscriber_would_have_received(spark: SparkSession) -> None:
    some = [
        Event("city/oslo/weather", attributes={"wind": 31.0}),
        Event("city/oslo/weather", properties=(("wind", "7"), ("wind", "25"))),
        Event("city/oslo/weather", derived={"wind": 25}, attributes={"wind": "strong"}),
        Event("city/oslo/traffic", attributes={"wind": 31.0}),
    ]
    rows = frame(spark, some)
    pattern = Pattern.parse("city/+/weather", "wind >= 20")
    found = matching(rows, pattern)
    assert found.columns == rows.columns
    wanted = [number for number, each in enumerate(some) if pattern.matches(each)]
    assert sorted(row["number"] for row in found.collect()) == wanted == [0, 1]


def test_the_names_of_a_tree() -> None:
    from reknit.model.selector import condition_of

    tree = condition_of("a > 1 AND (b LIKE 'x%' OR NOT c + d = 2) AND a IN (1, 2) AND e IS NULL")
    names: Iterator[str] = names_in(tree)
    assert sorted(dict.fromkeys(names)) == ["a", "b", "c", "d", "e"]
