from __future__ import annotations

from typing import Any

import pytest

from reknit.core.links.options import LinkOptions
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


def test_an_event_waits_for_longer_than_two_roots_take_to_be_replaced_one_after_the_other() -> None:
    options = RingOptions()
    assert options.order_s_max > 2 * (options.lost_s + options.handover_s)


def test_a_new_root_waits_for_longer_than_a_broker_that_handles_nothing_goes_unseen() -> None:
    options, links = RingOptions(), LinkOptions()
    assert options.handover_s > links.progress_s_max + options.lost_s + options.refresh_s
