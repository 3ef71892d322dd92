"""``reknit sub``, across brokers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest


def subscribed(network: Any, broker: int, client: str) -> bool:
    """Whether this client's subscription has reached every broker."""
    tables = [httpx.get(each["admin"] + "/table", trust_env=False).json() for each in network.state["brokers"]]
    topics = [entry["topic"] for entry in tables[broker]["entries"] if entry["hop"] == client]
    return bool(topics) and all(
        topic in [entry["topic"] for entry in table["entries"]] for table in tables for topic in topics
    )


class Sub:
    """A ``reknit sub`` that runs beside the test."""

    def __init__(self, network: Any, client: str, *words: str) -> None:
        words = ("sub", "--broker", "b3", "-i", client, *words)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reknit", *words], cwd=network.directory, stdout=subprocess.PIPE
        )
        while not subscribed(network, 2, client):
            assert self._process.poll() is None
            time.sleep(0.05)

    def end(self) -> tuple[int, str]:
        out, _ = self._process.communicate(timeout=30)
        return self._process.returncode, out.decode()


def test_events_by_content_from_another_broker(reknit: Callable[..., Any], network: Any) -> None:
    plain = Sub(network, "s1", "-t", "sub/#", "-s", "severity >= 3", "-C", "2")
    verbose = Sub(network, "s2", "-t", "sub/a", "-t", "sub/+", "-v", "-C", "3")
    as_json = Sub(network, "s3", "-t", "sub/b", "--json", "-C", "1")
    reknit("pub", "--broker", "b1", "-t", "sub/a", "-m", "one", "-a", "severity=3")
    reknit("pub", "--broker", "b1", "-t", "sub/a", "-m", "two", "-a", "severity=2")
    reknit("pub", "--broker", "b1", "-t", "sub/b", "-m", "drei ß", "-a", "severity=9")
    assert plain.end() == (0, "one\ndrei ß\n")
    code, out = as_json.end()
    assert code == 0
    assert json.loads(out) == {"topic": "sub/b", "attributes": {"severity": 9}, "qos": 0, "payload": "drei ß"}
    # An event that two filters ask for comes once.
    assert verbose.end() == (0, "sub/a one\nsub/a two\nsub/b drei ß\n")


def test_a_mosquitto_client_hears_a_python_one(reknit: Callable[..., Any], network: Any) -> None:
    if shutil.which("mosquitto_sub") is None:
        pytest.skip("mosquitto_sub is not installed")
    words = ["mosquitto_sub", "-p", str(network.base_port + 1), "-i", "m1", "-V", "5", "-t", "m/#", "-C", "1", "-v"]
    words += ["-D", "subscribe", "user-property", "selector", "n > 2"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    while not subscribed(network, 1, "m1"):
        time.sleep(0.05)
    reknit("pub", "--broker", "b3", "-t", "m/x", "-m", "low", "-a", "n=1")
    reknit("pub", "--broker", "b3", "-t", "m/x", "-m", "high", "-a", "n=3")
    out, _ = process.communicate(timeout=30)
    assert out == b"m/x high\n"


def test_events_that_do_not_come_in_time_are_a_failure(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("sub", "--broker", "b1", "-t", "sub/never", "-C", "2", "-W", "0.1")
    assert (said.code, said.err) == (1, "reknit: sub: 0 of 2 events within 0.1 s\n")
    assert reknit("sub", "--broker", "b1", "-t", "sub/never", "-W", "0.1").code == 0


def test_a_bad_pattern_is_shown_and_a_refusal_has_the_brokers_words(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("sub", "--broker", "b1", "-t", "x", "-s", "severity >>= 3")
    assert said.code == 2
    assert "sub: bad selector at line 1, column 11" in said.err
    assert said.err.endswith("\n  severity >>= 3\n            ^\n")
    said = reknit("sub", "--broker", "b1", "-t", "$share/g")
    why = "a shared subscription is written $share/group/filter, and the group without + or #"
    assert (said.code, said.err) == (2, f"reknit: sub: refused: {why}\n")
    assert reknit("sub", "--broker", "b1", "-t", "a/#/b").code == 2
    assert reknit("sub", "-p", "1", "-t", "x").code == 1
