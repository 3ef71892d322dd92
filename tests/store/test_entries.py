"""The checksum of an entry covers all of it."""

from __future__ import annotations

from reknit.store.entries import checksum


def test_a_checksum_is_of_shelf_key_and_value() -> None:
    one = checksum("shelf", b"key", b"value")
    assert one == checksum("shelf", b"key", b"value")
    others = [("shelg", b"key", b"value"), ("shelf", b"kez", b"value"), ("shelf", b"key", b"valuf")]
    assert all(checksum(*each) != one for each in others)


def test_a_byte_that_moves_from_the_key_to_the_value_is_seen() -> None:
    assert checksum("s", b"ab", b"c") != checksum("s", b"a", b"bc")
