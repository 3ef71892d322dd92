"""mosquitto's letters: a command does the same with mosquitto's clients and with ours, at a broker of either kind."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reknit.live.address import free_ports
from tests.ports import until_open

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
CLIENTS = shutil.which("mosquitto_sub")
pytestmark = pytest.mark.skipif(not MOSQUITTO or not CLIENTS, reason="mosquitto is not installed")

LIMIT_S = 20
VARYING = [(r"20\d\d-\d\d-\d\dT[\d:.]+Z?[+-]\d{4}", "MOMENT"), (r"\d{10}\.\d{9}", "UNIX"), (r"N\d{9}N", "NANO")]
_names = count(1)


@pytest.fixture(scope="session")
def mosquitto_port() -> Iterator[int]:
    port = free_ports("127.0.0.1", 1)[0]
    assert MOSQUITTO is not None
    process = subprocess.Popen([MOSQUITTO, "-p", str(port)], stderr=subprocess.DEVNULL)
    until_open(port, process)
    yield port
    process.terminate()
    process.wait(timeout=LIMIT_S)


@pytest.fixture(scope="session")
def ours_port(networks: Callable[..., Any]) -> int:
    """A network of their own: sessions that stay would change what other tests count."""
    network = networks()
    network.until_ready()
    return int(network.base_port)


@dataclass(frozen=True)
class Bench:
    """One broker, and both families of clients."""

    port: int
    reknit: Callable[..., Any]

    def theirs(self, verb: str, *words: str, given: bytes = b"") -> tuple[int, bytes]:
        command = [f"mosquitto_{verb}", "-p", str(self.port), *words]
        ran = subprocess.run(command, input=given, capture_output=True, timeout=LIMIT_S, check=False)
        return ran.returncode, ran.stdout

    def ours(self, verb: str, *words: str) -> tuple[int, bytes]:
        """In this process, so that it is quick."""
        said = self.reknit(verb, "-p", str(self.port), *words)
        return said.code, os.fsencode(said.out)

    def heard(self, publish: Callable[[], None], topic: str, *words: str) -> tuple[bytes, bytes]:
        """What both hear of the same, each in a session that it left behind and came back to: -c, -i, -x, -E, -W."""
        name = f"letters{next(_names)}"
        stay = ["-V", "5", "-c", "-x", "100", "-q", "2", "-t", topic]
        subscribe = [word for at in range(len(words)) if words[at] == "-D" for word in words[at : at + 4]]
        assert self.theirs("sub", "-i", f"{name}m", *stay, *subscribe, "-E")[0] == 0
        assert self.ours("sub", "-i", f"{name}r", *stay, *subscribe, "-E")[0] == 0
        publish()
        theirs = self.theirs("sub", "-i", f"{name}m", *stay, *words)
        ours = self.ours("sub", "-i", f"{name}r", *stay, *words)
        assert (theirs[0], ours[0]) == (0, 0)
        return plain(theirs[1]), plain(ours[1])


def plain(out: bytes) -> bytes:
    text = out.decode(errors="surrogateescape")
    for varying, name in VARYING:
        text = re.sub(varying, name, text)
    return text.encode(errors="surrogateescape")


@pytest.fixture(params=["mosquitto", "reknit"])
def bench(request: pytest.FixtureRequest, reknit: Callable[..., Any], ours_port: int, mosquitto_port: int) -> Bench:
    return Bench(mosquitto_port if request.param == "mosquitto" else ours_port, reknit)


def topic() -> str:
    return f"letters/{next(_names)}"


RICH = ["-q", "1", "-D", "publish", "content-type", "text/plain", "-D", "publish", "correlation-data", 'c"d']
RICH += ["-D", "publish", "payload-format-indicator", "1", "-D", "publish", "response-topic", "r/t"]
RICH += ["-D", "publish", "user-property", "k", "v", "-D", "publish", "user-property", "k2", "v 2"]

FORMATS = [
    "%t|%10t|%-40t|%3.3t|%.5t",
    "%p|%8p|%-8p|%08p|%x|%8x|%08x|%12x|%X|%-30X",
    "%l|%05l|%5l|%-5l|%m|%3m|%q|%5q|%r",
    "%A|%4A|%C|%12C|%-12C|%6.2C|%D|%E|%6E|%06E|%F|%3F|%03F|%R|%6R|%S|%3S|%P",
    r"%%|@@|@Y|@j|\\|\t|\e|\a|\r|\n|é",
    "%I|%40I|%-40I|%U|N@NN",
]


@pytest.mark.parametrize("form", FORMATS)
def test_formats(bench: Bench, form: str) -> None:
    where = topic()

    def publish() -> None:
        bench.theirs("pub", "-V", "5", "-t", f"{where}/a", "-m", "hello")
        bench.theirs("pub", "-V", "5", "-t", f"{where}/b", "-m", '{"x": 1.50, "y":[1,2]}', *RICH)
        bench.theirs("pub", "-V", "5", "-t", f"{where}/c", "-q", "2", "-n")
        bench.theirs("pub", "-V", "5", "-t", f"{where}/d", "-q", "1", "-m", "x", "-r")

    theirs, ours = bench.heard(publish, f"{where}/#", "-C", "4", "-F", form)
    assert theirs.count(b"\n") >= 4  # nothing of QoS 0 is kept, and what is retained comes behind all else once more
    # A message of QoS 2 comes when it is released, so one behind it may come before it.
    assert sorted(ours.split(b"\n")) == sorted(theirs.split(b"\n"))


@pytest.mark.parametrize("form", ["%j", "%J"])
@pytest.mark.parametrize("pretty", [False, True])
def test_json(bench: Bench, form: str, pretty: bool) -> None:
    """Properties come in the order of the packet with one client, and in that of their numbers with the other."""
    where = topic()

    def publish() -> None:
        bench.theirs("pub", "-V", "5", "-t", f"{where}/b", "-m", '{"x": 1.50, "y":[1,"ü",null,1e30], "z":{}}', *RICH)
        bench.theirs("pub", "-V", "5", "-t", f"{where}/c", "-q", "2", "-n")
        bench.theirs("pub", "-V", "5", "-t", f"{where}/d", "-q", "1", "-s", given=b'"a\\u0007\\"\\\\b/"')

    words = ["-C", "3", "-F", form, *(["--pretty"] if pretty else [])]
    theirs, ours = bench.heard(publish, f"{where}/#", *words, "-D", "subscribe", "subscription-identifier", "7")
    lines = rb"\n(?=\{)" if pretty else rb"\n"
    found = [sorted(re.split(lines, each.strip()), key=lambda one: json.loads(one)["topic"]) for each in (theirs, ours)]
    for one, other in zip(*found, strict=True):
        assert json.loads(other) == json.loads(one)
        assert list(json.loads(other)) == list(json.loads(one))
        assert sorted(other.split(b",")) == sorted(one.split(b",")) or b"properties" in one
    assert theirs.count(b"\n") == ours.count(b"\n")


@pytest.mark.parametrize("words", [[], ["-v"], ["-N"], ["-v", "-N"], ["-T", "letters/+/b"], ["-v", "-F", "%p"]])
def test_plain_output(bench: Bench, words: list[str]) -> None:
    where = topic()

    def publish() -> None:
        bench.theirs("pub", "-t", f"{where}/a", "-q", "1", "-s", given=b"a\0\n\tb")
        bench.theirs("pub", "-t", f"{where}/b", "-q", "1", "-m", "two")
        bench.theirs("pub", "-t", f"{where}/c", "-q", "2", "-n")
        bench.theirs("pub", "-t", f"{where}/d", "-q", "1", "-m", "four")

    left_out = 1 if "-T" in words else 0
    theirs, ours = bench.heard(publish, f"{where}/#", "-C", str(4 - left_out), *words)
    end = b"\n" if "-N" not in words else b"letters"
    assert sorted(ours.split(end)) == sorted(theirs.split(end))
    assert b"four" in ours


def test_a_payload_is_printed_as_it_is(bench: Bench) -> None:
    where = topic()
    bench.theirs("pub", "-t", where, "-q", "1", "-r", "-s", given=bytes(range(256)))
    command = [sys.executable, "-m", "reknit", "sub", "-p", str(bench.port), "-t", where, "-C", "1"]
    ran = subprocess.run(command, capture_output=True, timeout=LIMIT_S)
    assert ran.stdout == bytes(range(256)) + b"\n" == bench.theirs("sub", "-t", where, "-C", "1")[1]


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "one"],
        ["-m", "one", "-q", "1"],
        ["-m", "one", "-q", "2", "-V", "311"],
        ["-n", "-q", "1"],
        ["-f", "payload"],
        ["-s"],
        ["-l", "-q", "1"],
        ["-m", "x", "-q", "1", "--repeat", "3", "--repeat-delay", "0.01"],
        ["-m", "x", "-V", "mqttv5", *RICH],
        ["-m", "x", "-k", "20", "-I", "prefix", "-M", "3", "--nodelay", "-A", "127.0.0.1", "-q", "1"],
        ["-m", "x", "-D", "publish", "message-expiry-interval", "100", "-V", "5", "-q", "1"],
    ],
)
def test_both_publish_the_same(bench: Bench, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, given = topic(), b"line one\nline two"
    monkeypatch.chdir(tmp_path)
    Path("payload").write_bytes(b"of\0a file\xff")
    form = "%q %r %l %x %C %D %F %R %P"

    def heard(publish: Callable[[], Any]) -> bytes:
        name = f"hears{next(_names)}"
        stay = ["-V", "5", "-c", "-x", "100", "-i", name, "-q", "2", "-t", where]
        bench.theirs("sub", *stay, "-E")
        assert publish()[0] == 0
        bench.theirs("pub", "-t", where, "-q", "1", "-m", "END")
        lines = b""
        while b"454e44" not in lines:
            lines += bench.theirs("sub", *stay, "-C", "1", "-F", form)[1]
        return lines

    theirs = heard(lambda: bench.theirs("pub", "-t", where, *words, given=given))
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        ours = heard(lambda: bench.ours("pub", "-t", where, *words))
    assert ours == theirs


def test_what_is_retained(bench: Bench) -> None:
    where = topic()
    assert bench.ours("pub", "-t", f"{where}/a", "-m", "one", "-r", "-q", "1")[0] == 0
    assert bench.ours("pub", "-t", f"{where}/b", "-m", "two", "-r", "-q", "1")[0] == 0
    for words in (["-C", "2", "-F", "%t %r"], ["-C", "1", "-t", f"{where}/b"], ["-R", "-W", "1"]):
        theirs, ours = bench.theirs("sub", "-t", f"{where}/#", *words), bench.ours("sub", "-t", f"{where}/#", *words)
        assert sorted(ours[1].splitlines()) == sorted(theirs[1].splitlines())
    assert bench.ours("sub", "-t", f"{where}/a", "--remove-retained", "-C", "1")[1] == b"one\n"
    assert bench.theirs("sub", "-t", f"{where}/#", "-C", "1")[1] == b"two\n"
    assert bench.theirs("sub", "-t", f"{where}/a", "-W", "1")[1] == b""


def test_only_what_is_retained_until_something_new_comes(bench: Bench) -> None:
    where = topic()
    bench.theirs("pub", "-t", where, "-m", "old", "-r", "-q", "1")
    outputs: list[tuple[int, bytes]] = []
    reading = threading.Thread(target=lambda: outputs.append(bench.ours("sub", "-t", where, "--retained-only")))
    reading.start()
    while reading.is_alive():
        bench.theirs("pub", "-t", where, "-m", "new")
    assert outputs == [(0, b"old\n")]


def test_a_filter_that_is_ended(bench: Bench) -> None:
    where, name = topic(), f"ends{next(_names)}"
    stay = ["-c", "-x", "100", "-i", name, "-q", "1"]
    bench.ours("sub", *stay, "-t", f"{where}/a", "-t", f"{where}/b", "-E")
    assert bench.ours("sub", *stay, "-U", f"{where}/a", "-W", "0.2")[0] == 0
    for each in ("a", "b"):
        bench.theirs("pub", "-t", f"{where}/{each}", "-q", "1", "-m", each)
    assert bench.ours("sub", *stay, "-t", f"{where}/b", "-C", "1", "-v")[1] == f"{where}/b b\n".encode()


def test_a_url_has_it_all(bench: Bench) -> None:
    where = topic()
    url = f"mqtt://127.0.0.1:{bench.port}/{where}"
    assert bench.reknit("pub", "-L", url, "-m", "by url", "-r", "-q", "1").code == 0
    theirs = subprocess.run(["mosquitto_sub", "-L", url, "-C", "1", "-v"], capture_output=True, timeout=LIMIT_S)
    assert bench.reknit("sub", "-L", url, "-C", "1", "-v").out == theirs.stdout.decode() == f"{where} by url\n"


def test_a_will_comes_when_a_client_is_cut(bench: Bench) -> None:
    where, name = topic(), f"will{next(_names)}"
    stay = ["-V", "5", "-c", "-x", "100", "-i", name, "-q", "1", "-t", where]
    assert bench.ours("sub", *stay, "-E")[0] == 0
    will = ["--will-topic", where, "--will-payload", "gone", "--will-qos", "1", "--will-retain"]
    will += ["-D", "will", "user-property", "who", "me", "-t", f"{where}/x", "-d"]
    command = [sys.executable, "-m", "reknit", "sub", "-p", str(bench.port), *will]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    told = b""
    while b"SUBACK" not in told:
        told += process.stderr.readline()
    process.kill()
    process.communicate(timeout=LIMIT_S)
    assert bench.ours("sub", *stay, "-C", "1", "-F", "%p %q %P")[1] == b"gone 1 who:me\n"
    assert bench.theirs("sub", "-t", where, "-C", "1", "-F", "%p %r")[1] == b"gone 1\n"


@pytest.mark.parametrize("version", ["5", "311"])
@pytest.mark.parametrize("asker", ["ours", "theirs"])
def test_request_and_response(bench: Bench, version: str, asker: str) -> None:
    where, name = topic(), f"answers{next(_names)}"
    stay = ["-V", "5", "-c", "-x", "100", "-i", name, "-q", "1", "-t", f"{where}/ask"]
    bench.theirs("sub", *stay, "-E")
    answers: list[tuple[int, bytes]] = []
    words = ["-V", version, "-t", f"{where}/ask", "-e", f"{where}/answer", "-m", "what", "-q", "1", "-v"]
    asking = threading.Thread(target=lambda: answers.append(getattr(bench, asker)("rr", *words)))
    asking.start()
    request = bench.theirs("sub", *stay, "-C", "1", "-F", "%p %R")[1]
    bench.theirs("pub", "-t", f"{where}/answer", "-m", "this", "-q", "1")
    asking.join(LIMIT_S)
    assert request.decode() == (f"what {where}/answer\n" if version == "5" else "what \n")
    assert answers == [(0, f"{where}/answer this\n".encode())]


@pytest.mark.parametrize(
    ("verb", "words", "line"),
    [
        ("sub", ["-t", "x", "-F", "%Z"], "%Z stands for nothing"),
        ("sub", ["-t", "x", "-F", r"\q"], r"\q stands for nothing"),
        ("sub", ["-t", "x", "-F", "%5"], "ends within a mark"),
        ("sub", ["-t", "x", "-F", "@"], "ends within a mark"),
        ("sub", ["-t", "x", "-c"], "needs a client identifier"),
        ("sub", ["-t", "x", "-P", "secret"], "a password needs a user name"),
        ("sub", ["-t", "x", "-V", "4"], "'4' is no version"),
        ("sub", ["-t", "x", "-V", "311", "-s", "a > 1"], "no selectors"),
        ("sub", ["-t", "x", "-V", "311", "-x", "5"], "no session expiry"),
        ("sub", ["-t", "x", "-x", "soon"], "no number of seconds"),
        ("sub", ["-t", "x", "-D", "subscribe", "user-property", "a"], "-D takes COMMAND NAME VALUE"),
        ("sub", ["-t", "x", "-D", "greet", "content-type", "a"], "-D greet: there are connect"),
        ("sub", ["-t", "x", "-D", "connect", "colour", "a"], "-D connect colour: no property"),
        ("sub", ["-t", "x", "-D", "subscribe", "content-type", "a"], "no property of SUBSCRIBE"),
        ("sub", ["-t", "x", "-D", "connect", "receive-maximum", "a"], "'a' is no number"),
        ("sub", ["-t", "x", "-D", "connect", "receive-maximum", "70000"], "does not lie between 0 and 65535"),
        ("sub", ["-t", "x", "--will-payload", "a"], "--will-topic is missing"),
        ("sub", ["-t", "x", "--cafile", "/nowhere"], "TLS: No such file"),
        ("sub", [], "give a topic filter"),
        ("sub", ["-t", "x", "--json", "-v"], "leave out -v and -F"),
        ("pub", ["-m", "x"], "give a topic with -t"),
        ("pub", ["-t", "x", "-m", "x", "-f", "y"], "give a message with -m"),
        ("pub", ["-t", "x", "-f", "/nowhere"], "-f: /nowhere: No such file"),
        ("pub", ["-t", "x", "-m", "x", "-V", "311", "-a", "n=1"], "no attributes"),
        ("rr", ["-t", "x", "-m", "x"], "the response's with -e"),
        ("rr", ["-t", "x", "-e", "y"], "give a message with -m"),
    ],
)
def test_what_cannot_be_is_one_line(bench: Bench, verb: str, words: list[str], line: str) -> None:
    said = bench.reknit(verb, "-p", str(bench.port), *words)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert line in said.err
    assert "secret" not in said.err
    assert bench.reknit(verb, "-p", str(bench.port), "--quiet", *words).err == ""


@pytest.mark.parametrize("url", ["http://h/t", "mqtt://", "mqtt://h:x/t", "mqtt://u:secret@/t", "mqtt://h/"])
def test_what_is_no_url(reknit: Callable[..., Any], url: str) -> None:
    said = reknit("pub", "-L", url, "-m", "x")
    assert said.code == 2
    assert "mqtt(s)://" in said.err
    assert "secret" not in said.err


@pytest.mark.parametrize("verb", ["pub", "sub", "rr"])
def test_no_letter_is_missing_but_those_that_the_guide_names(reknit: Callable[..., Any], verb: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "from-mosquitto.md").read_text()
    missing = set(re.findall(r"`(-[\w-]+)`", page.split("- Not there: ")[1].split("\n")[0]))
    told = subprocess.run([f"mosquitto_{verb}", "--help"], capture_output=True, text=True, timeout=LIMIT_S).stdout
    theirs = set(re.findall(r"^ (--?[\w-]+) :", told, re.MULTILINE))
    ours = set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", reknit(verb, "--help").out))
    assert len(theirs) > 35
    assert theirs - ours <= missing
    assert not missing & ours
