"""``reknit pub``, heard by a client."""

from __future__ import annotations

import asyncio
import io
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from reknit.cli._problem import BadInput
from reknit.cli.pub import read_attribute
from reknit.client import Event, connect


def heard_at(port: int, topic: str, count: int, publish: Callable[[], Any]) -> list[Event]:
    """What a client hears after ``publish``, which may block."""

    async def run() -> list[Event]:
        async with connect("127.0.0.1", port) as client, client.subscribe(topic) as events:
            await asyncio.to_thread(publish)
            return [await anext(events) for _ in range(count)]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("n=3", ("n", 3)),
        ("n=-2.5", ("n", -2.5)),
        ("n=true", ("n", True)),
        ('n="3"', ("n", "3")),
        ("n=eu", ("n", "eu")),
        ("n=", ("n", "")),
        ("n=a=b", ("n", "a=b")),
    ],
)
def test_an_attribute_has_the_type_that_it_has_in_json(text: str, attribute: tuple[str, object]) -> None:
    assert read_attribute(text) == attribute
    assert type(read_attribute(text)[1]) is type(attribute[1])


@pytest.mark.parametrize("text", ["n", "=3", "n=null", "n=[1]"])
def test_what_is_no_attribute(text: str) -> None:
    with pytest.raises(BadInput, match="--attribute"):
        read_attribute(text)


def test_an_event_with_attributes_by_the_name_of_a_broker(reknit: Callable[..., Any], network: Any) -> None:
    words = ["pub", "--broker", "b1", "-t", "pub/one", "-m", "jam", "-a", "severity=4", "-a", "region=eu", "-q", "1"]
    codes: list[int] = []
    (event,) = heard_at(network.base_port, "pub/one", 1, lambda: codes.append(reknit(*words).code))
    assert codes == [0]
    assert (event.payload, event.attributes) == (b"jam", {"severity": 4, "region": "eu"})


def test_one_event_for_each_line(reknit: Callable[..., Any], network: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("first\n\nlast"))
    words = ["pub", "-p", str(network.base_port), "-t", "pub/lines", "-l"]
    events = heard_at(network.base_port, "pub/lines", 3, lambda: reknit(*words))
    assert [event.payload for event in events] == [b"first", b"", b"last"]


def test_a_mosquitto_client_is_heard_as_well(network: Any) -> None:
    if shutil.which("mosquitto_pub") is None:
        pytest.skip("mosquitto_pub is not installed")
    words = ["mosquitto_pub", "-p", str(network.base_port), "-V", "5", "-t", "pub/m", "-m", "hi"]
    words += ["-D", "publish", "user-property", "n", "3"]
    (event,) = heard_at(network.base_port, "pub/m", 1, lambda: subprocess.run(words, check=True))
    assert (event.payload, event.attributes) == (b"hi", {"n": "3"})


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["-t", "x"], 2, "give a message with -m, -f FILE, -s (the input) or -n"),
        (["-t", "x", "-m", "x", "-l"], 2, "give a message with -m, -f FILE, -s (the input) or -n"),
        (["-t", "x", "-m", "x", "-a", "n"], 2, "--attribute: 'n' is no NAME=VALUE"),
        (["-t", "x", "-m", "x", "-a", f"n={2**63}"], 2, "does not fit into 64 bits"),
        (["-t", "x/#", "-m", "x"], 2, "the wildcard '#' is for filters only"),
        (["-t", "$SYS/x", "-m", "x", "-q", "1"], 2, "pub: refused: $SYS/x: Not authorized"),
        (["-t", "x", "-m", "x", "-a", "reknit-types=x"], 2, "is taken"),
        (["-t", "x", "-m", "x", "-p", "70000"], 2, "-p: 70000 is no port"),
        (["-t", "x", "-m", "x", "--broker", "b9"], 2, "no broker 'b9' in this network; known: b1, b2, b3"),
        (["-t", "x", "-m", "x", "--broker", "b1", "-p", "1"], 2, "leave out -h and -p"),
        (["-t", "x", "-m", "x", "-p", "1"], 1, "127.0.0.1:1: "),
    ],
)
def test_bad_input_and_failure(
    reknit: Callable[..., Any], network: Any, words: list[str], code: int, line: str
) -> None:
    if "-p" not in words and "--broker" not in words:
        words = [*words, "--broker", "b1"]
    said = reknit("pub", *words)
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert line in said.err
