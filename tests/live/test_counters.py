"""Every number has its help for Prometheus, and begins at nothing."""

from __future__ import annotations

import msgspec

from reknit.live.counters import Counters


def test_all_begin_at_nothing() -> None:
    assert set(msgspec.to_builtins(Counters()).values()) == {0}
