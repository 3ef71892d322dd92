"""``python -m bench``: run the programs, print one table, write out/bench.json.

Owns: the choice of programs and the look of the result. Must not know: how anything is measured.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.rows import INFORMATION, Row

PROGRAMS = (
    *("mqtt", "matching", "kernel", "memory", "swaps", "abuse", "durability", "loss", "planner"),
    *("sweep", "pipeline", "loop", "adapt", "communities", "scale", "tables", "ring"),
)
OUT = Path("out/bench.json")
_COLOURS = {"ok": "green", "below": "red", "not measured": "yellow", "information": "dim"}


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 if a row is below its bar or a program failed."""
    chosen = _parser().parse_args(arguments)
    unknown = [name for name in chosen.names if name not in PROGRAMS]
    if unknown:
        print(f"bench: there is no program {unknown[0]!r}; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    rows, failed = _run(chosen.names or PROGRAMS, chosen.quick, chosen.only)
    if not rows:
        print(f"bench: no measure has {chosen.only!r} in its name", file=sys.stderr)
        return 2
    document = {"machine": _machine(), "quick": chosen.quick, "rows": [_plain(row) for row in rows]}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if chosen.json:
        print(json.dumps(document, indent=2))
    else:
        _print(rows)
    return int(failed or any(row.verdict == "below" for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="What reknit reaches, beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="one short round each: does it run, not how fast")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="of mqtt and tables, only measures with this in their names"
    )
    parser.add_argument("--json", action="store_true", help="print JSON and no table")
    return parser


def _run(names: Sequence[str], quick: bool, only: str) -> tuple[list[Row], bool]:
    """The rows of all programs, and whether one failed; that must not take the others' rows with it."""
    more = {"mqtt": {"only": only}, "tables": {"only": only}}
    rows: list[Row] = []
    failed = False
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            rows += importlib.import_module(f"bench.{name}").run(quick, **more.get(name, {}))
        except Exception as error:
            traceback.print_exc()
            failed = True
            rows.append(Row(f"bench.{name}", "", INFORMATION, math.nan, f"{type(error).__name__}: {error}"))
    return rows, failed


def _plain(row: Row) -> dict[str, object]:
    measured = None if math.isnan(row.measured) else row.measured
    return {**asdict(row), "measured": measured, "verdict": row.verdict}


def _machine() -> dict[str, object]:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}


def _print(rows: Sequence[Row]) -> None:
    table = Table(title="reknit beside its peers (ratios; more is better)")
    table.add_column("measure", overflow="fold")
    table.add_column("peer")
    table.add_column("at least", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("verdict")
    table.add_column("note", overflow="fold")
    for row in rows:
        wanted = "" if row.at_least == INFORMATION else f"{row.at_least:g}"
        found = "" if math.isnan(row.measured) else f"{row.measured:.2f}"
        verdict = f"[{_COLOURS[row.verdict]}]{row.verdict}[/]"
        table.add_row(row.measure, row.peer, wanted, found, verdict, row.note)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    sys.exit(main())
