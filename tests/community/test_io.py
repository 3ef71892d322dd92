"""The door's values."""

from __future__ import annotations

import pytest

from reknit.community import io


def test_inputs_and_effects_are_frozen() -> None:
    join = io.Join("soccer")
    with pytest.raises(AttributeError):
        join.topic = "tennis"  # type: ignore[misc]
    assert join == io.Join("soccer", selector="", contacts=(), supers=(), deliver=True)
