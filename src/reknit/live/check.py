"""A configuration looked at before anything runs: is it good, and what does it say?

Owns: which kind a file is of, what is read beside it (passwords, rules, certificates), and the list of settings that
are not the default, with where each comes from. Must not know: how a broker is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from reknit.live.address import parse_address
from reknit.live.config import (
    BrokerFile,
    NetworkFile,
    check_name,
    door_options,
    read_broker_file,
    read_network_file,
    read_plain,
    with_standby,
)
from reknit.live.environment import settings_in
from reknit.live.errors import ConfigError
from reknit.live.guard import Guard
from reknit.live.tls import link_tls, server_context
from reknit.live.warden import check_operators

__all__ = ["Checked", "Setting", "check_file"]

_PLACES = ("mqtt", "mqtts", "ws", "wss", "listen", "relay", "admin")
_OF_A_NETWORK = ("network", "link")


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: Any
    source: str
    """``file``, or the variable of the environment."""


@dataclass(frozen=True, slots=True)
class Checked:
    kind: str
    """``broker`` or ``network``."""
    settings: tuple[Setting, ...]
    """Those that are not the default, in the order of the documentation."""


def check_file(path: Path, environ: Mapping[str, str]) -> Checked:
    """``ConfigError``, one line, says what is wrong first."""
    document = read_plain(path)
    is_network = isinstance(document.get("broker"), list) or any(key in document for key in _OF_A_NETWORK)
    file: BrokerFile | NetworkFile
    file = read_network_file(path, environ) if is_network else read_broker_file(path, environ)
    try:
        _check(file)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    default = msgspec.to_builtins(NetworkFile() if is_network else BrokerFile())
    names = {name.removeprefix("REKNIT__").lower().replace("__", "."): name for name in settings_in(environ)}
    found = _different(msgspec.to_builtins(file), default, "")
    told = tuple(Setting(key, value, names.get(key, "file")) for key, value in found)
    return Checked("network" if is_network else "broker", told)


def _check(file: BrokerFile | NetworkFile) -> None:
    door_options(file.mqtt)
    guard = Guard(file.access)
    guard.close()
    for each in _sections(file):
        if each.admin:
            check_operators(parse_address(each.admin, "broker.admin"), guard, f"broker {each.name}")
    if isinstance(file, BrokerFile):
        _check_own(file)
    speaks_tls = any(each.mqtts or each.wss for each in _sections(file))
    for each in _sections(file) if speaks_tls or file.tls.certificate else ():
        server_context(file.tls, each.name)
        link_tls(file.tls, each.name)


def _sections(file: BrokerFile | NetworkFile) -> list[Any]:
    return [file.broker] if isinstance(file, BrokerFile) else list(file.sections)


def _check_own(file: BrokerFile) -> None:
    own = file.broker
    if own.name:
        check_name(own.name, "broker.name")
    for place in _PLACES:
        if address := getattr(own, place):
            parse_address(address, f"broker.{place}")
    for name, address in file.neighbours.items():
        if check_name(name, "neighbours") == own.name:
            raise ConfigError(f"neighbours: {name!r} is this broker itself")
        if address:
            parse_address(address, f"neighbours.{name}")
    with_standby(file.options, file.standby)


def _different(value: Any, default: Any, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and isinstance(default, dict):
        for name, each in value.items():
            yield from _different(each, default.get(name), f"{key}.{name}" if key else name)
    elif value != default:
        yield key, value
