"""``reknit top``: rates from two looks, and what a network that runs shows."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from reknit.cli._top import BrokerRow, LinkRow, Look, broker_rows, link_rows

COUNTED = {
    "shell": {"turns": 100},
    "mqtt": {
        "clients": 2,
        "sessions": 3,
        "received": {"Publish": 10},
        "sent": {},
        "bytes_received": 1000,
        "bytes_sent": 0,
        "dropped": {"expired": 1},
    },
    "queued": 4,
    "turn_p50_s": 0.001,
}


def counted(**mqtt: Any) -> dict[str, Any]:
    return {**COUNTED, "shell": {"turns": 160}, "mqtt": {**COUNTED["mqtt"], **mqtt}}  # type: ignore[dict-item]


def test_rates_are_those_between_two_looks() -> None:
    topology = {"waiting_for": {}, "neighbours": {}}
    later = counted(received={"Publish": 30}, sent={"Publish": 8}, dropped={"expired": 1, "queue full": 4})
    before, after = Look("b1", 10.0, topology, COUNTED), Look("b1", 12.0, topology, later)
    (row,) = broker_rows([before], [after])
    assert row == BrokerRow("b1", "ready", 2, 3, 10.0, 4.0, 0.0, 0.0, 2.0, 4, 30.0, 0.001)
    (first,) = broker_rows([], [after])
    assert (first.in_per_s, first.turns_per_s) == (0.0, 0.0)
    (anew,) = broker_rows([Look("b1", 10.0, topology, later)], [Look("b1", 11.0, topology, COUNTED)])
    assert anew.in_per_s == 0.0  # it was restarted in between


def test_who_does_not_answer_and_who_waits() -> None:
    waits = Look("b2", 1.0, {"waiting_for": {"b3": "refused"}, "neighbours": {}}, COUNTED)
    rows = broker_rows([], [Look("b1", 1.0, None, None), waits])
    assert [row.state for row in rows] == ["no answer", "waiting for b3"]


def test_a_link_is_up_where_both_ends_say_so() -> None:
    def look(name: str, **links: tuple[bool, int]) -> Look:
        said = {peer: {"up": up, "outbox_bytes": size} for peer, (up, size) in links.items()}
        return Look(name, 1.0, {"waiting_for": {}, "neighbours": said}, COUNTED)

    found = link_rows([look("b2", b1=(True, 3), b3=(True, 0)), look("b1", b2=(False, 4)), look("b3", b2=(True, 0))])
    assert found == [LinkRow("b1", "b2", False, 7), LinkRow("b2", "b3", True, 0)]


def test_a_network_that_runs(reknit: Callable[..., Any], network: Any) -> None:
    done = threading.Event()

    def publish() -> None:
        while not done.is_set():
            words = [sys.executable, "-m", "reknit", "pub", "-p", str(network.base_port), "-t", "top/x", "-l"]
            subprocess.run(words, input=b"x\n" * 500, check=True)

    publishing = threading.Thread(target=publish)
    publishing.start()
    try:
        said = reknit("top", "--once", "--json", "--interval", "3")
    finally:
        done.set()
        publishing.join()
    assert said.code == 0
    assert [each["broker"] for each in said.json["brokers"]] == ["b1", "b2", "b3"]
    assert said.json["brokers"][0]["in_per_s"] > 0
    assert [(each["a"], each["b"], each["up"]) for each in said.json["links"]] == [
        ("b1", "b2", True),
        ("b2", "b3", True),
    ]
    table = reknit("top", "--once", "--interval", "0.1").out
    assert table.split()[:3] == ["broker", "state", "clients"]
    assert "b1 - b2  up" in table


def test_live_on_a_terminal(network: Any) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reknit", "top", "--interval", "0.1"]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "150", "LINES": "40"}
    process = subprocess.Popen(command, cwd=network.directory, stdout=theirs, stderr=theirs, env=environ)
    shown, until = b"", time.monotonic() + 30
    while shown.count(b"b2 - b3") < 2 and time.monotonic() < until:
        if select.select([ours], [], [], 0.5)[0]:
            shown += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    os.close(ours)
    os.close(theirs)
    assert shown.count(b"b2 - b3") >= 2


def test_bad_input_and_silence(reknit: Callable[..., Any]) -> None:
    assert reknit("top", "--json").code == 2
    said = reknit("top", "--once", "--interval", "0.1", "--admin", "http://127.0.0.1:1", "--json")
    assert said.code == 1
    assert said.json["brokers"][0]["state"] == "no answer"
