"""The configuration's page: every key of every section with its default, and none that is not there; examples load."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reknit.core.book.options import BookOptions
from reknit.core.broker import BrokerOptions
from reknit.core.homes.options import HomeOptions
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.options import ChangeOptions, OverlayOptions, RepairOptions
from reknit.core.placement.options import PlacementOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.core.ring.options import RingOptions
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.options import ShareOptions
from reknit.live import config
from reknit.live.admin import PATHS
from reknit.live.communities import CommunitiesSection
from reknit.live.config import BrokerFile, NetworkFile, Settings, network_edges, read_network_file
from reknit.live.guard import AccessSection
from reknit.live.log import LogSection
from reknit.live.tls import TlsSection

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
SECTIONS: dict[str, Any] = {
    "[broker]": config.OwnSection,
    "[network]": config.NetworkSection,
    "[[link]]": config.LinkSection,
    "[options]": BrokerOptions,
    "[options.links]": LinkOptions,
    "[options.overlay]": OverlayOptions,
    "[options.sessions]": SessionOptions,
    "[options.homes]": HomeOptions,
    "[options.shares]": ShareOptions,
    "[options.changes]": ChangeOptions,
    "[options.repair]": RepairOptions,
    "[options.book]": BookOptions,
    "[options.recovery]": RecoveryOptions,
    "[options.ring]": RingOptions,
    "[options.placement]": PlacementOptions,
    "[mqtt]": config.MqttSection,
    "[access]": AccessSection,
    "[tls]": TlsSection,
    "[trace]": config.TraceSection,
    "[store]": config.StoreSection,
    "[bounds]": config.Bounds,
    "[communities]": CommunitiesSection,
    "[log]": LogSection,
}


def _default(field: msgspec.structs.FieldInfo) -> str:
    return json.dumps(field.default if field.default is not msgspec.NODEFAULT else field.default_factory())


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_is_there_with_its_default(section: str) -> None:
    text = PAGE.split(f"### `{section}`\n")[1].split("\n#")[0]
    shown = dict(re.findall(r"^\| `(\w+)` \|(?: `(.*?)`)? \| .+ \|$", text, re.MULTILINE))
    fields = msgspec.structs.fields(SECTIONS[section])
    tables = [key.split(".")[1].strip("]") for key in SECTIONS if "." in key] if section == "[options]" else []
    known = {each.name: "" if each.required else _default(each) for each in fields if each.name not in tables}
    assert shown == known


def test_no_section_is_left_out() -> None:
    keys = {each.name for kind in (Settings, BrokerFile, NetworkFile) for each in msgspec.structs.fields(kind)}
    assert [key for key in keys if f"[{key}]" not in PAGE] == []
    assert sorted(re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)) == sorted(SECTIONS)


def test_the_files_that_are_shown_load() -> None:
    broker, standby, network = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert msgspec.toml.decode(standby, type=BrokerFile).standby == {"b5": "127.0.0.1:7005"}
    assert msgspec.toml.decode(broker, type=BrokerFile).neighbours == {"b1": "127.0.0.1:7001", "b3": ""}
    assert len(network_edges(msgspec.toml.decode(network, type=NetworkFile))) == 4


def test_the_example_of_a_network_loads() -> None:
    assert len(network_edges(read_network_file(ROOT / "examples" / "network.toml"))) == 3


def test_the_operators_page_has_every_path_of_the_door() -> None:
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `((?:GET|POST|DELETE) .+?)` \|", page, re.MULTILINE) == list(PATHS)
