"""``reknit rr`` in a network; its letters are tested beside mosquitto's in test_letters.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from reknit.client import connect


def test_a_response_from_another_broker(reknit: Callable[..., Any], network: Any) -> None:
    async def run(*form: str) -> Any:
        async with connect("127.0.0.1", network.base_port + 2) as client, client.subscribe("clock/ask") as asked:
            words = ["rr", "--broker", "b1", "-t", "clock/ask", "-e", "clock/answer", "-m", "now", "-W", "20", *form]
            asking = asyncio.ensure_future(asyncio.to_thread(reknit, *words))
            while True:
                # The subscription has to be known at b1, and the response's at b3.
                request = await anext(asked)
                where = dict(request.properties)["response-topic"]
                while not asking.done():
                    await client.publish(str(where), b"noon")
                    await asyncio.sleep(0.05)
                return await asking

    said = asyncio.run(run("-v"))
    assert (said.code, said.out) == (0, "clock/answer noon\n")
    said = asyncio.run(run("--json"))
    assert (said.code, said.json["topic"], said.json["payload"]) == (0, "clock/answer", "noon")


def test_no_response_is_a_failure(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("rr", "--broker", "b1", "-t", "nobody/home", "-e", "nobody/answer", "-n", "-W", "0.1")
    assert (said.code, said.err) == (1, "reknit: rr: no response within 0.1 s\n")
