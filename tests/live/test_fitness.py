"""Whether a broker could run: what is refused before a port is bound, in the words that a configuration's look has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from reknit.core.broker import BrokerOptions
from reknit.core.ring.options import RingOptions
from reknit.live.address import Address
from reknit.live.config import MqttSection, Settings, StoreSection, TraceSection
from reknit.live.errors import ConfigError
from reknit.live.fitness import check_fit, check_ring
from reknit.live.tls import TlsSection

HERE, ELSEWHERE = Address("127.0.0.1", 7001), Address("0.0.0.0", 7001)
RING = BrokerOptions(routing="rendezvous", ring=RingOptions(id=5))
LOOSE = msgspec.convert({"links": {"loose": True}}, BrokerOptions)


@pytest.mark.parametrize(
    ("settings", "places", "why"),
    [
        (Settings(), {"listen": ELSEWHERE}, "broker b1: listen 0.0.0.0:7001: brokers would be reached without TLS"),
        (Settings(), {"listen": HERE, "relay": ELSEWHERE}, "broker b1: relay 0.0.0.0:7001: brokers would be reached"),
        (Settings(), {"admin": ELSEWHERE}, "broker b1: admin 0.0.0.0:7001: anybody could change the network"),
        (Settings(), {"mqtts": HERE}, "tls: `certificate` is needed"),
        (Settings(tls=TlsSection(link_authorities="a.pem")), {}, "tls: `certificate` is needed"),
        (Settings(options=LOOSE), {}, "options.links.loose needs options.links.retransmit_s"),
        (Settings(options=LOOSE, tls=TlsSection(link_authorities="a.pem")), {}, "datagrams are not in TLS"),
        (Settings(mqtt=MqttSection(receive_maximum=0)), {}, "mqtt: receive_maximum must lie between"),
        (Settings(store=StoreSection("none/b1.store")), {}, "/none/b1.store: there is no directory "),
        (Settings(store=StoreSection("there")), {}, "/there: this is a directory; a broker's store is a file"),
        (Settings(store=StoreSection("b1.store"), options=RING), {}, "a broker that routes by rendezvous has no store"),
        (Settings(trace=TraceSection("file/trace")), {}, "/file is no directory that can be written to"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, places: dict[str, Address], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("file").touch()
    with pytest.raises(ConfigError) as caught:
        check_fit("b1", settings, places)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_there_yet_is_not_made(tmp_path: Path) -> None:
    store, trace = StoreSection(str(tmp_path / "b1.store")), TraceSection(str(tmp_path / "a" / "trace"))
    settings = Settings(store=store, trace=trace, tls=TlsSection(plain_links=True))
    check_fit("b1", settings, {"listen": ELSEWHERE, "relay": ELSEWHERE, "mqtt": ELSEWHERE, "admin": HERE}).close()
    assert list(tmp_path.iterdir()) == []


def test_no_two_brokers_are_told_one_place_of_the_ring() -> None:
    check_ring(Settings(options=RING), 1)
    with pytest.raises(ConfigError, match=r"options\.ring\.id: 3 brokers would be at one place of the ring"):
        check_ring(Settings(options=RING), 3)
