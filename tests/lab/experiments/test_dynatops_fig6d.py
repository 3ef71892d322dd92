"""dynatops-fig6d: not as claimed where one of the others is as good."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig6d",
        lambda point: 30.0 if ours(point) else 100.0,
        lambda point: 30.0 if ours(point) else 100.0 if "Bayeux" in str(point["system"]) else 30.0,
        lambda point: 30.0 if ours(point) or point["system"] == "Bayeux (loc+PNS)" else 100.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig6d", "Bayeux (loc+PNS)")
