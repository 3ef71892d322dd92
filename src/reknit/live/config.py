"""The configuration of a broker or of a network: one TOML file, read strictly.

Owns: every key that a file can hold, its default and its bounds, and the one line that says what is wrong with a file.
Must not know: how a broker is run. An unknown key is an error, since a misspelt bound that is silently ignored is
worse than none.

Both kinds of file share ``[options]`` (the protocol), ``[mqtt]``, ``[trace]``, ``[store]`` and ``[bounds]``. A broker's
file adds ``[broker]``, ``[neighbours]`` and ``[standby]``; a network's file adds ``[network]``, or ``[[broker]]`` and
``[[link]]``, never both; and ``[[standby]]``.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from reknit.core.broker import BrokerOptions
from reknit.core.links.options import LinkKind
from reknit.core.overlay.shapes import Edge, find_cycle, names, shape_edges
from reknit.live.address import parse_address
from reknit.live.communities import CommunitiesSection
from reknit.live.environment import overlay
from reknit.live.errors import ConfigError
from reknit.live.explain import explain
from reknit.live.guard import AccessSection
from reknit.live.log import Form, Level, LogSection
from reknit.live.paths import root_paths
from reknit.live.tls import TlsSection
from reknit.mqtt.options import DoorOptions

__all__ = [
    "Bounds",
    "BrokerFile",
    "BrokerSection",
    "LinkSection",
    "MqttSection",
    "NetworkFile",
    "NetworkSection",
    "OwnSection",
    "Settings",
    "StoreSection",
    "TraceSection",
    "check_name",
    "convert_network",
    "door_options",
    "link_kinds",
    "network_edges",
    "parse_settings",
    "read_broker_file",
    "read_network_file",
    "read_plain",
    "standby_edges",
    "with_log",
    "with_standby",
]

BROKERS_MAX = 1000
_LOG_WORDS: dict[str, Any] = {"format": Form, "level": Level}
FILE_BYTES_MAX = 1 << 20

ShapeName: TypeAlias = Literal["line", "star", "random"]
PositiveInt: TypeAlias = Annotated[int, Meta(ge=1)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


if TYPE_CHECKING:
    MqttSection = DoorOptions
else:
    # The door's own options, key by key, so that there is one list of them; as a struct, so that others are refused.
    _KINDS = {int: Annotated[int, Meta(ge=0)], float: Annotated[float, Meta(ge=0)], bool: bool, str: str}
    _KINDS[tuple] = tuple[str, ...]
    MqttSection = msgspec.defstruct(
        "MqttSection",
        [(each.name, _KINDS[type(each.default)], each.default) for each in fields(DoorOptions)],
        frozen=True,
        forbid_unknown_fields=True,
    )


def door_options(section: MqttSection) -> DoorOptions:
    """``[mqtt]``, as the door takes it. ``ConfigError`` where it goes beyond what MQTT has room for."""
    try:
        return DoorOptions(**{each.name: getattr(section, each.name) for each in fields(DoorOptions)})
    except ValueError as error:
        raise ConfigError(f"mqtt: {error}") from None


class TraceSection(Struct, forbid_unknown_fields=True, frozen=True):
    """``[trace]``: where to write what is seen; nothing is written if the directory is empty."""

    directory: str = ""


class StoreSection(Struct, forbid_unknown_fields=True, frozen=True):
    """``[store]``: where to keep what is acknowledged; in memory alone if the path is empty."""

    path: str = ""


class Bounds(Struct, forbid_unknown_fields=True, frozen=True):
    """``[bounds]``: what the shell allows its sockets. Reaching one is counted."""

    client_connections_max: PositiveInt = 10_000
    address_connections_max: PositiveInt = 5_000
    """Connections of clients from one address; a CONNECT beyond that is refused with 0x97."""
    address_connections_per_s_max: Annotated[float, Meta(gt=0)] = 500.0
    """New ones from one address, in the long run; a CONNECT beyond that is refused with 0x9F."""
    client_buffer_bytes_max: PositiveInt = 16 << 20
    """Unsent bytes for one client; beyond that QoS 0 is dropped for it and QoS 1 waits, until it has read most."""
    client_stall_s_max: Annotated[float, Meta(gt=0)] = 10.0
    """A client that has stayed beyond that bound for so long is disconnected."""
    held_bytes_max: PositiveInt = 64 << 20
    """Bytes that wait for the store; beyond that nobody is read until it is written. Only with a store."""
    link_connections_max: PositiveInt = 256
    link_buffer_bytes_max: PositiveInt = 64 << 20
    """Unsent bytes for one neighbour; beyond that the connection is given up, and the link resumes on a new one."""


class Settings(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What all brokers of a network share."""

    options: BrokerOptions = msgspec.field(default_factory=BrokerOptions)
    mqtt: MqttSection = MqttSection()
    access: AccessSection = AccessSection()
    tls: TlsSection = TlsSection()
    trace: TraceSection = TraceSection()
    store: StoreSection = StoreSection()
    bounds: Bounds = Bounds()
    communities: CommunitiesSection = CommunitiesSection()
    log: LogSection = LogSection()

    @property
    def settings(self) -> Settings:
        """These alone, of a file that says more."""
        return Settings(**{name: getattr(self, name) for name in Settings.__struct_fields__})


