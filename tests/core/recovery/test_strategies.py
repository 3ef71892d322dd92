"""Algorithms by name, for the whole network or for some patterns."""

from __future__ import annotations

from typing import get_args

import pytest

from reknit.core.recovery.options import RecoveryName
from reknit.core.recovery.strategies import STRATEGIES
from reknit.wire.messages import Keeps, Misses, MissesOf
from tests.core.desk import event
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def test_every_name_stands_for_one() -> None:
    assert ["none", *STRATEGIES] == list(get_args(RecoveryName))


def test_one_is_for_all_patterns() -> None:
    (only,) = RoundTable("push").recovery.strategies
    assert only.concerns(PA)
    assert only.concerns(12345)


def test_each_has_the_patterns_that_it_is_chosen_for() -> None:
    table = RoundTable("push", n=(A, B), of={"b": "combined"})
    push, combined = table.recovery.strategies
    assert (push.name, combined.name) == ("push", "combined")
    assert [each.concerns(PA) for each in (push, combined)] == [True, False]
    assert [each.concerns(PB) for each in (push, combined)] == [False, True]
    assert not push.concerns(12345)


def _asked(table: RoundTable) -> list[tuple[type, list[int]]]:
    """What kinds of questions there were, along the tree and past it, and about which patterns."""
    said = [each for far in (table.n, table.m) for each in table.gossip(far)] + [each for _, each in table.directs()]
    kinds = [(type(each), [each.signature]) for each in said if isinstance(each, Misses)]
    return kinds + [(type(each), [one for one, _, _ in each.lost]) for each in said if isinstance(each, MissesOf)]


def _missing(algorithm: str, of: dict[str, str], **options: float) -> RoundTable:
    """Of either pattern the second event is."""
    table = RoundTable(algorithm, n=(A, B), m=(A, B), of=of, **options)
    table.client("ann", A, B)
    for topic, signature, base in (("a", PA, 0), ("b", PB, 10)):
        for number in (1, 3):
            way = {"route": ("s", "n"), "address": "s:1"}
            table.events(table.n, numbered(topic, base + number, (signature, number), **way))
    return table


def test_what_is_missing_of_a_pattern_is_asked_for_by_its_own_algorithm() -> None:
    table = _missing("subscriber-pull", {"b": "publisher-pull"})
    table.run(1.1)
    assert sorted(_asked(table), key=str) == [(Misses, [PA]), (MissesOf, [PB])]


def test_nobody_is_asked_for_what_is_missing_of_a_pattern_without_one() -> None:
    """Not even as the last resort; that it is missing, and is given up, is known all the same."""
    table = _missing("subscriber-pull", {"b": "none"}, last_resort_s=2.0, lost_s_max=9.0)
    table.run(8.0)
    assert {(kind, *about) for kind, about in _asked(table)} == {(Misses, PA)}
    assert len(table.recovery.lost) == 2
    table.run(2.0)
    assert (len(table.recovery.lost), table.figures.given_up) == (0, 2)


def test_only_what_auto_asks_for_is_gathered_before() -> None:
    table = _missing("subscriber-pull", {"b": "auto"}, hold_s_max=2.5)
    table.recovery.lost.hold_s = 2.0
    for topic, signature, seq in (("a", PA, 5), ("b", PB, 15)):
        table.events(table.n, numbered(topic, seq, (signature, 5)))
    due = {key[1]: loss.due for key, loss in table.recovery.lost.entries.items() if key[2] == 4}
    assert due == {PA: 0.0, PB: 2.0}


def test_each_has_its_own_interval() -> None:
    """That something is asked for every twentieth of a second does not make anybody offer more often."""
    table = RoundTable("auto", n=(A, B), m=(), of={"b": "push"}, gossip_s=1.0, again_s=0.05, again_s_max=0.05)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number), route=("s", "n"), address="s:1"))
    table.publish(event("b"))
    table.run(9.0)
    assert len([each for _, each in table.directs() if isinstance(each, MissesOf)]) > 50
    assert 7 <= len([each for each in table.gossip(table.n) if isinstance(each, Keeps)]) <= 9


def test_what_one_has_learned_of_answers_is_not_for_the_others() -> None:
    table = _missing("subscriber-pull", {"b": "auto"}, hold_s_max=0.0)
    table.recovery.talk.asks.wait_s = 0.25
    table.run(1.1)
    lost = table.recovery.lost
    waits = {key[1]: loss.due - loss.last for key, loss in lost.entries.items() if key[2] == 2}
    assert waits == {PA: pytest.approx(0.8), PB: pytest.approx(0.25)}
