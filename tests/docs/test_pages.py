"""What the pages name is there: files, commands and decisions; and the examples run."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reknit.live.address import Address
from reknit.live.process import BrokerPlan, broker_running

ROOT = Path(__file__).parents[2]
ANY = Address("127.0.0.1", 0)
PAGES = ["README.md", "ARCHITECTURE.md", "HACKING.md"]
PLACES = [ROOT, ROOT / "src/reknit", ROOT / "src/reknit/core", ROOT / "src/reknit/core/overlay"]


@pytest.mark.parametrize("page", PAGES[1:])
def test_every_file_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+(?:\.py|\.md|\.txt|\.toml)|(?:tests|docs|src|core|sim|lab|cli|live)/[\w/]+)`", text)
    aside = PLACES + ([ROOT / "src/reknit/core/routing"] if page == "HACKING.md" else [])
    assert named
    assert [name for name in named if not any((place / name).exists() for place in aside)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_make_verb_that_is_named_exists(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = makefile.split(".PHONY:")[1].split("\n")[0].split()
    named = re.findall(r"(?:^|`)make (\w+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert named
    assert set(named) <= set(phony)


def test_decisions_are_numbered_once_and_have_the_same_parts() -> None:
    found = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in found]
    assert numbers == list(range(1, len(found) + 1))
    for number, path in zip(numbers, found, strict=True):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {number}. ")
        assert all(f"\n## {part}\n" in text for part in ("Question", "Decision", "Consequences"))


def test_the_journey_is_the_path_of_the_event() -> None:
    assert run("journey.py").splitlines() == [
        "b1 published sensor",
        "b1 forwarded b2",
        "b2 forwarded b3",
        "b3 delivered map",
        "b1 settled ",
    ]


def test_the_storms_that_matter() -> None:
    async def main() -> str:
        async with broker_running(BrokerPlan(name="b1", mqtt=ANY, listen=ANY)) as broker:
            return await asyncio.to_thread(run, "storms.py", str(broker.mqtt.port))

    assert asyncio.run(main()) == "city/lima/weather storm warning 27.5\ncity/oslo/weather storm 31.0\n"


def test_no_example_is_untested() -> None:
    assert sorted(path.name for path in (ROOT / "examples").glob("*.py")) == ["journey.py", "storms.py"]


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
