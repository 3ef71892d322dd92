"""``reknit topology``."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from reknit.cli.topology import edges_of
from reknit.live.address import free_ports
from reknit.live.passwords import set_password
from reknit.live.statefile import STATE_FILE, BrokerState, NetworkState, write_state


def test_the_tree_and_its_json(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("topology")
    lines = [line.partition("  mqtt")[0] for line in said.out.splitlines()]
    assert lines == ["b1", "└── b2", "    └── b3"]
    document = reknit("topology", "--json").json
    assert document["links"] == [{"a": "b1", "b": "b2", "up": True}, {"a": "b2", "b": "b3", "up": True}]
    assert [broker["name"] for broker in document["brokers"]] == ["b1", "b2", "b3"]


def test_one_broker_by_its_operators_door(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("topology", "--admin", network.state["brokers"][0]["admin"] + "/", "--json")
    assert said.json["links"] == [{"a": "b1", "b": "b2", "up": True}]
    drawn = reknit("topology", "--admin", network.state["brokers"][0]["admin"])
    assert drawn.code == 0
    assert drawn.err == "not asked, nor what is behind: b2; give an --admin for each\n"


def test_a_broker_that_does_not_answer_is_marked_and_hides_no_other(
    reknit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """b2 is dead: its door is one that nobody serves."""
    with Doors({"b1": {"b2": {"up": False, "last": "closed by b2"}}, "b3": {"b2": {"up": True}}}) as doors:
        urls = {**doors.urls, "b2": "http://127.0.0.1:1"}
        brokers = [
            BrokerState(name=name, pid=1, mqtt="h:1", listen="h:2", admin=urls[name]) for name in ("b1", "b2", "b3")
        ]
        write_state(tmp_path / STATE_FILE, NetworkState(pid=os.getpid(), brokers=brokers))
        monkeypatch.chdir(tmp_path)
        said = reknit("topology")
        document = reknit("topology", "--json")
        routes = reknit("verify-routes")
        counters = reknit("counters")
    assert said.code == document.code == routes.code == counters.code == 1
    assert said.out.splitlines() == [
        "b1  mqtt h:1",
        "└── b2  (does not answer)  (link down: closed by b2)",
        "    └── b3  mqtt h:1",
    ]
    assert said.err.startswith("reknit: b2 (http://127.0.0.1:1): no answer from this broker (")
    assert (said.err.count("\n"), routes.err) == (1, said.err)
    assert document.json["silent"] == ["b2"]
    assert [line for line in counters.out.splitlines() if not line.startswith(" ")] == ["b1", "b3"]


class Doors:
    """Operators' doors that say what the test wants, by broker and its neighbours."""

    def __init__(self, neighbours: dict[str, dict[str, Any]]) -> None:
        self._servers = []
        self.urls = {}
        for name, others in neighbours.items():
            server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(name, others))
            self._servers.append(server)
            self.urls[name] = f"http://127.0.0.1:{server.server_port}"

    def __enter__(self) -> Doors:
        self._threads = [Thread(target=each.serve_forever, args=[0.01]) for each in self._servers]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def _handler(name: str, neighbours: dict[str, Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"name": name, "mqtt": "h:1", "neighbours": neighbours}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def test_a_link_is_up_if_both_ends_say_so() -> None:
    one = {"name": "a", "neighbours": {"b": {"up": True}, "c": {"up": True}}}
    other = {"name": "b", "neighbours": {"a": {"up": False}}}
    assert edges_of([one, other]) == [{"a": "a", "b": "b", "up": False}, {"a": "a", "b": "c", "up": True}]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ([], 2, "no network here: there is no reknit.network.json"),
        (["--admin", "nowhere"], 2, "--admin: 'nowhere' is no URL"),
        (["--admin", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1: no answer from this broker"),
    ],
)
def test_bad_input_and_failure(
    reknit: Callable[..., Any], monkeypatch: Any, tmp_path: Path, words: list[str], code: int, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = reknit("topology", *words)
    assert (said.code, said.err.count("\n")) == (code, 1)
    assert line in said.err


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    """The operators' door of a broker that asks who comes."""
    set_password(tmp_path / "passwords", "ann", "s3cret")
    (tmp_path / "token").write_text("a-token-of-its-own\n")
    (tmp_path / "b1.toml").write_text(
        f'[access]\npasswords = "{tmp_path}/passwords"\noperators = ["ann"]\noperator_token = "{tmp_path}/token"\n'
    )
    ports = free_ports("127.0.0.1", 3)
    words = ["broker", "--name", "b1", "--config", str(tmp_path / "b1.toml"), "--until-stdin-closes"]
    for key, port in zip(("mqtt", "listen", "admin"), ports, strict=True):
        words += [f"--{key}", f"{'127.1' if key == 'admin' else '127.0.0.1'}:{port}"]
    with subprocess.Popen([sys.executable, "-m", "reknit", *words], stdin=subprocess.PIPE) as process:
        try:
            _until_alive(f"http://127.0.0.1:{ports[2]}")
            yield f"127.0.0.1:{ports[2]}"
        finally:
            process.terminate()


def _until_alive(url: str) -> None:
    while True:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"{url}/healthz", trust_env=False).raise_for_status()
            return
        time.sleep(0.05)


def test_an_operator_shows_who_he_is_by_url_file_or_environment(
    reknit: Callable[..., Any], guarded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://{guarded}"
    refused = reknit("topology", "--admin", url)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "--operator-file" in refused.err
    wrong = reknit("topology", "--admin", f"http://ann:wrong-one@{guarded}")
    assert wrong.code == 1
    assert "wrong-one" not in wrong.err + wrong.out
    good = reknit("topology", "--admin", f"http://ann:s3cret@{guarded}")
    assert good.code == 0
    for word in ("a-token-of-its-own", "ann:s3cret"):
        (tmp_path / "word").write_text(f"{word}\n")
        assert reknit("--operator-file", str(tmp_path / "word"), "topology", "--admin", url).out == good.out
        assert reknit("topology", "--admin", url).code == 1
        monkeypatch.setenv("REKNIT_OPERATOR_FILE", str(tmp_path / "word"))
        assert reknit("topology", "--admin", url).out == good.out
        monkeypatch.delenv("REKNIT_OPERATOR_FILE")
        monkeypatch.setenv("REKNIT_OPERATOR", word)
        assert reknit("topology", "--admin", url).out == good.out
        monkeypatch.delenv("REKNIT_OPERATOR")


def test_a_file_for_operators_that_is_none_is_bad_input(reknit: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name in ("empty", "missing"):
        said = reknit("--operator-file", str(tmp_path / name), "topology", "--admin", "http://127.0.0.1:1")
        assert (said.code, said.err.count("\n")) == (2, 1)
