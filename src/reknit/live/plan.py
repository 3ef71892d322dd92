"""From a network's file to the brokers that will run: every address chosen, every link given to both of its ends.

Owns: which end of a link dials, and the command line of a broker. Must not know: processes.

Of two neighbours the one with the greater name dials and the other one waits, so that a link is never opened from both
ends at once. Each end knows the other by name, whichever of them dials.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from reknit.core.links.options import LinkKind
from reknit.core.overlay.shapes import Edge
from reknit.live.address import Address, free_ports, parse_address, port_is_free
from reknit.live.config import (
    BrokerSection,
    NetworkFile,
    Settings,
    StoreSection,
    link_kinds,
    network_edges,
    standby_edges,
    with_standby,
)
from reknit.live.errors import PortTaken
from reknit.live.fitness import check_ring
from reknit.live.log import Form, LogSection

__all__ = [
    "PLACES",
    "NetworkPlan",
    "PlannedBroker",
    "broker_command",
    "contacts_of",
    "dialler",
    "linked_at_first",
    "neighbours_of",
    "own_store",
    "plan_network",
    "settings_of",
]


PLACES = ("mqtt", "listen", "admin")

CONTACTS = 2
"""Brokers by which another one finds the ring: one may be down."""
"""What a broker needs an address for."""
MORE_PLACES = ("mqtts", "ws", "wss", "relay")
"""What it may have one for, if it is named."""


@dataclass(frozen=True, slots=True)
class PlannedBroker:
    name: str
    mqtt: Address
    listen: Address
    admin: Address
    more: Mapping[str, Address] = field(default_factory=dict)
    """Further addresses for clients, by what they speak."""

    @property
    def addresses(self) -> tuple[Address, ...]:
        return (self.mqtt, self.listen, self.admin, *self.more.values())

    @property
    def admin_url(self) -> str:
        return f"http://{self.admin}"


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    brokers: tuple[PlannedBroker, ...]
    edges: tuple[Edge, ...]
    settings: Settings
    standby: tuple[Edge, ...] = ()
    """Links that are made when the tree is torn."""
    kinds: Mapping[Edge, LinkKind] = field(default_factory=dict)
    """Of links that have one of their own."""


def plan_network(file: NetworkFile) -> NetworkPlan:
    """Choose what the file leaves open; ``PortTaken`` if an address that it names is in use."""
    check_ring(file.settings, len(file.sections))
    edges = network_edges(file)
    sections = file.sections
    host = file.network.host
    named = (*PLACES, *MORE_PLACES)
    given = [parse_address(text) for section in sections for key in named if (text := getattr(section, key))]
    for address in given:
        if address.port and not port_is_free(address):
            raise PortTaken(f"{address} is taken; choose others, such as with --mqtt-base-port")
    wanted = sum(not getattr(section, key) for section in sections for key in PLACES)
    spare = iter(free_ports(host, wanted, frozenset(address.port for address in given)))

    def chosen(text: str) -> Address:
        return parse_address(text) if text else Address(host, next(spare))

    def more(section: BrokerSection) -> dict[str, Address]:
        return {key: parse_address(text) for key in MORE_PLACES if (text := getattr(section, key))}

    brokers = tuple(
        PlannedBroker(section.name, chosen(section.mqtt), chosen(section.listen), chosen(section.admin), more(section))
        for section in sections
    )
    # The links were checked as a whole, so that no broker has to search for cycles when it starts.
    options = msgspec.structs.replace(file.options, founded=True)
    shared = msgspec.structs.replace(file.settings, options=options)
    return NetworkPlan(brokers, tuple(edges), shared, tuple(standby_edges(file)), link_kinds(file))


def dialler(a: str, b: str) -> str:
    """Which end of the link opens it."""
    return max(a, b)


def neighbours_of(name: str, edges: Sequence[Edge], brokers: Sequence[PlannedBroker]) -> dict[str, str]:
    """Every neighbour of ``name``; with its address if it is ours to dial, else with none."""
    where = {broker.name: str(broker.listen) for broker in brokers}
    found: dict[str, str] = {}
    for edge in edges:
        if name in edge:
            other = edge[1] if edge[0] == name else edge[0]
            found[other] = where.get(other, "") if dialler(name, other) == name else ""
    return found


def contacts_of(name: str, brokers: Sequence[PlannedBroker]) -> dict[str, str]:
    """By whom a broker finds the ring: the first two of those that stand before it. The first of all has nobody."""
    place = [broker.name for broker in brokers].index(name)
    return {broker.name: str(broker.listen) for broker in brokers[: min(place, CONTACTS)]}


def linked_at_first(name: str, plan: NetworkPlan) -> dict[str, str]:
    """Whom a broker is told of when it begins."""
    if plan.settings.options.routing == "rendezvous":
        return contacts_of(name, plan.brokers)
    return neighbours_of(name, plan.edges, plan.brokers)


def settings_of(name: str, plan: NetworkPlan) -> Settings:
    """What one broker of the network is told: what all are, its own standby links, and of which kind its links are."""
    where = {broker.name: str(broker.listen) for broker in plan.brokers}
    ends = [other for one, other in (*plan.standby, *(edge[::-1] for edge in plan.standby)) if one == name]
    options = with_standby(plan.settings.options, {other: where[other] for other in ends})
    kinds = {b if a == name else a: kind for (a, b), kind in plan.kinds.items() if name in (a, b)}
    links = msgspec.structs.replace(options.links, kinds=options.links.kinds | kinds)
    options = msgspec.structs.replace(options, links=links)
    return msgspec.structs.replace(plan.settings, options=options, store=own_store(name, plan.settings.store))


def own_store(name: str, store: StoreSection) -> StoreSection:
    """One broker's file in the directory that a network is given."""
    return StoreSection(path=str(Path(store.path) / f"{name}.store")) if store.path else store


def _told(log: LogSection) -> LogSection:
    """Whoever looks after the network passes lines on to people, who want to hear of links rather than of clients."""
    form: Form = "human" if log.format == "auto" else log.format
    return LogSection(form, "notice" if log.level == "auto" else log.level)


def broker_command(broker: PlannedBroker, neighbours: dict[str, str], settings: Settings, state: Path) -> list[str]:
    settings = msgspec.structs.replace(settings, log=_told(settings.log))
    command = [sys.executable, "-m", "reknit", "broker", "--name", broker.name, "--until-stdin-closes"]
    command += ["--state", str(state)]
    for key in PLACES:
        command += [f"--{key}", str(getattr(broker, key))]
    for key, at in broker.more.items():
        command += [f"--{key}", str(at)]
    for peer, address in neighbours.items():
        command += ["--link", f"{peer}={address}"] if address else ["--expect", peer]
    return [*command, "--settings", msgspec.json.encode(settings).decode()]
