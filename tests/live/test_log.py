"""The log: for people and for machines, by level, and what never stands in it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re

import pytest

from reknit.client import ConnectFailed, Terms, connect
from reknit.live.address import Address
from reknit.live.config import Settings, with_log
from reknit.live.errors import ConfigError
from reknit.live.log import Line, Log, LogSection
from reknit.live.process import BrokerPlan, broker_running

ANY = Address("127.0.0.1", 0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_for_people_on_a_terminal_and_json_elsewhere() -> None:
    for stream, form, human in (
        (Terminal(), "auto", True),
        (io.StringIO(), "auto", False),
        (Terminal(), "json", False),
        (io.StringIO(), "human", True),
    ):
        Log("b1", LogSection(format=form), stream)(Line("link to b2 is up", "link.up", peer="b2"))  # type: ignore[arg-type]
        said = stream.getvalue()
        assert said.count("\n") == 1
        if human:
            assert re.fullmatch(r"\d\d:\d\d:\d\d link to b2 is up\n", said)
            continue
        entry = json.loads(said)
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", entry.pop("time"))
        assert entry == {
            "level": "notice",
            "broker": "b1",
            "event": "link.up",
            "message": "link to b2 is up",
            "peer": "b2",
        }


def test_levels() -> None:
    for level, told in (("auto", 4), ("debug", 5), ("info", 4), ("notice", 3), ("warning", 2), ("error", 1)):
        stream = io.StringIO()
        log = Log("b1", LogSection(level=level), stream)  # type: ignore[arg-type]
        for each in ("debug", "info", "notice", "warning", "error"):
            log(Line("x", "x", each))  # type: ignore[arg-type]
        assert stream.getvalue().count("\n") == told


def test_a_failure_is_told_with_its_place_and_without_its_words() -> None:
    stream = io.StringIO()
    before = logging.getLogger().handlers
    with Log("b1", LogSection(), stream).taking_over():
        try:
            raise ValueError("opensesame")
        except ValueError:
            logging.getLogger("x").exception("it broke")
    assert logging.getLogger().handlers == before
    entry = json.loads(stream.getvalue())
    assert (entry["event"], entry["level"], entry["error"]) == ("failure", "error", "ValueError")
    assert "test_log.py" in entry["trace"][0]
    assert "opensesame" not in stream.getvalue()


def test_flags_win_and_a_bad_one_is_named() -> None:
    assert with_log(Settings(), "json", None).log == LogSection("json", "auto")
    assert with_log(Settings(), None, "error").log == LogSection("auto", "error")
    with pytest.raises(ConfigError, match="--log-level: 'loud' is none of auto, debug, info"):
        with_log(Settings(), None, "loud")


def test_each_client_is_told_and_no_password_and_no_payload() -> None:
    stream = io.StringIO()
    settings = Settings()

    async def run() -> None:
        plan = BrokerPlan("b1", ANY, ANY, settings=settings)
        async with broker_running(plan, Log("b1", LogSection(), stream)) as broker:
            terms = Terms(username="ann", password="opensesame")
            async with connect(*broker.mqtt, client_id="c1", terms=terms) as client:
                await client.publish("t", b"verysecret", qos=1, retain=True)
            with pytest.raises(ConnectFailed):
                async with connect(*broker.mqtt, client_id="x" * 300):
                    pass
            async with connect(*broker.mqtt, client_id="c2"):
                for each in broker.driver.clients.values():
                    each.transport.abort()
                while broker.driver.clients:  # noqa: ASYNC110  it is elsewhere
                    await asyncio.sleep(0.01)

    asyncio.run(run())
    said = stream.getvalue()
    assert "opensesame" not in said
    assert "verysecret" not in said
    entries = [json.loads(line) for line in said.splitlines()]
    about = [(each["event"], each.get("client"), each.get("reason")) for each in entries if "client." in each["event"]]
    assert about == [
        ("client.connected", "c1", None),
        ("client.disconnected", "c1", "DISCONNECT 0x00"),
        ("client.refused", None, "CLIENT_ID_NOT_VALID"),
        ("client.connected", "c2", None),
        ("client.disconnected", "c2", "the connection was lost"),
    ]
    assert all("127.0.0.1" in each["peer"] for each in entries if "client." in each["event"])
    assert {each["broker"] for each in entries} == {"b1"}
    assert entries[0]["event"] == "listening"


def test_a_log_that_nobody_reads_any_more_ends_nothing() -> None:
    stream = io.StringIO()
    log = Log("b1", LogSection(), stream)
    stream.close()
    log("into the void")
