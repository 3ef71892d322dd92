"""The split of a selector: its parts together mean what the whole means."""

from __future__ import annotations

import math

from hypothesis import given, settings

from reknit.model.conjuncts import Conjuncts, Senses, World, split
from reknit.model.event import Scalar, Text
from reknit.model.selector import canonical, evaluate, parse
from reknit.model.selector.syntax import Condition
from tests.model.strategies import conditions, views


def parts(text: str) -> Conjuncts:
    return split(canonical(parse(text)))


def test_each_kind_of_conjunct_has_its_place() -> None:
    found = parts("a = 1 AND b = 'x' AND c AND d > 3 AND d <= 9 AND e IN ('y', 'z') AND f LIKE 'pre%' AND g <> 1")
    assert found.equalities == ((World.NUMBERS, "a", 1), (World.TEXTS, "b", "x"), (World.BOOLEANS, "c", True))
    assert found.ranges == (("d", 3, 9),)
    assert found.holes == (("d", 3),)
    assert found.choices == (("e", ("y", "z"), ""), ("f", (), "pre"))
    assert found.rest == (parse("g <> 1"),)


def test_what_is_only_narrowed_is_evaluated_as_well() -> None:
    found = parts("a IN (1, 5, 9) AND b LIKE 'x_z'")
    assert found.ranges == (("a", 1, 9),)
    assert found.choices == (("b", (), "x"),)
    assert len(found.rest) == 2


def test_one_side_is_open() -> None:
    assert parts("a >= 3").ranges == (("a", 3, math.inf),)


def test_senses_read_untyped_texts_in_every_world() -> None:
    senses = Senses({"n": Text("7"), "t": Text("True"), "s": "7", "b": True, "f": float("nan"), "i": 1})
    assert senses.worlds == ({"n": 7, "i": 1}, {"n": "7", "t": "True", "s": "7"}, {"t": True, "b": True})


@given(conditions, views)
@settings(max_examples=400)
def test_the_parts_are_the_whole(condition: Condition, view: dict[str, Scalar]) -> None:
    form = canonical(condition)
    assert _all_hold(split(form), view) is (evaluate(form, view) is True)


def _all_hold(found: Conjuncts, view: dict[str, Scalar]) -> bool:
    senses = Senses(view)
    return (
        all(senses.worlds[world].get(name) == value for world, name, value in found.equalities)
        and all(name in senses.numbers and low <= senses.numbers[name] <= high for name, low, high in found.ranges)
        and all(senses.numbers[name] != hole for name, hole in found.holes)
        and all(
            name in senses.texts
            and (senses.texts[name] in members or (not members and senses.texts[name].startswith(start)))
            for name, members, start in found.choices
        )
        and all(evaluate(one, view) is True for one in found.rest)
    )
