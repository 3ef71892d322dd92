"""Memberships by name."""

from __future__ import annotations

import pytest

from reknit.community.memberships.names import MEMBERSHIPS, membership_of


def test_each_is_found_by_its_name() -> None:
    assert [membership_of(name) for name in MEMBERSHIPS] == list(MEMBERSHIPS.values())


def test_a_name_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="one of scamp, "):
        membership_of("gossip")
