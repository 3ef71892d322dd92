"""dynatops-fig8a: not as claimed where TCO is quicker under some pattern, or slow under zipf."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims, ours


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig8a",
        lambda point: 1.0 if ours(point) else 3.0 if point["pattern"] == "zipf" else 5.0,
        lambda point: 4.0 if ours(point) else 3.0 if point["pattern"] == "zipf" else 5.0,
        lambda point: 1.0 if ours(point) else 5.0,
    )
