"""``reknit peer``: processes that find each other, and bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.cli.peer import _options

PEER = [sys.executable, "-m", "reknit", "peer"]


def test_two_processes_and_one_that_only_publishes(reknit: Callable[..., Any], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("between us only\n")
    common = ["--secret-file", str(secret)]
    words = [*PEER, "--topic", "soccer/italy", "--topic", "soccer", "--json", "-C", "1", *common]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as fan:
        assert fan.stdout is not None
        assert fan.stderr is not None
        address = fan.stderr.readline().split()[-1]
        said = reknit("peer", "--publish", "soccer/italy", "-m", "a goal", "--contact", address, *common)
        assert (said.code, said.out) == (0, "")
        event = json.loads(fan.stdout.readline())
        assert (event["topic"], event["payload"]) == ("soccer/italy", "a goal")
        counters = json.loads(fan.stderr.read())["counters"]
        assert counters["datagrams_in"] > 0
        assert "failures" not in counters
        assert fan.wait(30) == 0


def test_one_that_is_alone_has_its_own_events(reknit: Callable[..., Any]) -> None:
    said = reknit("peer", "--topic", "t", "--publish", "t", "-m", "x", "-C", "1", "-v", "-s", "n IS NULL")
    assert (said.code, said.out) == (0, "t x\n")
    assert said.err.splitlines()[-1].startswith("counted: unanswered ")
    said = reknit("peer", "--topic", "t", "-C", "1", "-W", "0.1")
    assert (said.code, said.err.splitlines()[-1]) == (1, "reknit: peer: 0 of 1 events within 0.1 s")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "name a topic"),
        (["--topic", "a/+"], "the wildcard '+' is for filters only"),
        (["--topic", "t", "-s", "n >> 1"], "bad selector"),
        (["--topic", "t", "-m", "x"], "give both or none"),
        (["--topic", "a", "--parent", "a=b", "--parent", "b=a"], "a topic cannot be above itself"),
        (["--topic", "a", "--parent", "a"], "is no TOPIC=PARENT"),
        (["--topic", "a", "--membership", "chance"], "it is one of"),
        (["--topic", "a", "-o", "q=1"], "is no [TOPIC:]NAME=VALUE"),
        (["--topic", "a", "-o", "b:z=x"], "z cannot be 'x'"),
        (["--topic", "a", "-o", "b:z=100"], "z of b: it is from 1 to 64"),
        (["--topic", "a", "-o", "scamp.lease_s=soon"], "scamp.lease_s cannot be 'soon'"),
        (["--topic", "a", "-o", "b:supers.check_s=-1"], "supers.check_s of b: it is 0 or more"),
        (["--topic", "a", "-o", "scamp=1"], "is no [TOPIC:]NAME=VALUE"),
        (["--topic", "a", "-o", "membership=chance"], "it is one of"),
        (["--topic", "a", "--contact", "nobody"], "is no HOST:PORT"),
        (["--topic", "a", "--listen", "192.0.2.7:7400"], "need a secret"),
        (["--topic", "a", "--secret-file", "/nowhere"], "No such file"),
        (["--publish", "a/#", "-m", "x"], "filters only"),
    ],
)
def test_bad_input_is_one_line(reknit: Callable[..., Any], words: list[str], error: str) -> None:
    said = reknit("peer", *words)
    assert said.code == 2
    assert error in said.err


def test_parameters_for_all_topics_and_for_one() -> None:
    options = _options([], "structured", ["c=2", "soccer/italy:g=9", "soccer/italy:publisher_forces_upward=true"])
    assert (options.topic.c, options.topic.g, options.topic.membership) == (2.0, 5.0, "structured")
    italy = options.of("soccer/italy")
    assert (italy.c, italy.g, italy.publisher_forces_upward) == (2.0, 9.0, True)


def test_every_parameter_of_a_topic_can_be_said() -> None:
    pairs = ["population=30", "seen_max=9", "scamp.heartbeat_s=2", "a/b:supers.search_fan=7", "a/b:scamp.copies=2"]
    options = _options([], "scamp", pairs)
    assert (options.topic.population, options.topic.seen_max, options.topic.scamp.heartbeat_s) == (30, 9, 2.0)
    assert (options.topic.scamp.copies, options.topic.supers.search_fan) == (1, 3)
    below = options.of("a/b")
    assert (below.population, below.scamp.heartbeat_s, below.scamp.copies, below.supers.search_fan) == (30, 2.0, 2, 7)
