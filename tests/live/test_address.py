"""Addresses: what is one, and which ports are free."""

from __future__ import annotations

import socket

import pytest

from reknit.live.address import FREE_PORT_FIRST, Address, free_ports, listen, parse_address, port_is_free
from reknit.live.errors import ConfigError, PortTaken


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:1883", Address("127.0.0.1", 1883)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:65535", Address("::1", 65535)),
    ],
)
def test_an_address_and_back(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "1883", ":1883", "host:", "host:x", "host:65536", "host:-1", "host:²"])
def test_what_is_no_address_is_named_with_its_flag(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--mqtt: .* is no HOST:PORT"):
        parse_address(text, "--mqtt")


def test_a_taken_port_says_who_wanted_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = Address(*holder.getsockname())
        assert not port_is_free(address)
        with pytest.raises(PortTaken, match=f"b1: mqtt: cannot listen on {address}: Address already in use"):
            listen(address, "b1: mqtt")
    assert port_is_free(address)


def test_an_unknown_host_is_bad_input() -> None:
    with pytest.raises(ConfigError, match="no known host"):
        listen(Address("no.such.host.invalid", 1), "b1")


def test_free_ports_differ_avoid_what_is_named_and_stay_out_of_the_kernels_range() -> None:
    first = free_ports("127.0.0.1", 5)
    assert len(set(first)) == 5
    assert all(FREE_PORT_FIRST <= port <= 65535 for port in first)
    assert not set(first) & set(free_ports("127.0.0.1", 5)), "nobody listens there yet, but somebody is going to"
    near = frozenset(range(max(first) + 6, max(first) + 12))
    assert not near & set(free_ports("127.0.0.1", 20, near))
