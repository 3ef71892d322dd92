"""``reknit pub``: publish, with mosquitto's letters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._mosquitto.link import Link, taking_link
from reknit.cli._mosquitto.message import Source, lines_of_input
from reknit.cli._mosquitto.properties import Command
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.client import Client
    from reknit.client.properties import Pairs
    from reknit.model.event import Attributes

__all__ = ["pub", "read_attribute", "register"]


def register(app: typer.Typer) -> None:
    app.command("pub", cls=Command)(taking_link(pub))


def pub(
    *,
    topic: Annotated[str, typer.Option("-t", "--topic", help="The event's topic.")] = "",
    message: Annotated[str | None, typer.Option("-m", "--message", help="The payload.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", metavar="FILE", help="The payload is in there.")] = None,
    stdin: Annotated[bool, typer.Option("-s", "--stdin-file", help="The payload is the whole input.")] = False,
    null: Annotated[bool, typer.Option("-n", "--null-message", help="No payload.")] = False,
    lines: Annotated[bool, typer.Option("-l", "--lines", "--stdin-line", help="An event for each line.")] = False,
    attribute: Annotated[
        list[str],
        typer.Option(
            "-a", "--attribute", metavar="NAME=VALUE", help="A JSON value, else text; force text with -a 'n=\"3\"'."
        ),
    ] = [],  # noqa: B006
    qos: Annotated[int, typer.Option("-q", "--qos", min=0, max=2, help="0, 1 or 2.")] = 0,
    retain: Annotated[bool, typer.Option("-r", "--retain", help="Keep it for later subscribers.")] = False,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="So many times.")] = 1,
    repeat_delay: Annotated[float, typer.Option("--repeat-delay", min=0, metavar="SECONDS", help="Between them.")] = 0,
    max_inflight: Annotated[int, typer.Option("-M", "--max-inflight", min=1, max=65535, help="At QoS 1 and 2.")] = 20,
    link: Link,
) -> None:
    """Publish one event, or one for each line of the input. The letters are those of mosquitto_pub.

    Example: reknit pub --broker b1 -t city/berlin/traffic -m jam -a severity=4 -a region=eu
    """
    import asyncio

    source = Source(message, file, stdin, null, lines)
    source.check("pub")
    chosen = topic or link.topic
    if not chosen:
        raise BadInput("pub: give a topic with -t, or in the URL of -L")
    attributes = dict(read_attribute(text) for text in attribute)
    how = _How(chosen, attributes, qos, retain, link.properties("publish"))
    client = link.client(max_inflight)
    asyncio.run(_publish(client, source, how, repeat, repeat_delay))


class _How:
    """All of a publication but its payload."""

    def __init__(self, topic: str, attributes: Attributes, qos: int, retain: bool, properties: Pairs) -> None:
        self._topic = topic
        self._attributes = attributes
        self._qos = qos
        self._retain = retain
        self._properties = properties

    async def send(self, client: Client, payload: bytes | str) -> None:
        await client.publish(
            self._topic,
            payload,
            attributes=self._attributes,
            qos=self._qos,
            retain=self._retain,
            properties=self._properties,
        )


async def _publish(client: Client, source: Source, how: _How, repeat: int, delay_s: float) -> None:
    import asyncio

    payload = b"" if source.lines else source.payload()
    async with client:
        if source.lines:
            async for line in lines_of_input():
                await how.send(client, line)
            return
        for number in range(repeat):
            if number:
                await asyncio.sleep(delay_s)
            await how.send(client, payload)


def read_attribute(text: str) -> tuple[str, str | int | float | bool]:
    """``NAME=VALUE``; the value has the type that it has in JSON, and is a string where it is no JSON."""
    import json

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"--attribute: {text!r} is no NAME=VALUE (such as severity=3)")
    try:
        read = json.loads(value)
    except ValueError:
        return name, value
    if not isinstance(read, str | int | float):
        raise BadInput(f"--attribute: {name}: {value} is no string, number, true or false")
    return name, read
