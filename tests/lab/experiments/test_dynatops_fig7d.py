"""dynatops-fig7d: not as claimed where TCO's costs are as low, or grow less."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig7d",
        lambda point: 10.0 if ours(point) else 1000.0 * float(point["rate"]),
        lambda point: 150.0 if ours(point) else 1000.0 * float(point["rate"]),
        lambda point: 100.0 * float(point["rate"]) if ours(point) else 1000.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig7d", "TCO")
