"""dynatops-fig6b: not as claimed where a weight does not help, or none is needed."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_claims


def test_the_claims() -> None:
    check_claims(
        "dynatops-fig6b",
        lambda point: 10.0 * int(point["cluster"]) / (1 + float(point["load_weight"])),
        lambda point: 10.0 * int(point["cluster"]),
        lambda point: 10.0 / (1 + float(point["load_weight"])),
    )
