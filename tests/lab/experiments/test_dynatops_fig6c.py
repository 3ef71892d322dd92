"""dynatops-fig6c: not as claimed where users are handed over as often."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, ours


def test_the_claims() -> None:
    check_claims("dynatops-fig6c", lambda point: 10.0 if ours(point) else 90.0, lambda point: 50.0)
