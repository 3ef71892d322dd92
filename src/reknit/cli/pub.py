"""``reknit pub``: publish, with mosquitto's letters."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._address import mqtt_address
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.model.event import Attributes

__all__ = ["pub", "read_attribute", "register"]

LINES_MAX = 100
"""Lines that have been read and wait to be published."""


def register(app: typer.Typer) -> None:
    app.command("pub")(pub)


def pub(
    topic: Annotated[str, typer.Option("-t", "--topic", help="The event's topic.")],
    message: Annotated[str | None, typer.Option("-m", "--message", help="The payload.")] = None,
    lines: Annotated[bool, typer.Option("-l", "--lines", help="One event for each line of the input.")] = False,
    attribute: Annotated[
        list[str],
        typer.Option(
            "-a", "--attribute", metavar="NAME=VALUE", help="A JSON value, else text; force text with -a 'n=\"3\"'."
        ),
    ] = [],  # noqa: B006
    host: Annotated[str | None, typer.Option("-h", "--host", help="The broker's host.")] = None,
    port: Annotated[int | None, typer.Option("-p", "--port", help="The broker's MQTT port.")] = None,
    broker: Annotated[str, typer.Option(metavar="NAME", help="A broker of the network that runs here.")] = "",
    qos: Annotated[int, typer.Option("-q", "--qos", min=0, max=1, help="0 or 1.")] = 0,
    client_id: Annotated[str, typer.Option("-i", "--id", help="The client's identifier.")] = "",
) -> None:
    """Publish one event, or one for each line of the input.

    Example: reknit pub --broker b1 -t city/berlin/traffic -m jam -a severity=4 -a region=eu
    """
    import asyncio

    from reknit.client import ClientError, Refused

    if (message is None) is not lines:
        raise BadInput("pub: give a message with -m, or -l to take lines from the input")
    attributes = dict(read_attribute(text) for text in attribute)
    where = mqtt_address(host, port, broker)
    try:
        asyncio.run(_publish(where, client_id, topic, message, attributes, qos))
    except Refused as error:
        raise BadInput(f"pub: refused: {error}") from None
    except ValueError as error:  # found before anything was sent
        raise BadInput(f"pub: {error}") from None
    except ClientError as error:
        raise Failed(str(error)) from None


async def _publish(
    where: tuple[str, int], client_id: str, topic: str, message: str | None, attributes: Attributes, qos: int
) -> None:
    from reknit.client import connect

    async with connect(*where, client_id=client_id) as client:
        if message is not None:
            await client.publish(topic, message, attributes=attributes, qos=qos)
            return
        async for line in _lines():
            await client.publish(topic, line, attributes=attributes, qos=qos)


async def _lines() -> AsyncIterator[str]:
    """The lines of the input. Read by a thread, so that the connection stays alive however long a line takes.

    The thread is a daemon: at the end nobody waits for a line that does not come.
    """
    import asyncio
    import threading

    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue(LINES_MAX)

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before the input
            for line in iter(sys.stdin.readline, ""):
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(""), loop).result()

    threading.Thread(target=read, name="input", daemon=True).start()
    while line := await lines.get():
        yield line.removesuffix("\n")


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
