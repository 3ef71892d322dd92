from __future__ import annotations

import pytest

from reknit.mqtt.options import DoorOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [("receive_maximum", 0), ("receive_maximum", 65_536), ("topic_levels_max", 33), ("session_expiry_s_max", -1)],
)
def test_bounds_outside_their_bounds_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must lie between"):
        DoorOptions(**{name: value})
