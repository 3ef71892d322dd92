"""dynatops-fig8b: not as claimed where TCO takes fewer messages under some pattern."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig8b",
        lambda point: 1.0 if ours(point) else 3.0,
        lambda point: 1.0 if ours(point) or (point["system"], point["pattern"]) == ("TCO", "uniform") else 3.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig8b", "DYNATOPS (BNR)")
