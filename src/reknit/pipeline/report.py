"""What a run has to say of itself: where rows came from, where they went, and what was set aside.

Owns: the report, and its text. Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["InputReport", "Report", "RowsLost", "StepReport", "balance", "lines", "not_read", "refuse_gaps"]
__all__ += ["said_missing"]

NAMED_MAX = 5
"""Of those whose records are missing, in one line."""


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
    missing: dict[str, int] = {}
    """Rows that were never written, as the source itself says: by whose they are."""

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
    part: str = ""
    """What these rows are, if they are not all of that table."""
    left_out: dict[str, int] = {}
    """By reason: rows of the tables that it needs which are not in it."""


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


def balance(step: StepReport, given: int, source: str, left_out: int = 0) -> None:
    """What a step has made of ``given`` rows must stand for all of them, but those that it has ``left_out``."""
    if step.carried is None or step.carried + left_out == given:
        return
    others = f", and it has left out {left_out:,}" if left_out else ""
    rows = step.part or "rows"
    raise RowsLost(f"{step.name}: {source} has {given:,} {rows}, and its own stand for {step.carried:,}{others}")


def refuse_gaps(name: str, missing: Mapping[str, int]) -> None:
    """Tables of what is there would pass for tables of all that happened."""
    if missing:
        raise RowsLost(
            f"{name}: it says itself that records are missing in it ({said_missing(missing)}), so what is counted "
            "would be wrong; `reknit pipeline` and `reknit plan` make tables of what there is with --allow-gaps"
        )


def said_missing(missing: Mapping[str, int]) -> str:
    """By whose they are; the first few by name."""
    named = [f"{who or 'nobody'}: {many:,}" for who, many in sorted(missing.items())]
    others = f", and of {len(named) - NAMED_MAX} others" if len(named) > NAMED_MAX else ""
    return ", ".join(named[:NAMED_MAX]) + others


def not_read(given: InputReport) -> Iterator[str]:
    """What of an input is in no table, for people."""
    if given.missing:
        yield f"missing: {sum(given.missing.values()):,}  never written ({said_missing(given.missing)})"
    for reason, rows in given.quarantined.items():
        yield f"set aside: {rows:,}  {reason}"
    for path, problem in given.broken_files.items():
        yield f"broken: {path}: {problem}"


def lines(report: Report) -> Iterator[str]:
    """For people."""
    for each in report.inputs:
        yield f"in   {each.name}: {each.rows:,} rows in {each.files:,} files, {each.clean:,} of them clean"
        yield from (f"       {line}" for line in not_read(each))
    for step in report.steps:
        part = f" {step.part}" if step.part else ""
        stands = f", for {step.carried:,}{part} before" if step.carried is not None else ""
        yield f"out  {step.name}: {step.rows:,} rows{stands}"
        for reason, left in step.left_out.items():
            yield f"       left out: {left:,}  {reason}"
