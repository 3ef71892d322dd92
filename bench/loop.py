"""The loop of the demo: a bad tree, a plan made of its trace on Spark, the plan carried out, and what that has saved.

Owns: the bars. Must not know: how the loop is played; ``reknit demo --loop`` does that, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.rows import INFORMATION, Row

__all__ = ["rows_of", "run"]

SAVED_MIN = 0.25
"""Of the messages over links."""
OFF_MAX = 0.05
"""How far the prediction may be from what is measured then."""
QUICK_EVENTS = 2000


def run(quick: bool = False) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as directory:
        words = ["demo", "--loop", "--json", "--report", str(Path(directory) / "loop.html")]
        more = ["--events", str(QUICK_EVENTS)] if quick else []
        # Exit code 1 says that a bar was missed, which the rows say, too.
        done = subprocess.run([sys.executable, "-m", "reknit", *words, *more], stdout=subprocess.PIPE, check=False)
    return rows_of(json.loads(done.stdout), quick)


def rows_of(found: dict[str, Any], quick: bool = False) -> list[Row]:
    """From what the demo says of itself."""
    bar = INFORMATION if quick else 1.0
    before, after = found["watched"], found["measured"]
    saved = (
        f"{found['saved']:.1%} saved: {before['crossed']:,} crossings for {before['events']:,} events before, "
        f"{after['crossed']:,} for {after['events']:,} after, by {len(found['plan']['steps'])} swaps"
    )
    wrong = {
        "trace": _wrong(found["trace"]),
        "clients": _wrong(found["clients"]),
        "Spark": {name: count for name, count in found["spark"].items() if count},
    }
    clean = not any(wrong.values())
    owed = f"{found['clients']['owed']:,} deliveries owed; " + (
        "nothing lost, doubled or out of order" if clean else f"{wrong}"
    )
    off = max(found["off"], 1e-6)
    return [
        Row("loop.messages saved", f"{SAVED_MIN:.0%}", bar, found["saved"] / SAVED_MIN, saved),
        Row("loop.prediction", f"off by {OFF_MAX:.0%}", bar, OFF_MAX / off, f"off by {found['off']:.2%}"),
        Row("loop.nothing lost", "everything owed", bar, float(clean), owed),
    ]


def _wrong(verdict: dict[str, Any]) -> dict[str, int]:
    return {name: verdict[name] for name in ("lost", "duplicated", "out_of_order") if verdict[name]}
