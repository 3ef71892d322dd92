"""dynatops-fig10b: not as claimed where some plan saves nothing, or as much where all is alike."""

from __future__ import annotations

from tests.lab.experiments.dynatops import check_plans


def test_the_plans_and_the_claims() -> None:
    check_plans("dynatops-fig10b")
