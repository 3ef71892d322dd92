"""Sessions that leave wait for what is missing, for a bounded time."""

from __future__ import annotations

from reknit.core.io import Deliver, Subscribe
from tests.core.recovery.round_table import PA, A, B, RoundTable, numbered


def _missing(**options: object) -> RoundTable:
    table = RoundTable("subscriber-pull", leave_s_max=3.0, **options)
    table.client("ann", A)
    table.client("ben", B)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    return table


def test_it_stays_until_what_is_missing_has_come() -> None:
    table = _missing()
    leaving = table.recovery.leaving
    assert (leaving.is_early("ann"), leaving.is_early("ben")) == (True, False)
    table.events(table.n, numbered("a", 2, (PA, 2)))
    assert not leaving.is_early("ann")


def test_it_does_not_stay_for_ever() -> None:
    table = _missing()
    leaving = table.recovery.leaving
    assert leaving.is_early("ann")
    table.run(2.9)
    assert leaving.is_early("ann")
    table.run(1.1)
    assert not leaving.is_early("ann")


def test_what_waits_for_it_goes_along() -> None:
    table = _missing()
    table.give(Subscribe("ann", (A,), 9.0))
    table.events(table.n, numbered("a", 4, (PA, 4)))
    table.recovery.leaving.leave("ann")
    assert [each.event.seq for each in table.broker.turn.effects if isinstance(each, Deliver)] == [4]
