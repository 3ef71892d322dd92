"""Configuration: what is read, and the one line for what is not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from reknit.live.config import (
    MqttSection,
    check_name,
    convert_network,
    door_options,
    network_edges,
    parse_settings,
    read_broker_file,
    read_network_file,
)
from reknit.live.errors import ConfigError
from reknit.live.paths import PATHS
from reknit.mqtt.options import DoorOptions


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.toml"


def test_a_network_of_a_shape(file: Path) -> None:
    file.write_text('[network]\nbrokers = 3\nshape = "star"\nmqtt_base_port = 5000\n')
    network = read_network_file(file)
    assert network_edges(network) == [("b1", "b2"), ("b1", "b3")]
    assert [section.mqtt for section in network.sections] == ["127.0.0.1:5000", "127.0.0.1:5001", "127.0.0.1:5002"]


def test_a_network_of_listed_brokers_with_every_section(file: Path) -> None:
    file.write_text("""
        [[broker]]
        name = "paris"
        mqtt = "127.0.0.1:5000"
        [[broker]]
        name = "lyon"
        [[link]]
        a = "paris"
        b = "lyon"
        [options]
        routing = "global-table"
        [options.links]
        heartbeat_s = 0.5
        [mqtt]
        json_attributes = true
        queue_messages_max = 7
        [trace]
        directory = "out"
        [bounds]
        client_connections_max = 5
    """)
    network = read_network_file(file)
    assert network_edges(network) == [("paris", "lyon")]
    assert (network.options.routing, network.options.links.heartbeat_s) == ("global-table", 0.5)
    assert door_options(network.mqtt) == DoorOptions(json_attributes=True, queue_messages_max=7)
    assert (network.trace.directory, network.bounds.client_connections_max) == (str(file.parent / "out"), 5)


def test_a_broker(file: Path) -> None:
    file.write_text("""
        [broker]
        name = "b2"
        mqtt = "127.0.0.1:5000"
        listen = "127.0.0.1:6000"
        [neighbours]
        b1 = "127.0.0.1:6001"
        b3 = ""
    """)
    found = read_broker_file(file)
    assert found.broker.name == "b2"
    assert found.neighbours == {"b1": "127.0.0.1:6001", "b3": ""}


two = '[[broker]]\nname = "x"\n[[broker]]\nname = "y"\n'
three = two + '[[broker]]\nname = "z"\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "colour = 1",
            "top level: unknown key 'colour'; allowed: access, bounds, broker, communities, link, .*, tls, trace",
        ),
        ("[network]\nbrokrs = 2", "network: unknown key 'brokrs'; allowed: brokers, host, mqtt_base_port, seed, shape"),
        ('[network]\nshape = "ring"', "network.shape: .*'ring'; allowed: line, random, star"),
        ("[network]\nbrokers = 0", "network.brokers: a whole number of at least 1 is wanted"),
        ('[network]\nmqtt_base_port = "x"', "network.mqtt_base_port: Expected `int`, got `str`"),
        ('[options]\nrouting = "best"', "options.routing: .*'best'; allowed: .*flooding"),
        ("[options.links]\nheart = 1", "options.links: unknown key 'heart'; allowed: .*heartbeat_s"),
        ("[mqtt]\njson = true", "mqtt: unknown key 'json'; allowed: .*json_attributes"),
        ("[mqtt]\nqueue_bytes_max = -1", "mqtt.queue_bytes_max: a whole number of at least 0 is wanted"),
        ("[bounds]\nclient_stall_s_max = 0.0", "bounds.client_stall_s_max: a number above 0"),
        (
            '[[broker]]\nname = "x"\nport = 1',
            r"broker\[0\]: unknown key 'port'; allowed: admin, listen, mqtt, mqtts, name",
        ),
        ('[[broker]]\nname = ""', "broker: '' is no broker's name"),
        (two + '[[broker]]\nname = "x"', "broker: the name 'x' is given twice"),
        ('[[broker]]\nname = "x"\nmqtt = "1883"', "broker x: mqtt: '1883' is no HOST:PORT"),
        ('[[broker]]\nname = "x"\nmqtt = "h:1"\nlisten = "h:1"', "broker x: listen: h:1 is already used by x's mqtt"),
        (two + '[[link]]\na = "x"\nb = "w"', "link x - w: there is no broker 'w'; known: x, y"),
        (two + '[[link]]\na = "x"', r"link\[0\]: Object missing required field `b`"),
        ('[[link]]\na = "b1"\nb = "b2"', "needs the brokers to be listed"),
        (
            three + '[[link]]\na="x"\nb="y"\n[[link]]\na="y"\nb="z"\n[[link]]\na="z"\nb="x"',
            "the links form a cycle: z - y - x - z",
        ),
        (two + '[[standby]]\na="x"\nb="x"\n[options.repair]\nlost_s=5.0', "standby x - x: .*with itself"),
        (two + '[[standby]]\na="x"\nb="y"', "standby links are of no use without options.repair.lost_s"),
        ("[options.repair]\nlost_s=-5.0", "options.repair.lost_s: -5.0 is negative, or no number"),
        ("[options.repair]\nlost_s=nan", "options.repair.lost_s: nan is negative, or no number"),
        ("[options.overlay]\nlease_s=0.0", "options.overlay.lease_s: a number above 0.0 is wanted"),
        ("[network", "not TOML"),
        (
            "[network]\nbrokers = 2\n" + two,
            r"there are both \[network\] and \[\[broker\]\]; .*: take one of the two out",
        ),
    ],
)
def test_a_bad_network_file_is_one_line_that_names_file_key_and_what_is_allowed(
    file: Path, text: str, line: str
) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=line) as caught:
        read_network_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_the_environment_cannot_put_a_shape_beside_listed_brokers_either(file: Path) -> None:
    file.write_text(two)
    with pytest.raises(ConfigError, match=r"there are both \[network\] and"):
        read_network_file(file, {"REKNIT__NETWORK__SHAPE": "star"})


def test_paths_count_from_the_file_and_those_of_the_environment_from_here(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a broker is started, its file names the same files."""
    elsewhere = file.parent / "elsewhere"
    elsewhere.mkdir()
    text = "\n".join(
        f"[{section}]\n" + "\n".join(f'{key} = "sub/{key}"' for key in keys) for section, keys in PATHS.items()
    )
    file.write_text(text)
    monkeypatch.chdir(elsewhere)
    found = msgspec.to_builtins(read_broker_file(Path("..") / file.name, {"REKNIT__STORE__PATH": "own.store"}))
    for section, keys in PATHS.items():
        for key in keys:
            if section != "store":
                assert Path(found[section][key]).resolve() == file.parent.resolve() / "sub" / key
    assert found["store"]["path"] == str(elsewhere / "own.store")
    assert read_broker_file(None).store.path == ""


def test_a_file_that_cannot_be_read(file: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_network_file(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not TOML"):
        read_network_file(file)
    file.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="larger than"):
        read_network_file(file)


def test_settings_from_json_and_a_network_from_values() -> None:
    assert parse_settings('{"options": {"covering": true}}').options.covering
    with pytest.raises(ConfigError, match="--settings: options: unknown key 'x'"):
        parse_settings('{"options": {"x": 1}}')
    with pytest.raises(ConfigError, match="--settings: "):
        parse_settings("{")
    with pytest.raises(ConfigError, match=r"network.brokers"):
        convert_network({"network": {"brokers": 0}})


def test_every_option_of_the_door_can_be_set_and_has_the_doors_default() -> None:
    assert door_options(MqttSection()) == DoorOptions()


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 65, "ä"])
def test_a_name_is_plain(name: str) -> None:
    with pytest.raises(ConfigError, match=r"--name: .* is no broker's name"):
        check_name(name, "--name")
