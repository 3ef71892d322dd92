from __future__ import annotations

from reknit.core.book.options import BookOptions


def test_a_day_is_remembered() -> None:
    assert BookOptions().gone_s == 24 * 3600
