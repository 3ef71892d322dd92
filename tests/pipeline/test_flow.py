"""Descriptions of flows: what is wrong with one, and what one can be told. No session is needed."""

from __future__ import annotations

from typing import Annotated

import pytest
from pyspark.sql import DataFrame

from reknit.pipeline.flow import (
    BadFlow,
    Bars,
    Flow,
    Input,
    Parameters,
    Step,
    columns,
    parameters_of,
    read_parameters,
    same_columns,
    told,
)

A = columns(a="long")


class Told(Parameters, frozen=True):
    many: Annotated[int, told("how many")] = 3
    share: float = 0.5
    name: str = ""


def nothing(parameters: Told, rows: DataFrame) -> DataFrame:
    return rows


def flow(*steps: Step, charts: tuple[Bars, ...] = ()) -> Flow:
    return Flow("f", "a flow", Told, (Input("in", "rows", A, lambda told: ()),), steps, charts)


def test_a_sound_flow_has_no_problems() -> None:
    steps = (Step("x", "", ("in",), nothing, A, carries="a"), Step("y", "", ("x", "in"), nothing, A, by=("a",)))
    assert flow(*steps, charts=(Bars("c", "x", "a", "a", ""),)).problems() == []


def test_each_problem_of_a_flow_is_named() -> None:
    steps = (Step("in", "", ("later",), nothing, A, carries="a + b"), Step("later", "", ("in",), nothing, A))
    charts = (Bars("c", "later", "a", "z", ""),)
    assert flow(*steps, charts=charts).problems() == [
        "in: the name is taken",
        "in needs later, not made before",
        "in has no column b",
        "c: no column z",
    ]


def test_parameters_are_read_from_texts() -> None:
    assert read_parameters(flow(), {"many": "7", "share": "0.25"}) == Told(7, 0.25)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"much": "7"}, "f has no parameter much; it has: many, share, name"),
        ({"many": "seven"}, "f: Expected `int`, got `str` - at `$.many`"),
    ],
)
def test_what_is_no_parameter_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(BadFlow) as raised:
        read_parameters(flow(), given)
    assert str(raised.value) == said


def test_parameters_say_what_they_mean() -> None:
    assert [(each.name, each.default, each.about) for each in parameters_of(flow())] == [
        ("many", 3, "how many"),
        ("share", 0.5, ""),
        ("name", "", ""),
    ]


def test_columns_are_the_same_by_name_order_and_type() -> None:
    assert same_columns(columns(a="long", b="strings"), columns(a="long", b="strings"))
    assert not same_columns(columns(a="long", b="string"), columns(b="string", a="long"))
    assert not same_columns(A, columns(a="int"))
