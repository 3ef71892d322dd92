"""Every key that names a file is known as a path, and counts from the directory that it is given."""

from __future__ import annotations

from pathlib import Path

import msgspec

from reknit.live.config import BrokerFile
from reknit.live.paths import PATHS, root_paths


def test_every_path_is_a_key_of_its_section() -> None:
    file = msgspec.to_builtins(BrokerFile())
    assert [(name, key) for name, keys in PATHS.items() for key in keys if file[name].get(key) != ""] == []


def test_no_key_that_names_a_file_is_left_out() -> None:
    """Every key whose default is the empty text is a path, or stands here: a new one has to be decided on."""
    others = {("broker", key) for key in ("name", "mqtt", "mqtts", "ws", "wss", "listen", "relay", "admin", "known_at")}
    others |= {("mqtt", "response_information"), ("communities", "known_as")}
    sections = {name: each for name, each in msgspec.to_builtins(BrokerFile()).items() if isinstance(each, dict)}
    empty = {(name, key) for name, section in sections.items() for key, value in section.items() if value == ""}
    assert empty - others == {(name, key) for name, keys in PATHS.items() for key in keys}


def test_a_full_path_stays_and_an_empty_one_is_none() -> None:
    document = {"store": {"path": "/var/s"}, "trace": {"directory": ""}, "broker": [{"name": "a"}], "tls": 7}
    root_paths(document, Path("/etc"))
    assert document == {"store": {"path": "/var/s"}, "trace": {"directory": ""}, "broker": [{"name": "a"}], "tls": 7}
    document = {"tls": {"certificate": "certs/{name}.pem"}}
    root_paths(document, Path("/etc"))
    assert document == {"tls": {"certificate": "/etc/certs/{name}.pem"}}
