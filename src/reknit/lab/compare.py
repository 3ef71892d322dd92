"""Published against measured: what reports say, line by line.

Owns: how a quantity is written, and what counts as a disagreement. Must not know: where the lines are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reknit.lab.experiment import Measured, Published, Verdict
from reknit.lab.report import Report

__all__ = ["Line", "disagreeing", "lines_of", "say_measured", "say_published"]


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity of one experiment."""

    quantity: str
    published: str
    measured: str


def lines_of(report: Report) -> list[Line]:
    """What was published first, then what was measured besides."""
    quantities = dict.fromkeys([*report.published, *report.measured])
    return [
        Line(name, say_published(report.published.get(name)), say_measured(report.measured.get(name)))
        for name in quantities
    ]


def disagreeing(reports: Sequence[Report]) -> list[Report]:
    return [report for report in reports if report.verdict is not Verdict.AS_CLAIMED]


def say_published(quantity: Published | None) -> str:
    if quantity is None:
        return ""
    if quantity.value is None:
        return quantity.note or "no number"
    said = _number(quantity.value, quantity.unit)
    return f"{said} ({quantity.note})" if quantity.note else said


def say_measured(quantity: Measured | None) -> str:
    if quantity is None:
        return "not measured"
    said = _number(quantity.value, quantity.unit)
    if quantity.low is None or quantity.high is None or quantity.low == quantity.high:
        return said
    return f"{said} [{quantity.low:.4g}, {quantity.high:.4g}]"


def _number(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}".strip()
