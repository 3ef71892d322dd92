"""dynatops-fig6a: not as claimed where little is saved, or where large clusters are best."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, check_measured, ours


def test_the_claims() -> None:
    dip = {2: 50.0, 5: 30.0, 15: 40.0}
    check_claims(
        "dynatops-fig6a",
        lambda point: dip[int(point["cluster"])] if ours(point) else 60.0,
        lambda point: dip[int(point["cluster"])] if ours(point) else 40.0,
        lambda point: 40.0 - int(point["cluster"]) if ours(point) else 100.0,
    )


def test_one_point() -> None:
    check_measured("dynatops-fig6a", "GeoPS")
