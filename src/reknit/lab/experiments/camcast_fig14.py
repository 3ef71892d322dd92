"""CAMCAST, Figure 14: messages from each community to the next, by the share of processes that have failed."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published, Rows
from reknit.lab.experiments._camcast import LEVELS, Figure, column
from reknit.lab.reduce import group, numbers

__all__ = ["EXPERIMENT"]


def holds(rows: Rows) -> bool:
    """On average at least one, where fewer than half of the processes have failed."""
    return all(
        sum(numbers(some, f"upward_{letter}")) / len(some) >= 1.0
        for (failed,), some in group(rows, "failed").items()
        for letter in LEVELS[1:]
        if float(failed) < 0.5
    )


EXPERIMENT: Final = Figure(
    id="camcast-fig14",
    figure="Figure 14",
    claim="Even if almost half of the processes fail, at least one event is sent from each community to the next.",
    title="Messages from each community to the next",
    unit="messages",
    letters=LEVELS[1:],
    value=column("upward"),
    holds=holds,
    published={"g, 0 % failed": Published(5.0, "messages", "g = 5 members send a = 1 message each, section 4.3")},
).experiment()