class BrokerSection(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``[broker]``: one broker; each address is HOST:PORT, and an empty one is chosen or not served."""

    name: str = ""
    mqtt: str = ""
    mqtts: str = ""
    """The same in TLS; see ``[tls]``."""
    ws: str = ""
    """The same through WebSocket, subprotocol ``mqtt``."""
    wss: str = ""
    """The same in TLS."""
    listen: str = ""
    relay: str = ""
    """Where other brokers bring clients that have their session here; chosen beside ``listen``."""
    admin: str = ""


class OwnSection(BrokerSection, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``[broker]`` in a broker's own file."""

    state: str = ""
    """Where the neighbours are kept for the next life; nowhere if it is empty."""
    known_at: str = ""
    """Where other brokers reach it, if not at ``listen``: what stands before it."""


class BrokerFile(Settings, forbid_unknown_fields=True, frozen=True, kw_only=True):
    broker: OwnSection = OwnSection()
    neighbours: dict[str, str] = {}
    """Name to address; the empty address means that the neighbour dials."""
    standby: dict[str, str] = {}
    """The same, of brokers to be linked with when the tree is torn."""


class NetworkSection(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``[network]``: a network of a shape that has a name."""

    brokers: Annotated[int, Meta(ge=1, le=BROKERS_MAX)] = 3
    shape: ShapeName = "line"
    mqtt_base_port: Port = 1883
    host: str = "127.0.0.1"
    seed: int = 0
    """Chooses the links of the shape ``random``."""


class LinkSection(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    a: str
    b: str
    kind: Literal["", "stream", "datagram"] = ""
    """Whether events may be lost on it; empty for what ``loose`` under ``[options.links]`` says."""


class NetworkFile(Settings, forbid_unknown_fields=True, frozen=True, kw_only=True):
    network: NetworkSection = NetworkSection()
    broker: list[BrokerSection] = []
    link: list[LinkSection] = []
    standby: list[LinkSection] = []
    """Links that are made when the tree is torn; they may close cycles."""

    @property
    def sections(self) -> list[BrokerSection]:
        """The brokers that are listed; else those that ``[network]`` counts, with MQTT at consecutive ports."""
        if self.broker:
            return self.broker
        network = self.network
        return [
            BrokerSection(name=name, mqtt=f"{network.host}:{network.mqtt_base_port + place}")
            for place, name in enumerate(names(network.brokers))
        ]


# --- reading

_File = TypeVar("_File", bound=Settings)


_NOTHING: Mapping[str, str] = {}


def read_broker_file(path: Path | None, environ: Mapping[str, str] = _NOTHING) -> BrokerFile:
    """The file, if there is one, with what the environment says over it."""
    return _decode(path, environ, BrokerFile)


def read_network_file(path: Path | None, environ: Mapping[str, str] = _NOTHING) -> NetworkFile:
    """The same, once it is sure that its links are a forest over brokers that exist."""
    file = _decode(path, environ, NetworkFile)
    try:
        network_edges(file)
        standby_edges(file)
    except ConfigError as error:
        raise ConfigError(f"{path.absolute()}: {error}" if path is not None else str(error)) from None
    return file


def parse_settings(text: str) -> Settings:
    """Settings as JSON, which is how a network hands them to its brokers."""
    try:
        return msgspec.json.decode(text, type=Settings)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"--settings: {explain(str(error), Settings)}") from None


def convert_network(document: dict[str, Any]) -> NetworkFile:
    """A network's file from plain values, which is how flags are put over a file."""
    try:
        return msgspec.convert(document, NetworkFile)
    except msgspec.ValidationError as error:
        raise ConfigError(explain(str(error), NetworkFile)) from None


def read_plain(path: Path) -> dict[str, Any]:
    """What a file says, of whichever kind it is; ``ConfigError`` unless it is TOML."""
    path = path.absolute()
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigError(f"{path}: larger than {FILE_BYTES_MAX} bytes")
        document: dict[str, Any] = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return document


def _decode(path: Path | None, environ: Mapping[str, str], kind: type[_File]) -> _File:
    document = read_plain(path) if path is not None else {}
    if path is not None:
        root_paths(document, path.absolute().parent)
    overlay(document, environ, kind)
    root_paths(document, Path.cwd())
    where = path.absolute() if path is not None else "the environment"
    if kind is NetworkFile and document.get("broker") and "network" in document:
        raise ConfigError(
            f"{where}: there are both [network] and [[broker]]; [network] counts the brokers of a network that has a "
            "shape, [[broker]] lists those of one that has none: take one of the two out"
        )
    try:
        file = msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {explain(str(error), kind)}") from None
    if fault := _misnumbered(file, ""):
        raise ConfigError(f"{where}: {fault}")
    return file


def with_log(settings: Settings, form: str | None, level: str | None) -> Settings:
    """The settings with these words for the log, where there are any; ``ConfigError`` names the flag."""
    for name, word in (("format", form), ("level", level)):
        if word is None:
            continue
        try:
            log = msgspec.convert({**msgspec.to_builtins(settings.log), name: word}, LogSection)
        except msgspec.ValidationError:
            allowed = ", ".join(get_args(_LOG_WORDS[name]))
            raise ConfigError(f"--log-{name}: {word!r} is none of {allowed}") from None
        settings = msgspec.structs.replace(settings, log=log)
    return settings


# --- checking


def _misnumbered(section: Struct, where: str) -> str:
    """The first time or bound that no clock and no memory has, and why; empty if there is none."""
    for name in section.__struct_fields__:
        value, key = getattr(section, name), f"{where}{name}"
        if isinstance(value, Struct) and (fault := _misnumbered(value, f"{key}.")):
            return fault
        if isinstance(value, int | float) and not 0 <= value < math.inf and name != "seed":
            return f"{key}: {value} is negative, or no number"
    return ""


def check_name(name: str, what: str = "name") -> str:
    """A name stands in addresses, file names and tables, so it is kept plain."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{what}: {name!r} is no broker's name (letters, digits, '_', '.', '-'; at most 64)")
    return name


def network_edges(file: NetworkFile) -> list[Edge]:
    """The links of the network; ``ConfigError`` names the missing broker, or the cycle."""
    sections = file.sections
    known = _check_sections(sections)
    if not file.broker:
        if file.link:
            raise ConfigError("[[link]] needs the brokers to be listed under [[broker]]")
        return shape_edges(file.network.shape, known, random.Random(file.network.seed))
    for link in file.link:
        for end in (link.a, link.b):
            if end not in known:
                raise ConfigError(f"link {link.a} - {link.b}: there is no broker {end!r}; known: {', '.join(known)}")
    edges = [(link.a, link.b) for link in file.link]
    if cycle := find_cycle(edges):
        raise ConfigError(f"the links form a cycle: {' - '.join(cycle)}")
    return edges


def link_kinds(file: NetworkFile) -> dict[Edge, LinkKind]:
    """Those of links that have one of their own."""
    return {(link.a, link.b): link.kind for link in (*file.link, *file.standby) if link.kind}


def standby_edges(file: NetworkFile) -> list[Edge]:
    """The standby links; ``ConfigError`` names a broker that there is not."""
    known = [section.name for section in file.sections]
    if file.standby and not file.options.repair.lost_s:
        raise ConfigError("standby links are of no use without options.repair.lost_s: nothing is ever given up as lost")
    for link in file.standby:
        if link.a == link.b:
            raise ConfigError(f"standby {link.a} - {link.b}: a broker cannot be linked with itself")
        for end in (link.a, link.b):
            if end not in known:
                raise ConfigError(f"standby {link.a} - {link.b}: there is no broker {end!r}; known: {', '.join(known)}")
    return [(link.a, link.b) for link in file.standby]


def with_standby(options: BrokerOptions, standby: Mapping[str, str]) -> BrokerOptions:
    """The options of a broker that has these standby links: names, and addresses."""
    for name, address in standby.items():
        parse_address(address, f"standby {check_name(name, 'standby')}")
    repair = msgspec.structs.replace(options.repair, standby={**options.repair.standby, **standby})
    return msgspec.structs.replace(options, repair=repair)


def _check_sections(sections: list[BrokerSection]) -> list[str]:
    seen: list[str] = []
    used: dict[str, str] = {}
    for section in sections:
        if check_name(section.name, "broker") in seen:
            raise ConfigError(f"broker: the name {section.name!r} is given twice")
        seen.append(section.name)
        for key in ("mqtt", "listen", "admin"):
            if not (text := getattr(section, key)):
                continue
            parse_address(text, f"broker {section.name}: {key}")
            if text in used:
                raise ConfigError(f"broker {section.name}: {key}: {text} is already used by {used[text]}")
            used[text] = f"{section.name}'s {key}"
    return seen
