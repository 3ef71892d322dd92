"""The service manager is told when a broker serves and when it ends; and SIGHUP reads the rules again."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reknit.live.address import free_ports
from reknit.live.notify import notify


def test_a_datagram_for_whoever_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notify("READY=1")
    for address in (str(tmp_path / "socket"), f"@reknit-test-{tmp_path.name}-{random.getrandbits(32)}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind("\0" + address[1:] if address.startswith("@") else address)
            sock.settimeout(10)
            monkeypatch.setenv("NOTIFY_SOCKET", address)
            notify("READY=1", "STATUS=well")
            assert sock.recv(100) == b"READY=1\nSTATUS=well"


def test_a_broker_tells_and_reads_its_rules_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mqtt, listen = free_ports("127.0.0.1", 2)
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nsubscribe = ["a"]\n')
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "socket"))
    monkeypatch.setenv("REKNIT__ACCESS__RULES", str(rules))
    words = ["--name", "b1", "--mqtt", f"127.0.0.1:{mqtt}", "--listen", f"127.0.0.1:{listen}"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "socket"))
        sock.settimeout(30)
        process = subprocess.Popen(
            [sys.executable, "-m", "reknit", "broker", *words], stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            assert sock.recv(200).decode() == f"READY=1\nSTATUS=mqtt at 127.0.0.1:{mqtt}"
            process.send_signal(signal.SIGHUP)
            lines = [json.loads(process.stderr.readline()) for _ in range(3)]
            (told,) = [line for line in lines if line["event"] == "access.reloaded"]
            assert (told["level"], told["users"], told["rules"]) == ("notice", None, 1)
            assert told["message"].endswith(" were read again: no file of users, 1 rules")
            rules.write_text("[[rule]]\nsubscribe = 3\n")
            process.send_signal(signal.SIGHUP)
            bad = json.loads(process.stderr.readline())
            assert (bad["event"], bad["level"]) == ("access.refused", "error")
            assert bad["message"].endswith("; the old ones hold")
            process.terminate()
            assert sock.recv(200) == b"STOPPING=1"
            told_often(process)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 0


def told_often(process: subprocess.Popen[str]) -> None:
    """Tell it to end until it has ended: whoever is told twice ends as one who is told once."""
    patience_s = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < patience_s:
        process.terminate()
        time.sleep(0.002)
