"""What a run has to say of itself: where rows came from, where they went, and what was set aside.

Owns: the report, and its text. Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ["InputReport", "Report", "RowsLost", "StepReport", "balance", "lines"]


class RowsLost(RuntimeError):
    """A run has fewer or more rows than it can account for. What it wrote must not be used."""

    exit_code = 1


class InputReport(msgspec.Struct, frozen=True):
    name: str
    path: str
    files: int
    broken_files: dict[str, str]
    """By path: what is wrong with it."""
    rows: int
    """That the files say they have."""
    clean: int
    quarantined: dict[str, int]
    """By reason."""

    def check(self) -> None:
        """Every row is clean or set aside."""
        found = self.clean + sum(self.quarantined.values())
        if found != self.rows:
            raise RowsLost(f"{self.name}: its files have {self.rows:,} rows, and {found:,} were read")


class StepReport(msgspec.Struct, frozen=True):
    name: str
    rows: int
    carried: int | None
    """Rows of the table that it was made from, by its own account; None if it gives none."""


class Report(msgspec.Struct, frozen=True):
    flow: str
    parameters: dict[str, Any]
    inputs: list[InputReport]
    steps: list[StepReport]
    spark: str
    """The version."""

    @property
    def quarantined(self) -> int:
        return sum(sum(each.quarantined.values()) for each in self.inputs)


def balance(step: StepReport, given: int, source: str) -> None:
    """What a step has made of ``given`` rows must stand for all of them."""
    if step.carried is not None and step.carried != given:
        raise RowsLost(f"{step.name}: {source} has {given:,} rows, and its own stand for {step.carried:,}")


def lines(report: Report) -> Iterator[str]:
    """For people."""
    for each in report.inputs:
        yield f"in   {each.name}: {each.rows:,} rows in {each.files:,} files, {each.clean:,} of them clean"
        for reason, rows in each.quarantined.items():
            yield f"       set aside: {rows:,}  {reason}"
        for path, problem in each.broken_files.items():
            yield f"       broken: {path}: {problem}"
    for step in report.steps:
        stands = f", for {step.carried:,} before" if step.carried is not None else ""
        yield f"out  {step.name}: {step.rows:,} rows{stands}"
