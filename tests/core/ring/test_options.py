from __future__ import annotations

from typing import Any

import pytest

from reknit.core.ring.options import RingOptions


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"successors_max": 0}, "from 1 to 64, not 0"),
        ({"successors_max": 65}, "from 1 to 64, not 65"),
        ({"hops_max": 0}, "at least 1"),
        ({"stabilise_s": 0.0}, "more than 0"),
    ],
)
def test_what_no_ring_can_be_kept_with_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RingOptions(**given)
