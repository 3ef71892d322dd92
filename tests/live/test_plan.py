"""From a network's file to the brokers that will run."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import names, shape_edges
from reknit.live.address import Address
from reknit.live.config import (
    BrokerSection,
    NetworkFile,
    NetworkSection,
    Settings,
    StoreSection,
    convert_network,
    parse_settings,
)
from reknit.live.errors import PortTaken
from reknit.live.log import LogSection
from reknit.live.plan import PlannedBroker, broker_command, dialler, neighbours_of, plan_network, settings_of
from tests.ports import ports_in_a_row


def planned(name: str, port: int) -> PlannedBroker:
    here = "127.0.0.1"
    return PlannedBroker(name, Address(here, port), Address(here, port + 1000), Address(here, port + 2000))


@given(st.integers(2, 12), st.integers())
def test_each_link_is_known_to_both_ends_and_dialled_by_one(count: int, seed: int) -> None:
    brokers = [planned(name, 1 + place) for place, name in enumerate(names(count))]
    edges = shape_edges("random", names(count), random.Random(seed))
    known = {broker.name: neighbours_of(broker.name, edges, brokers) for broker in brokers}
    assert sum(map(len, known.values())) == 2 * len(edges)
    for a, b in edges:
        assert bool(known[a][b]) != bool(known[b][a])
        assert bool(known[a][b]) == (dialler(a, b) == a)


def test_what_the_file_leaves_open_is_chosen_and_no_port_twice() -> None:
    file = NetworkFile(broker=[BrokerSection(name="x", admin="127.0.0.1:0"), BrokerSection(name="y")])
    plan = plan_network(file)
    ports = [address.port for each in plan.brokers for address in (each.mqtt, each.listen, each.admin)]
    assert ports.pop(2) == 0
    assert len(set(ports)) == 5


def test_a_taken_port_is_found_before_anything_starts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        file = NetworkFile(network=NetworkSection(brokers=1, mqtt_base_port=port))
        with pytest.raises(PortTaken, match=f"127.0.0.1:{port} is taken; choose others"):
            plan_network(file)


def test_the_command_of_a_broker_says_all_that_it_needs() -> None:
    settings = Settings()
    command = broker_command(planned("b2", 5000), {"b1": "127.0.0.1:6001", "b3": ""}, settings, Path("/tmp/b2.json"))
    text = " ".join(command)
    assert "-m reknit broker --name b2" in text
    assert "--mqtt 127.0.0.1:5000 --listen 127.0.0.1:6000 --admin 127.0.0.1:7000" in text
    assert "--link b1=127.0.0.1:6001 --expect b3" in text
    assert "--state /tmp/b2.json" in text
    told = parse_settings(command[command.index("--settings") + 1])
    # Their lines are passed on to people, who hear of links, and not of each client, unless they have said otherwise.
    assert told.log == LogSection("human", "notice")
    assert msgspec.structs.replace(told, log=settings.log) == settings


def test_what_is_said_of_the_log_holds_for_brokers_of_a_network() -> None:
    wanted = LogSection("json", "debug")
    broker = PlannedBroker("b1", *(Address("127.0.0.1", port) for port in (1, 2, 3)))
    command = broker_command(broker, {}, Settings(log=wanted), Path("/tmp/b1.json"))
    assert parse_settings(command[command.index("--settings") + 1]).log == wanted


def test_links_that_were_checked_as_a_whole_are_not_searched_for_cycles() -> None:
    section = NetworkSection(brokers=3, mqtt_base_port=ports_in_a_row(3))
    assert plan_network(NetworkFile(network=section)).settings.options.founded


def test_each_broker_of_a_network_has_a_store_of_its_own(tmp_path: Path) -> None:
    file = NetworkFile(broker=[BrokerSection(name="x"), BrokerSection(name="y")], store=StoreSection(str(tmp_path)))
    plan = plan_network(file)
    assert [settings_of(name, plan).store.path for name in "xy"] == [f"{tmp_path}/x.store", f"{tmp_path}/y.store"]
    bare = plan_network(NetworkFile(broker=file.broker))
    assert settings_of("x", bare).store.path == ""


def test_each_end_of_a_link_is_told_its_kind() -> None:
    brokers = [{"name": name} for name in ("b1", "b2", "b3")]
    links = [{"a": "b1", "b": "b2", "kind": "datagram"}, {"a": "b2", "b": "b3"}]
    file = convert_network({"broker": brokers, "link": links, "options": {"links": {"retransmit_s": 0.1}}})
    plan = plan_network(file)
    kinds = {each.name: settings_of(each.name, plan).options.links.kinds for each in plan.brokers}
    assert kinds == {"b1": {"b2": "datagram"}, "b2": {"b1": "datagram"}, "b3": {}}
