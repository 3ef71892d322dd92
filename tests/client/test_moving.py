"""A server reference: which reasons come with one, and what it says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reknit.client.moving import Place, referred


def _said(text: str, code: int = 0x9D) -> Place | None:
    return referred(SimpleNamespace(value=code), SimpleNamespace(ServerReference=text))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("b2.example:1884", Place("b2.example", 1884)),
        ("b2.example", Place("b2.example", 1883)),
        ("[::1]:1884", Place("::1", 1884)),
        ("[::1]", Place("::1", 1883)),
        ("::1", Place("::1", 1883)),
        ("b2:1 b3:2", Place("b2", 1)),
        ("", None),
        ("b2:", None),
        (":1883", None),
        ("b2:99999", None),
        ("b2:١", None),
    ],
)
def test_a_reference_is_a_host_and_perhaps_a_port(text: str, place: Place | None) -> None:
    assert _said(text) == place


def test_only_two_reasons_send_a_client_elsewhere() -> None:
    assert [code for code in range(256) if _said("b2:1", code)] == [0x9C, 0x9D]
    assert referred(0, None) is None
    assert referred(SimpleNamespace(value=0x9D), None) is None


def test_a_place_is_shown_as_it_is_written() -> None:
    assert str(Place("::1", 1883)) == "[::1]:1883"
    assert str(Place("b2", 1884)) == "b2:1884"
