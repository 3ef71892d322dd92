"""All figures of CAMCAST's implementation on rows that were measured: small gatherings on real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.lab.experiment import Row, Scale
from reknit.lab.experiments import _camcast_live
from reknit.lab.experiments._camcast_live import PROBABILITIES, QUICK_PROBABILITIES, points
from reknit.lab.gathered import Tried, try_gathering
from tests.lab.experiments.camcast_live import rows as made_up
from tests.lab.experiments.small import experiment

FIGURES = [f"camcast-fig{number}" for number in range(19, 29)]
MEMBERSHIPS = ("scamp", "structured")
"""The third takes a minute to gather."""


def test_every_figure_shows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = made_up()[0].keys()  # before anything is changed: they are kept for all other tests
    monkeypatch.setattr(_camcast_live, "MEMBERSHIPS", MEMBERSHIPS)
    monkeypatch.setattr(_camcast_live, "FORWARDERS", (0.0, 5.0, 9.0))
    monkeypatch.setattr(_camcast_live, "try_gathering", _with_enough)
    found = experiment(FIGURES[0])
    rows: list[Row] = []
    for membership in MEMBERSHIPS:
        point = {"membership": membership, "root": 3, "middle": 5, "bottom": 9, "quick": True}
        rows.append({**point, "seed": 1, **found.measure(point, 1)})
    assert all(row.keys() == columns for row in rows), "as the made-up ones, by which verdicts are tested"
    for row in rows:
        assert (row["parasites"], row["settled"]) == (0, True)
        assert row["d_headline"] == row["a_headline"] == 1.0, "with c = 5 and all passing events upward"
        assert row["d_reception_1"] == row["a_reception_1"] == 1.0
        assert float(row["d_upward_1"]) > float(row["d_upward_0.05"])
        for at in QUICK_PROBABILITIES:
            assert all(0.0 <= float(row[f"{letter}_{name}_{at:g}"]) <= 1.0 for letter in "da" for name in SHARES)
    for id_ in FIGURES:
        figure = experiment(id_)
        measured = figure.reduce(rows).measured
        assert measured["parasite events"].value == 0
        assert len(figure.plot(rows).axes[0].lines) == len(MEMBERSHIPS)
        shown = [measured[f"{membership}, p_sel 1"].value for membership in MEMBERSHIPS]
        assert shown == [pytest.approx(_shown(id_, row)) for row in rows]


def _with_enough(sizes: tuple[int, ...], membership: str, c: float, *rest: Any) -> Tried:
    """With the paper's c = 0 so few would know one other each, and never hang together."""
    return try_gathering(sizes, membership, max(c, 5.0), *rest)


SHARES = ("reception", "reliability", "efficiency")
COLUMNS = {"19": "reception", "21": "reliability", "23": "efficiency", "25": "rounds", "27": "upward"}


def _shown(id_: str, row: Row) -> float:
    """Figures come in pairs: the first is of d, the second of a."""
    number = int(id_.removeprefix("camcast-fig"))
    letter = "d" if number % 2 else "a"
    column = COLUMNS[str(number - (letter == "a"))]
    return (100.0 if column in SHARES else 1.0) * float(row[f"{letter}_{column}_1"])


def test_the_papers_scale_has_its_memberships_and_probabilities() -> None:
    assert [point["membership"] for point in points(Scale.PAPER)] == ["scamp", "semi-structured", "structured"]
    assert PROBABILITIES[0] == 0.01
    assert PROBABILITIES[-1] == 1.0
