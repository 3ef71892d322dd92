"""Whom ``auto`` asks: whoever is expected to give most, publishers or fellows."""

from __future__ import annotations

from typing import Any

from reknit.wire.messages import MissesOf, Repair
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _table(**more: Any) -> RoundTable:
    return RoundTable("auto", n=(A, B), **{"again_s": 0.2, "again_s_max": 0.4, "gossip_s": 0.1, **more})


def _asked(table: RoundTable) -> list[MissesOf]:
    return [said for to, said in table.directs() if isinstance(said, MissesOf)]


def _meet(table: RoundTable, name: str, *wants: int) -> None:
    """It publishes, so it is known where it is; and it has asked here for something, and said what it wants."""
    marks = {"route": (name,), "address": f"{name}:1", "key": 7}
    table.events(table.n, numbered("b", 1, (PB, 1), source=f"{name}.1", **marks))
    question = MissesOf(table.asker(name, hash(name) % 1000 + 1), "b.1", [], ["b"], "b:1", table.key, [], list(wants))
    table.direct(question)


def _lose_one_each(table: RoundTable, sources: int) -> None:
    for source in range(sources):
        for number in (1, 3):
            marks = {"route": (f"p{source}",), "address": f"p{source}:1"}
            table.events(table.n, numbered("a", number, (PA, number), source=f"p{source}.1", **marks))


def _ten_lack_one_each(wants: int) -> RoundTable:
    """``f`` wants this; of ten sources one event each was lost, and it was time to ask."""
    table = _table(hold_s_max=1.0)
    table.client("ann", A)
    _meet(table, "f", wants)
    _lose_one_each(table, 10)
    table.run(0.35)
    return table


def test_where_many_sources_lack_little_a_fellow_is_asked_for_all_of_the_pattern() -> None:
    table = _ten_lack_one_each(PA)
    (question,) = _asked(table)
    assert (question.source, question.lost, question.address, question.key) == ("f.1", [], "f:1", 7)
    assert [(source, ranges) for source, ((_, _, ranges),) in question.others] == [
        (f"p{each}.1", [(2, 2)]) for each in range(10)
    ]
    assert question.wants == [PA]


def test_who_wants_something_else_is_no_fellow() -> None:
    table = _ten_lack_one_each(PB)
    assert {each.source for each in _asked(table)} == {f"p{each}.1" for each in range(10)}


def test_what_a_fellow_does_not_have_its_publisher_is_asked_for() -> None:
    table = _ten_lack_one_each(PA)
    (question,) = _asked(table)
    back = [numbered("a", 2, (PA, 2), source=f"p{each}.1") for each in range(8)]
    table.direct(Repair("f", question.asker.round, [0.0] * 8, back))
    table.run(1.0)
    assert {each.source for each in _asked(table)[1:]} == {"p8.1", "p9.1"}


def test_a_fellow_that_gives_nothing_is_asked_no_more() -> None:
    table = _table(hold_s_max=0.0)
    table.client("ann", A)
    _meet(table, "f", PA)
    for number in range(1, 200):
        for source in ("p1.1", "p2.1", "p3.1"):
            marks = {"route": (source[:2],), "address": f"{source[:2]}:1"}
            table.events(table.n, numbered("a", 2 * number, (PA, 2 * number), source=source, **marks))
        table.run(1.0)
    asked = [each.source for each in _asked(table)]
    assert "f.1" in asked[:20]
    assert "f.1" not in asked[-20:]


def test_where_few_publish_much_their_brokers_are_asked_and_not_fellows() -> None:
    table = _table(hold_s_max=1.0)
    table.client("ann", A)
    _meet(table, "f", PA)
    for number in (1, 10):
        table.events(table.n, numbered("a", number, (PA, number), route=("s",), address="s:1"))
    table.run(0.35)
    assert [each.source for each in _asked(table)] == ["s.1"]
