"""Places: one text for each peer, and none for what is no peer."""

from __future__ import annotations

import asyncio
import socket

import pytest

from reknit.live.errors import ConfigError
from reknit.live.peers.places import PLACES_MAX, Places, look_up, text_of


def test_both_forms() -> None:
    places = Places(socket.AF_INET)
    assert places.find("127.0.0.1:7400") == ("127.0.0.1", 7400)
    assert places.name(("127.0.0.1", 7400)) == "127.0.0.1:7400"
    assert Places(socket.AF_INET6).find("[::1]:7400") == ("::1", 7400)
    assert text_of(("fe80::1%eth0", 7400, 0, 2)) == "[fe80::1]:7400"


@pytest.mark.parametrize(
    "text",
    ["", "host:1", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:07400", "224.0.0.1:7400", "[::1]:7400"],
)
def test_a_text_that_is_no_peer(text: str) -> None:
    assert Places(socket.AF_INET).find(text) is None


@pytest.mark.parametrize("text", ["0.0.0.0:7400", "255.255.255.255:7400", "127.1:7400", "127.0.0.1:7400 ", "\0:1"])
def test_a_text_that_stands_for_many_or_none(text: str) -> None:
    assert Places(socket.AF_INET).find(text) is None


def test_texts_of_strangers_fill_no_memory() -> None:
    places = Places(socket.AF_INET)
    for number in range(PLACES_MAX + 10):
        places.find(f"nobody{number}")
        places.name(("127.0.0.1", number))
    assert len(places._places) <= PLACES_MAX
    assert len(places._texts) <= PLACES_MAX


def test_a_user_may_name_a_host() -> None:
    assert asyncio.run(look_up("localhost:7400", socket.AF_INET, "contact")) == "127.0.0.1:7400"
    for wrong in ("no.such.host.invalid:7400", "127.0.0.1:0", "nothing"):
        with pytest.raises(ConfigError, match="contact"):
            asyncio.run(look_up(wrong, socket.AF_INET, "contact"))
