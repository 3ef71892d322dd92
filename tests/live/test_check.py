"""A configuration is looked at whole, with all that it names, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.live.check import Checked, Setting, check_file
from reknit.live.errors import ConfigError


def written(directory: Path, text: str) -> Path:
    path = directory / "it.toml"
    path.write_text(text)
    return path


def test_what_is_not_the_default_and_whence(tmp_path: Path) -> None:
    path = written(tmp_path, '[broker]\nname = "b1"\n[mqtt]\nreceive_maximum = 20\nfilters_max = 7\n')
    assert check_file(path, {"REKNIT__LOG__LEVEL": "error"}) == Checked(
        "broker",
        (
            Setting("mqtt.filters_max", 7, "file"),
            Setting("log.level", "error", "REKNIT__LOG__LEVEL"),
            Setting("broker.name", "b1", "file"),
        ),
    )


def test_a_networks_file_is_known_by_what_it_has(tmp_path: Path) -> None:
    for text in ("[network]\nbrokers = 2\n", '[[broker]]\nname = "a"\n'):
        assert check_file(written(tmp_path, text), {}).kind == "network"
    assert check_file(written(tmp_path, ""), {}) == Checked("broker", ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x =", "not TOML"),
        ("[mqtt]\ncolour = 1", "unknown key 'colour'"),
        ("[mqtt]\nreceive_maximum = 0", "mqtt: receive_maximum must lie between"),
        ('[broker]\nmqtt = "nowhere"', "broker.mqtt"),
        ('[broker]\nname = "a b"', "broker.name: 'a b' is no broker's name"),
        ('[broker]\nname = "a"\n[neighbours]\na = ""', "neighbours: 'a' is this broker itself"),
        ('[neighbours]\nb = "x"', "neighbours.b"),
        (
            '[access]\npasswords = "nowhere.txt"',
            "/nowhere.txt: No such file or directory; passwords under [access] names it; make it with `reknit password",
        ),
        ('[access]\nrules = "nowhere.toml"', "/nowhere.toml: No such file"),
        ('[broker]\nmqtts = "127.0.0.1:8883"', "tls: `certificate` is needed"),
        ('[tls]\ncertificate = "nowhere.pem"', "/nowhere.pem, no key"),
        ('[[broker]]\nname = "a"\n[[link]]\na = "a"\nb = "z"', "there is no broker 'z'"),
        ('[log]\nlevel = "loud"', "log.level: "),
        ('[broker]\nname = "a"\nlisten = "0.0.0.0:7001"', "broker a: listen 0.0.0.0:7001: brokers would be reached"),
        ('[broker]\nrelay = "0.0.0.0:7001"', "relay 0.0.0.0:7001: brokers would be reached without TLS"),
        ('[network]\nhost = "0.0.0.0"', "broker b1: listen 0.0.0.0:0: brokers would be reached without TLS"),
        ('[network]\nhost = "0.0.0.0"\n[tls]\nplain_links = true', "broker b1: admin 0.0.0.0:0: anybody could change"),
        ('[[broker]]\nname = "a"\nlisten = "0.0.0.0:7001"', "broker a: listen 0.0.0.0:7001: brokers would be"),
        ('[tls]\nlink_authorities = "a.pem"', "tls: `certificate` is needed"),
        ("[options.links]\nloose = true", "options.links.loose needs options.links.retransmit_s"),
        ('[store]\npath = "none/b1.store"', "/none/b1.store: there is no directory "),
        ('[network]\n[store]\npath = "none/stores"', "/none/stores: is no directory, and cannot be made one in "),
        ('[broker]\nname = "a"\nstate = "none/a.json"', "/none/a.json: cannot be kept there"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        check_file(path, {})
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        check_file(tmp_path / "nothing.toml", {})


def test_stores_beside_the_file_are_good(tmp_path: Path) -> None:
    for text in ('[store]\npath = "b1.store"\n', '[network]\n[store]\npath = "stores"\n'):
        check_file(written(tmp_path, text), {})
    assert [each.name for each in tmp_path.iterdir()] == ["it.toml"]
