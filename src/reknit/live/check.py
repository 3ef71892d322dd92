"""A configuration looked at before anything runs: is it good, and what does it say?

Owns: which kind a file is of, which broker would run with what of it (whether it could, says ``fitness``), and the list
of settings that are not the default, with where each comes from. Must not know: how a broker is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from reknit.live.address import Address, parse_address
from reknit.live.config import (
    BrokerFile,
    BrokerSection,
    NetworkFile,
    Settings,
    StoreSection,
    check_name,
    read_broker_file,
    read_network_file,
    read_plain,
    with_standby,
)
from reknit.live.environment import settings_in
from reknit.live.errors import ConfigError
from reknit.live.fitness import check_directory, check_fit, check_ring
from reknit.live.memory import recall
from reknit.live.tls import server_context

__all__ = ["Checked", "Setting", "check_file", "check_values"]

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
        check_values(file)
    except ConfigError as error:
        raise ConfigError(f"{path.absolute()}: {error}") from None
    default = msgspec.to_builtins(NetworkFile() if is_network else BrokerFile())
    names = {name.removeprefix("REKNIT__").lower().replace("__", "."): name for name in settings_in(environ)}
    found = _different(msgspec.to_builtins(file), default, "")
    told = tuple(Setting(key, value, names.get(key, "file")) for key, value in found)
    return Checked("network" if is_network else "broker", told)


def check_values(file: BrokerFile | NetworkFile) -> None:
    """``ConfigError`` where a broker would refuse to begin; of one whose flags say the rest, by what is known."""
    settings = file.settings
    check_ring(settings, 1 if isinstance(file, BrokerFile) else len(file.sections))
    if isinstance(file, BrokerFile):
        _check_own(file)
    elif settings.store.path:
        settings = _check_stores(settings)
    for each in [file.broker] if isinstance(file, BrokerFile) else file.sections:
        check_fit(each.name, settings, _places(file, each)).close()
        if file.tls.certificate:  # whether or not an address speaks TLS by now
            server_context(file.tls, each.name)


def _check_stores(settings: Settings) -> Settings:
    """The settings without the directory of a network's stores, in which each broker has a file of its own."""
    path = Path(settings.store.path)
    if not path.is_dir() and (path.exists() or not path.parent.is_dir()):
        raise ConfigError(f"store: {path}: is no directory, and cannot be made one in {path.parent}")
    check_directory(path, "store")
    return msgspec.structs.replace(settings, store=StoreSection())


def _places(file: BrokerFile | NetworkFile, section: BrokerSection) -> dict[str, Address]:
    """Where the broker would be reached. What a network's file leaves open is chosen at its host."""
    who = "broker" if isinstance(file, BrokerFile) else f"broker {section.name}"
    dot = "." if isinstance(file, BrokerFile) else ": "
    found = {key: parse_address(at, f"{who}{dot}{key}") for key in _PLACES if (at := getattr(section, key))}
    if isinstance(file, NetworkFile):
        for key in ("listen", "admin"):
            found.setdefault(key, Address(file.network.host, 0))
    if "listen" in found and file.mqtt.unique_ids:
        found.setdefault("relay", Address(found["listen"].host, 0))
    return found


def _check_own(file: BrokerFile) -> None:
    own = file.broker
    if own.name:
        check_name(own.name, "broker.name")
    for name, address in file.neighbours.items():
        if check_name(name, "neighbours") == own.name:
            raise ConfigError(f"neighbours: {name!r} is this broker itself")
        if address:
            parse_address(address, f"neighbours.{name}")
    with_standby(file.options, file.standby)
    if own.state and own.name:
        recall(Path(own.state), own.name)


def _different(value: Any, default: Any, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and isinstance(default, dict):
        for name, each in value.items():
            yield from _different(each, default.get(name), f"{key}.{name}" if key else name)
    elif value != default:
        yield key, value
