"""What an experiment has shown, as a file: ``report.json``.

Owns: the report's fields, how it is written and read back. Must not know: how a report comes about.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from reknit.lab.experiment import Cell, Experiment, Findings, Measured, Point, Published, Scale, Verdict

__all__ = ["REPORT_FILE", "BadReport", "Report", "make_report", "read_report", "read_reports", "write_report"]

REPORT_FILE = "report.json"


class BadReport(Exception):
    """There is no report, or it is none that can be read."""

    exit_code = 2


class Report(msgspec.Struct, frozen=True):
    id: str
    paper: str
    figure: str
    claim: str
    published: dict[str, Published]
    measured: dict[str, Measured]
    verdict: Verdict
    seeds: int
    commit: str
    scale: Scale
    parameters: dict[str, list[Cell]]
    """The values that each parameter took, in rising order."""
    seconds: float
    """How long it took, by the clock on the wall."""


def make_report(
    experiment: Experiment,
    findings: Findings,
    scale: Scale,
    points: list[Point],
    seeds: int,
    commit: str,
    seconds: float,
) -> Report:
    return Report(
        id=experiment.id,
        paper=experiment.paper,
        figure=experiment.figure,
        claim=experiment.claim,
        published=dict(experiment.published),
        measured=dict(findings.measured),
        verdict=findings.verdict,
        seeds=seeds,
        commit=commit,
        scale=scale,
        parameters=_values(points),
        seconds=round(seconds, 1),
    )


def _values(points: list[Point]) -> dict[str, list[Cell]]:
    values: dict[str, dict[Cell, None]] = {}
    for point in points:
        for name, value in point.items():
            values.setdefault(name, {})[value] = None
    return {name: sorted(values[name], key=_rank) for name in sorted(values)}


def _rank(value: Cell) -> tuple[bool, float, str]:
    """Numbers by size, then texts."""
    return (True, 0.0, value) if isinstance(value, str) else (False, value, "")


def write_report(report: Report, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def read_report(path: Path) -> Report:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadReport(f"{path}: {error}") from error


def read_reports(directory: Path) -> list[Report]:
    """All reports of experiments that were run into ``directory``, in the order of their ids."""
    paths = sorted(directory.glob(f"*/{REPORT_FILE}"))
    if not paths:
        raise BadReport(f"{directory}: there is no report; run an experiment first, with: reknit lab run")
    return sorted((read_report(path) for path in paths), key=lambda report: report.id)
