"""What is shipped to run reknit elsewhere, checked as far as this machine can, and with real brokers beyond that."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.cli import build_app, main
from reknit.live.address import free_ports
from reknit.live.check import check_values
from reknit.live.config import BrokerFile, read_broker_file

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "packaging" / "reknit@.service"
DOCKERFILE = (ROOT / "packaging" / "Dockerfile").read_text()
COMPOSE = (ROOT / "packaging" / "compose.yaml").read_text()
KEPT = "/var/lib/reknit"
"""Where the image keeps what is to last."""
LIMIT_S = 60


def check_command(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """The verb is one, and each of its flags is in its help."""
    verb, *rest = words
    assert verb in [each.name for each in (*build_app().registered_commands, *build_app().registered_groups)]
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    known = set(re.findall(r"--[a-z-]+", capfd.readouterr().out))
    assert {word for word in rest if word.startswith("--")} <= known


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(UNIT.read_text())
    return parser


def test_every_flag_of_the_unit_exists(capfd: pytest.CaptureFixture[str]) -> None:
    service = unit()["Service"]
    for key in ("ExecStartPre", "ExecStart"):
        program, *words = shlex.split(service[key])
        assert program == "/opt/reknit/bin/reknit"
        check_command(words, capfd)
    assert (service["Type"], service["Restart"], service["DynamicUser"]) == ("notify", "on-failure", "yes")
    words = shlex.split(service["ExecStart"])
    for flag, name in (("--state", "%i.json"), ("--store", "%i.store")):
        assert words[words.index(flag) + 1] == f"/var/lib/{service['StateDirectory']}/{name}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "reknit"
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/reknit/bin/reknit", str(program)))
    ran = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=LIMIT_S)
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if "reknit" in line]) == (0, [])


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", " ", DOCKERFILE)
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def test_the_image_runs_a_verb_as_nobody_in_particular(capfd: pytest.CaptureFixture[str]) -> None:
    last = dict(instructions())
    assert json.loads(last["ENTRYPOINT"]) == ["reknit"]
    check_command(json.loads(last["CMD"]), capfd)
    assert last["USER"].split(":")[0] not in ("0", "root")
    order = [name for name, _ in instructions()]
    assert order.index("USER") > max(place for place, name in enumerate(order) if name == "RUN")
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split())


def image_environment() -> dict[str, str]:
    return dict(re.findall(r"(REKNIT__\w+)=(\S+)", dict(instructions())["ENV"]))


def check_as_it_is(environ: dict[str, str], kept: Path) -> BrokerFile:
    """What a broker checks before it binds a port, with nothing changed but where this machine has its directory."""
    assert f"mkdir -p {KEPT} " in DOCKERFILE
    assert dict(instructions())["VOLUME"] == KEPT
    file = read_broker_file(None, {key: text.replace(f"{KEPT}/", f"{kept}/") for key, text in environ.items()})
    check_values(file)
    assert Path(file.store.path).parent == Path(file.broker.state).parent == kept
    return file


def test_the_images_settings_are_good_for_a_broker_as_they_are(tmp_path: Path) -> None:
    file = check_as_it_is({**image_environment(), "REKNIT__BROKER__NAME": "b1"}, tmp_path)
    assert (file.broker.mqtt, file.broker.admin) == ("0.0.0.0:1883", "127.0.0.1:8001")
    assert f"http://{file.broker.admin}/healthz" in DOCKERFILE
    assert file.broker.mqtt.rpartition(":")[2] == dict(instructions())["EXPOSE"]
    assert file.broker.listen == "127.0.0.1:7001"


def test_the_image_has_the_locked_versions() -> None:
    """By running its command: one line for each package that is locked."""
    (command,) = re.findall(r"RUN (sed .+?) > constraints.txt", DOCKERFILE)
    ran = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    locked = re.findall(r"^([A-Za-z0-9._-]+==[^\s;\\]+)", (ROOT / "requirements/lock.txt").read_text(), re.MULTILINE)
    assert ran.stdout.split() == locked
    assert any(each.startswith("msgspec==") for each in locked)


def services() -> dict[str, dict[str, str]]:
    """The environment of each; the file is ours, and plain."""
    found = COMPOSE.split("\nservices:\n")[1].split("\nvolumes:\n")[0]
    return {
        name: dict(re.findall(r'^      (REKNIT__\w+): "(.*)"$', text, re.MULTILINE))
        for name, text in re.findall(r"^  (\w+):\n((?:    .*\n)+)", found + "\n", re.MULTILINE)
    }


def test_the_settings_of_the_three_are_good_for_brokers_as_they_are(tmp_path: Path) -> None:
    for name, own in services().items():
        file = check_as_it_is({**image_environment(), **own}, tmp_path)
        assert (file.broker.name, file.broker.listen) == (name, f"{name}:7001")
        others = [f"{other}:7001" for other in services()]
        assert all(address in others for address in file.neighbours.values() if address)


def test_the_network_of_three_becomes_ready_and_carries_an_event(tmp_path: Path) -> None:
    """Each service's own settings over the image's, as processes here: only addresses differ."""
    image = image_environment()
    brokers = services()
    assert list(brokers) == ["b1", "b2", "b3"]
    ports = iter(free_ports("127.0.0.1", 9))
    where = {name: {key: f"127.0.0.1:{next(ports)}" for key in ("MQTT", "LISTEN", "ADMIN")} for name in brokers}
    running = []
    try:
        for name, own in brokers.items():
            (tmp_path / name).mkdir()
            environ = {key: text.replace(KEPT, str(tmp_path / name)) for key, text in {**image, **own}.items()}
            for key, text in environ.items():
                if key.startswith("REKNIT__NEIGHBOURS__") and text:
                    environ[key] = where[text.partition(":")[0]]["LISTEN"]
            environ |= {f"REKNIT__BROKER__{key}": at for key, at in where[name].items()}
            command = [sys.executable, "-m", "reknit", *json.loads(dict(instructions())["CMD"])]
            running.append(
                subprocess.Popen(command, env={**os.environ, **environ}, cwd=tmp_path, stderr=subprocess.DEVNULL)
            )
        for name in brokers:
            until(lambda name=name: _ready(where[name]["ADMIN"]))  # type: ignore[misc]
        assert _crosses(where["b1"]["MQTT"], where["b3"]["MQTT"]) == b"through\n"
        assert all((tmp_path / name / "broker.store").exists() for name in brokers)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=LIMIT_S)


def _ready(admin: str) -> bool:
    try:
        return httpx.get(f"http://{admin}/readyz", trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def until(done: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < limit
        time.sleep(0.05)


def _crosses(here: str, there: str) -> bytes:
    """What a late subscriber at the far end gets of what was retained at the near one."""

    def reknit(verb: str, at: str, *words: str) -> bytes:
        host, port = at.split(":")
        command: list[Any] = [sys.executable, "-m", "reknit", verb, "-h", host, "-p", port, "-t", "x", *words]
        return subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=True).stdout

    reknit("pub", here, "-m", "through", "-r", "-q", "1")
    return reknit("sub", there, "-C", "1", "-W", "30")


def test_the_ports_are_this_machines_alone_and_each_service_is_the_image() -> None:
    ports = re.findall(r'ports: \["(.+)"\]', COMPOSE)
    assert ports == ["127.0.0.1:1883:1883", "127.0.0.1:1884:1883", "127.0.0.1:1885:1883"]
    assert COMPOSE.count("<<: *broker") == len(services())
    assert (ROOT / "packaging" / "Dockerfile").exists()
    assert "dockerfile: packaging/Dockerfile" in COMPOSE
