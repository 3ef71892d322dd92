"""Settings from the environment: types, places, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.live.config import BrokerFile, NetworkFile, read_broker_file, read_network_file
from reknit.live.environment import overlay, settings_in
from reknit.live.errors import ConfigError


def test_each_value_has_the_type_of_its_key() -> None:
    said = {
        "REKNIT__BROKER__NAME": "7",
        "REKNIT__MQTT__RECEIVE_MAXIMUM": "30",
        "REKNIT__MQTT__CONNECT_S_MAX": "2.5",
        "REKNIT__MQTT__JSON_ATTRIBUTES": "true",
        "REKNIT__MQTT__REFUSED_FILTERS": '["a", "b/#"]',
        "REKNIT__ACCESS__ANONYMOUS": "nobody",
        "REKNIT__OPTIONS__REPAIR__LOST_S": "9",
        "REKNIT__NEIGHBOURS__B2": "127.0.0.1:7002",
    }
    file = read_broker_file(None, {**said, "REKNIT_STORIES": "write", "PATH": "/bin"})
    assert (file.broker.name, file.mqtt.receive_maximum, file.mqtt.connect_s_max) == ("7", 30, 2.5)
    assert (file.mqtt.json_attributes, file.mqtt.refused_filters) == (True, ("a", "b/#"))
    assert (file.access.anonymous, file.options.repair.lost_s) == ("nobody", 9.0)
    assert file.neighbours == {"b2": "127.0.0.1:7002"}


def test_over_the_file_and_the_rest_of_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text("[mqtt]\nreceive_maximum = 5\nfilters_max = 6\n")
    file = read_broker_file(path, {"REKNIT__MQTT__RECEIVE_MAXIMUM": "30"})
    assert (file.mqtt.receive_maximum, file.mqtt.filters_max) == (30, 6)
    assert read_broker_file(path).mqtt.receive_maximum == 5
    assert read_network_file(None, {"REKNIT__NETWORK__BROKERS": "4"}).network.brokers == 4


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("REKNIT__MQTT__COLOUR", "red", "REKNIT__MQTT__COLOUR: there is no key 'colour'; known: packet_bytes_max"),
        ("REKNIT__COLOUR", "red", "REKNIT__COLOUR: there is no key 'colour'"),
        ("REKNIT__MQTT__RECEIVE_MAXIMUM__X", "1", "there is no key 'x'"),
        ("REKNIT__MQTT__RECEIVE_MAXIMUM", "many", "REKNIT__MQTT__RECEIVE_MAXIMUM: 'many' is not of type int"),
        ("REKNIT__MQTT__JSON_ATTRIBUTES", "maybe", "is not of type bool"),
        ("REKNIT__MQTT__REFUSED_FILTERS", "a,b", "is not JSON"),
        ("REKNIT__MQTT", "x", "a section, and no key"),
        ("REKNIT__MQTT__FILTERS_MAX", "-1", "the environment: mqtt.filters_max: "),
        ("REKNIT__ACCESS__ANONYMOUS", "some", "allowed: "),
        ("REKNIT__MQTT__CONNECT_S_MAX", "inf", "negative, or no number"),
    ],
)
def test_what_is_none_is_named(name: str, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_broker_file(None, {name: text})
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_whence_each_came() -> None:
    document: dict[str, object] = {"mqtt": {"filters_max": 3}}
    came = overlay(document, {"REKNIT__LOG__LEVEL": "error", "REKNIT_LOG": "x"}, NetworkFile)
    assert came == {"log.level": "REKNIT__LOG__LEVEL"}
    assert document == {"mqtt": {"filters_max": 3}, "log": {"level": "error"}}
    assert settings_in({"REKNIT__B": "1", "REKNIT__A": "2"}) == {"REKNIT__A": "2", "REKNIT__B": "1"}


def test_every_key_of_a_brokers_file_can_be_set() -> None:
    """By trying: each one that is a plain value, with its own default."""
    import json

    import msgspec

    def keys(value: object, path: list[str]) -> list[tuple[list[str], object]]:
        if isinstance(value, dict):
            return [pair for name, each in value.items() for pair in keys(each, [*path, name])]
        return [(path, value)]

    found = keys(msgspec.to_builtins(BrokerFile()), [])
    assert len(found) > 80
    for path, value in found:
        name = "REKNIT__" + "__".join(part.upper() for part in path)
        text = value if isinstance(value, str) else json.dumps(value)
        assert read_broker_file(None, {name: text}) == BrokerFile(), name
