"""The shape of real traffic: how unequal topics are, and how unevenly events of one of them come.

Owns: the fitted numbers, the fit, and reading a shape from a file. Must not know: who talks, or where.

The numbers were measured from one day of edits of Wikipedia (12 September 2015: 39,199 edits in 51 channels; the sample
of Apache Druid's tutorial). How many edits a channel has falls with its rank as Zipf and Mandelbrot have it: a part of
all that goes with ``(rank + SHIFT) ** -EXPONENT``, by the exponent and shift of greatest likelihood. Edits of a channel
come in bursts: the gaps between them vary by 1.6 times their mean (the median of the ten busiest channels), so they are
drawn from a gamma distribution of shape ``1 / 1.6 ** 2``. ``python -m reknit.cli._demo.shape FILE channel ts`` says so.
"""

from __future__ import annotations

import bisect
import itertools
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, pstdev

from reknit.cli._problem import BadInput

__all__ = ["EDITS", "Shape", "fit", "read_shape"]

TOPICS = 51
EXPONENT = 1.98
SHIFT = 1.7
SPREAD = 1.6
"""Of the gaps between events of one topic: the deviation, as a part of the mean."""
BUSIEST = 10
"""Topics whose gaps are measured."""
TOPICS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Shape:
    weights: tuple[float, ...]
    """Of topics, by rank."""
    spread: float

    def draw(self, ranks: Sequence[int], rng: random.Random) -> int:
        """One of these ranks, which begin with 1."""
        upto = list(itertools.accumulate(self.weights[rank - 1] for rank in ranks))
        return ranks[min(bisect.bisect_right(upto, rng.random() * upto[-1]), len(ranks) - 1)]

    def gap(self, mean_s: float, rng: random.Random) -> float:
        """Until the next event of a topic."""
        if not self.spread:
            return mean_s
        shape = 1 / self.spread**2
        return rng.gammavariate(shape, mean_s / shape)


EDITS = Shape(tuple((rank + SHIFT) ** -EXPONENT for rank in range(1, TOPICS + 1)), SPREAD)


def read_shape(text: str) -> Shape:
    """``edits``, or ``FILE:TOPICS:TIMES``: a Parquet file of real events, and the columns that tell what and when."""
    if text == "edits":
        return EDITS
    path, *columns = text.rsplit(":", 2)
    if len(columns) != 2:
        raise BadInput(f"--shape {text}: write edits, or FILE:TOPICS:TIMES")
    topics, moments = _read(path, *columns)
    counts = sorted(Counter(topics).values(), reverse=True)[:TOPICS_MAX]
    return Shape(tuple(map(float, counts)), _spread(topics, moments))


def _read(path: str, topic: str, time: str) -> tuple[list[object], list[float]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(Path(path), columns=[topic, time])
        topics, moments = table.column(topic).to_pylist(), table.column(time).to_pylist()
    except (OSError, pa.ArrowException, KeyError) as error:
        raise BadInput(f"--shape {path}: {' '.join(str(error).split())[:200]}") from None
    if not topics or None in moments:
        raise BadInput(f"--shape {path}: there has to be an event, and each needs its time")
    return topics, [each.timestamp() if hasattr(each, "timestamp") else float(each) for each in moments]


def _spread(topics: Sequence[object], moments: Sequence[float]) -> float:
    by_topic: dict[object, list[float]] = {}
    for topic, moment in zip(topics, moments, strict=True):
        by_topic.setdefault(topic, []).append(moment)
    found = []
    for times in sorted(by_topic.values(), key=len, reverse=True)[:BUSIEST]:
        gaps = [after - before for before, after in itertools.pairwise(sorted(times))]
        if gaps and (mean := fmean(gaps)) > 0:
            found.append(pstdev(gaps) / mean)
    return median(found) if found else 1.0


def fit(counts: Sequence[int]) -> tuple[float, float]:
    """Exponent and shift of greatest likelihood, to two digits and to one."""
    import numpy as np

    ordered = np.sort(np.asarray(counts, float))[::-1]
    ranks = np.arange(1, len(ordered) + 1)

    def likelihood(exponent: float, shift: float) -> float:
        logs = -exponent * np.log(ranks + shift)
        return float((ordered * (logs - np.log(np.exp(logs).sum()))).sum())

    tried = itertools.product(np.arange(0.30, 3.50, 0.02), np.arange(0.0, 6.0, 0.1))
    exponent, shift = max(tried, key=lambda pair: likelihood(*pair))
    return round(float(exponent), 2), round(float(shift), 1)


def _main(path: str, topic: str, time: str) -> None:
    topics, moments = _read(path, topic, time)
    counted = Counter(topics)
    exponent, shift = fit(list(counted.values()))
    spread = _spread(topics, moments)
    print(f"{len(topics):,} events, {len(counted)} topics: exponent {exponent}, shift {shift}, spread {spread:.2f}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
