"""What can be set about placement by interest."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.core.options import BrokerOptions
from reknit.core.placement.options import PlacementOptions


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"similarity": "hamming"}, "similarity: one of overlap, jaccard, cosine, not 'hamming'"),
        ({"clusters": 0}, "clusters: at least 1, not 0"),
        ({"cluster": "x" * 257}, "cluster: at most 256 characters"),
        ({"load_weight": -1.0}, "load_weight: a number from 0 on, not -1.0"),
        ({"update_s": float("inf")}, "update_s: a number from 0 on, not inf"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        PlacementOptions(**given)


def test_on_a_tree_nobody_is_placed() -> None:
    with pytest.raises(ValueError, match="placement is for brokers that route by rendezvous"):
        BrokerOptions(placement=PlacementOptions(update_s=5.0))
    assert BrokerOptions(routing="rendezvous", placement=PlacementOptions(update_s=5.0)).placement.update_s == 5.0
