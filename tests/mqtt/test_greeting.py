from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.mqtt.encode import encode
from reknit.mqtt.greeting import (
    CLIENT_PACKET_BYTES_MIN,
    accept_connect,
    check_connect,
    connack_properties,
    session_expiry_s,
)
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import V3_1_1, V5_0, Connack, Connect, Will
from reknit.mqtt.parser import Parser
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.session import PACKET_IDS, Connection

OPTIONS = DoorOptions(session_expiry_s_max=100)


def expiry(seconds: int) -> Properties:
    return ((PropertyId.SESSION_EXPIRY, seconds),)


@pytest.mark.parametrize(
    ("connect", "seconds"),
    [
        (Connect("a", V3_1_1, clean_start=True), 0),
        (Connect("a", V3_1_1, clean_start=False), 100),
        (Connect("a", V5_0, clean_start=False), 0),
        (Connect("a", V5_0, properties=expiry(7)), 7),
        (Connect("a", V5_0, properties=expiry(0xFFFF_FFFF)), 100),
    ],
)
def test_how_long_a_session_lasts(connect: Connect, seconds: int) -> None:
    assert session_expiry_s(connect, OPTIONS) == seconds


def test_the_terms_of_a_connection() -> None:
    will = Will("w", b"x", 1, properties=((PropertyId.WILL_DELAY, 9),))
    terms: Properties = ((PropertyId.RECEIVE_MAXIMUM, 3), (PropertyId.REQUEST_PROBLEM_INFORMATION, 0))
    connection = Connection(1, Parser(), 0.0)
    accept_connect(connection, Connect("a", V5_0, keep_alive_s=10, will=will, properties=terms), OPTIONS)
    assert (connection.version, connection.silence_s_max, connection.receive_maximum) == (V5_0, 15.0, 3)
    assert (connection.will, connection.will_delay_s) == (Event("w", b"x", qos=1), 9)
    assert not connection.problem_information


def test_the_terms_where_nothing_is_asked_for() -> None:
    connection = Connection(1, Parser(), 0.0)
    accept_connect(connection, Connect("a", V3_1_1), OPTIONS)
    assert (connection.silence_s_max, connection.receive_maximum, connection.will) == (0, PACKET_IDS, None)
    assert connection.problem_information


def test_the_largest_connack_fits_into_the_smallest_packet_that_is_allowed() -> None:
    connect = Connect("", V5_0, properties=expiry(0xFFFF_FFFF))
    check_connect(connect, OPTIONS)
    properties = connack_properties(connect, "auto-0123456789abcdef", 100, OPTIONS)
    assert len(encode(Connack(False, 0, properties), V5_0)) <= CLIENT_PACKET_BYTES_MIN


@pytest.mark.parametrize(
    ("version", "wanted_s", "longest_s", "settled_s"),
    [(V5_0, 100, 60, 60), (V5_0, 0, 60, 60), (V5_0, 30, 60, 30), (V5_0, 0, 0, 0), (V3_1_1, 100, 60, 100)],
)
def test_only_a_client_that_can_be_told_gets_another_keep_alive(
    version: int, wanted_s: int, longest_s: int, settled_s: int
) -> None:
    options = DoorOptions(keep_alive_s_max=longest_s)
    connect = Connect("a", version, keep_alive_s=wanted_s)
    connection = Connection(1, Parser(), 0.0)
    accept_connect(connection, connect, options)
    assert connection.silence_s_max == settled_s * 1.5
    told = dict(connack_properties(connect, "a", 0, options)).get(PropertyId.SERVER_KEEP_ALIVE)
    assert told == (settled_s if settled_s != wanted_s else None)


def test_response_information_is_given_to_those_who_ask() -> None:
    options = DoorOptions(response_information="answers")
    asks = Connect("a", properties=((PropertyId.REQUEST_RESPONSE_INFORMATION, 1),))
    assert dict(connack_properties(asks, "a", 0, options))[PropertyId.RESPONSE_INFORMATION] == "answers/a"
    assert PropertyId.RESPONSE_INFORMATION not in dict(connack_properties(Connect("a"), "a", 0, options))
