"""The rows of the loop: both bars, and that nothing is lost."""

from __future__ import annotations

from typing import Any

from bench.loop import rows_of

CLEAN = {"lost": 0, "duplicated": 0, "out_of_order": 0, "owed": 100}
FOUND: dict[str, Any] = {
    "saved": 0.5,
    "off": 0.01,
    "watched": {"crossed": 200, "events": 100},
    "measured": {"crossed": 100, "events": 100},
    "plan": {"steps": [1, 2]},
    "trace": CLEAN,
    "clients": CLEAN,
    "spark": {"lost": 0},
}


def test_what_is_reached_and_what_is_not() -> None:
    assert [(row.measured, row.verdict) for row in rows_of(FOUND)] == [(2.0, "ok"), (5.0, "ok"), (1.0, "ok")]
    poor = FOUND | {"saved": 0.2, "off": 0.06, "clients": CLEAN | {"lost": 1}}
    assert [row.verdict for row in rows_of(poor)] == ["below"] * 3
    assert "lost" in rows_of(poor)[2].note
    assert [row.verdict for row in rows_of(poor, quick=True)] == ["information"] * 3
