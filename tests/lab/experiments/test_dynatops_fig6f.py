"""dynatops-fig6f: not as claimed where larger clusters are worse."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig6f", lambda point: 50.0 - int(point["cluster"]), lambda point: 1.0 * int(point["cluster"])
    )
