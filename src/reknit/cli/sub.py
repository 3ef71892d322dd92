"""``reknit sub``: subscribe by topic and by content, with mosquitto's letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._address import mqtt_address
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reknit.client import Event

__all__ = ["register", "sub"]


def register(app: typer.Typer) -> None:
    app.command("sub")(sub)


def sub(
    topic: Annotated[list[str], typer.Option("-t", "--topic", help="A topic filter; may be given several times.")],
    selector: Annotated[str, typer.Option("-s", "--selector", help="A condition on the attributes.")] = "",
    host: Annotated[str | None, typer.Option("-h", "--host", help="The broker's host.")] = None,
    port: Annotated[int | None, typer.Option("-p", "--port", help="The broker's MQTT port.")] = None,
    broker: Annotated[str, typer.Option(metavar="NAME", help="A broker of the network that runs here.")] = "",
    qos: Annotated[int, typer.Option("-q", "--qos", min=0, max=1, help="0 or 1.")] = 0,
    client_id: Annotated[str, typer.Option("-i", "--id", help="The client's identifier.")] = "",
    count: Annotated[int, typer.Option("-C", min=0, help="End after so many events.")] = 0,
    wait: Annotated[float, typer.Option("-W", min=0, metavar="SECONDS", help="End after so long.")] = 0,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print the topic before the payload.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each event.")] = False,
) -> None:
    """Print events as they come.

    Example: reknit sub --broker b3 -t 'city/+/traffic' --selector "severity >= 3 AND region = 'eu'" -v
    """
    import asyncio

    from reknit.client import BadPattern, ClientError, Refused

    where = mqtt_address(host, port, broker)
    show = _json_line if as_json else _verbose_line if verbose else _plain_line
    try:
        missing = asyncio.run(_subscribe(where, client_id, topic, selector, qos, count, wait, show))
    except BadPattern as error:
        raise BadInput(f"sub: {error}") from None
    except Refused as error:
        raise BadInput(f"sub: refused: {error}") from None
    except ClientError as error:
        raise Failed(str(error)) from None
    if missing:
        raise Failed(f"sub: {count - missing} of {count} events within {wait:g} s")


async def _subscribe(
    where: tuple[str, int],
    client_id: str,
    topics: list[str],
    selector: str,
    qos: int,
    count: int,
    wait_s: float,
    show: Callable[[Event], bytes],
) -> int:
    """How many of the events that were asked for have not come in time."""
    import asyncio
    import contextlib

    from reknit.client import connect

    left = count
    async with (
        connect(*where, client_id=client_id) as client,
        client.subscribe(*topics, where=selector, qos=qos) as events,
    ):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s or None):
                while not count or left:
                    _write(show(await anext(events)))
                    left -= 1
    return left if count else 0


def _write(line: bytes) -> None:
    import sys

    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _plain_line(event: Event) -> bytes:
    return event.payload


def _verbose_line(event: Event) -> bytes:
    return event.topic.encode() + b" " + event.payload


def _json_line(event: Event) -> bytes:
    """The payload as text where it is some, else in base64 under another key."""
    import base64
    import json

    line: dict[str, Any] = {"topic": event.topic, "attributes": dict(event.attributes), "qos": event.qos}
    try:
        line["payload"] = event.payload.decode()
    except UnicodeDecodeError:
        line["payload_base64"] = base64.b64encode(event.payload).decode()
    return json.dumps(line, ensure_ascii=False).encode()
