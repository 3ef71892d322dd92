"""Nonsense is drawn from a seed, and is hardly ever sense as a whole."""

from __future__ import annotations

import random

import pytest

from bench.nonsense import PACKETS_PER_CONNECTION, PORTS, connection
from reknit.mqtt.parser import Parser
from reknit.mqtt.reasons import ProtocolError


@pytest.mark.parametrize("port", PORTS)
def test_the_same_seed_says_the_same_and_another_says_something_else(port: str) -> None:
    one, same, other = (connection(port, random.Random(seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_most_connections_to_the_clients_door_begin_with_sense_and_end_in_nonsense() -> None:
    rng, sense, spoiled = random.Random(3), 0, 0
    for _ in range(200):
        parser, read = Parser(1 << 20), 0
        try:
            for _ in parser.feed(connection("mqtt", rng)):
                read += 1
        except ProtocolError:
            spoiled += 1
        sense += read > 0
        assert read <= 2 * PACKETS_PER_CONNECTION  # a doubled or split one may be two
    assert sense > 120
    assert spoiled > 150
