"""What has been seen before."""

from __future__ import annotations

from reknit.community.seen import Seen


def test_the_first_time_only_and_the_oldest_is_forgotten_first() -> None:
    seen: Seen[int] = Seen(3)
    assert [seen.is_first(key) for key in (1, 2, 1, 3)] == [True, True, False, True]
    assert seen.is_first(4)
    assert 1 not in seen
    assert [key in seen for key in (2, 3, 4)] == [True, True, True]
    assert len(seen) == 3
