"""dynatops-fig6e: not as claimed where one of the others is as good."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig6e",
        lambda point: 50.0 if ours(point) else 100.0,
        lambda point: 50.0 if ours(point) else 100.0 if "Bayeux" in str(point["system"]) else 50.0,
        lambda point: 50.0 if ours(point) or point["system"] == "Bayeux (loc+PNS)" else 100.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig6e", "Bayeux (loc+PNS)")
