"""docs/client.md says what is true: its examples run and print what the page shows, and it names every error."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reknit import client
from reknit.client.subscription import QUEUE_EVENTS_MAX
from reknit.live.process import RunningBroker

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(with_broker: Callable[..., None], code: str, printed: str) -> None:
    async def play(broker: RunningBroker) -> None:
        words = [sys.executable, "-c", code, str(broker.mqtt.port)]
        ran = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", printed)

    with_broker(play)


def test_no_example_is_left_out() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 2


def test_every_error_is_named_with_its_kind() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    errors = {name: getattr(client, name) for name in client.__all__ if name[0].isupper()}
    errors = {name: error for name, error in errors.items() if issubclass(error, Exception)}
    assert set(named) == set(errors) - {"ClientError"}
    border = named.index("BadRequest")
    assert all(issubclass(errors[name], ValueError) for name in named[: border + 1])
    assert all(issubclass(errors[name], client.ClientError) for name in named[border:])
    assert f"{QUEUE_EVENTS_MAX:,}" in PAGE
