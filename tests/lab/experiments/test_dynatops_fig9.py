"""dynatops-fig9: not as claimed where notifying gets much worse, or changes cost more."""

from __future__ import annotations

from reknit.lab.experiment import Row
from tests.lab.experiments.dynatops import experiment, made_rows


def rows(notifying: float, changes: float) -> list[Row]:
    """``notifying``, ``changes``: by how much an hour more between changes makes them larger."""
    made = made_rows("dynatops-fig9", lambda point: 100.0 + notifying * float(point["free_h"]))
    return [{**row, "reconfiguration": 100.0 + changes * float(row["free_h"])} for row in made]


def test_the_claims() -> None:
    found = experiment("dynatops-fig9")
    assert found.reduce(rows(0.1, -1.0)).verdict == "as claimed"
    assert found.reduce(rows(1.0, -1.0)).verdict == "not as claimed"
    assert found.reduce(rows(0.1, 1.0)).verdict == "not as claimed"
    assert len(found.plot(rows(0.1, -1.0)).axes) == 3
