"""The log: for people and for machines, by level, and what never stands in it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable

import pytest

from reknit.client import ConnectFailed, Terms, connect
from reknit.live.address import Address
from reknit.live.config import Settings, with_log
from reknit.live.errors import ConfigError
from reknit.live.log import SAID_S, Line, Log, LogSection
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


class Slow(io.StringIO):
    """Counts how often somebody is woken."""

    flushes = 0

    def flush(self) -> None:
        self.flushes += 1


def test_lines_about_links_are_written_together_and_others_and_bad_news_at_once_behind_them() -> None:
    stream, due = Slow(), list[tuple[float, Callable[[], None]]]()
    log = Log("b1", LogSection(format="human"), stream, lambda wait_s, call: due.append((wait_s, call)))

    def said() -> list[str]:
        return [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]

    log(Line("one", "link.up"))
    log(Line("two", "link.moved"))
    assert (said(), [wait_s for wait_s, _ in due]) == ([], [SAID_S])
    due.pop()[1]()
    assert (said(), stream.flushes) == (["one", "two"], 1)
    log(Line("three", "link.up"))
    log(Line("four", "link.lost", "warning"))
    assert (said()[2:], stream.flushes) == (["three", "warning: four"], 2)
    log(Line("five", "link.up"))
    log(Line("six", "ready"))
    assert (said()[4:], stream.flushes) == (["five", "six"], 3)
    for _, flush in due:
        flush()
    assert stream.flushes == 3


def test_no_line_waits_when_the_log_is_left() -> None:
    stream, due = io.StringIO(), list[Callable[[], None]]()
    log = Log("b1", LogSection(), stream, lambda _, call: due.append(call))
    with log.taking_over():
        log(Line("one", "link.up"))
        assert stream.getvalue() == ""
    assert stream.getvalue().count("\n") == 1
    log(Line("two", "link.up"))
    assert stream.getvalue().count("\n") == 2
    due.pop()()
    assert stream.getvalue().count("\n") == 2


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
