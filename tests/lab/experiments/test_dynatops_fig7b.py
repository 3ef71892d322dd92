"""dynatops-fig7b: not as claimed where one of the others is as good."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig7b",
        lambda point: 80.0 if ours(point) else 100.0,
        lambda point: 80.0 if ours(point) or point["system"] == "TCO" else 100.0,
        lambda point: 98.0 if ours(point) else 100.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig7b", "Bayeux (static)")
