"""What recovery has done is shown to operators under these names, and only where there is recovery."""

from __future__ import annotations

from reknit.core.recovery.figures import Figures
from tests.core.desk import Desk
from tests.core.recovery.round_table import RoundTable


def test_all_figures_begin_with_nothing_and_are_shown() -> None:
    shown = RoundTable("push").broker.table()["recovery"]
    assert [shown[name] for name in Figures.__dataclass_fields__] == [0] * len(Figures.__dataclass_fields__)
    assert shown["algorithm"] == "push"
    assert (shown["cached"], shown["cached_bytes"], shown["missing"]) == (0, 0, 0)


def test_without_recovery_there_is_nothing_to_show() -> None:
    assert "recovery" not in Desk("n").broker.table()
