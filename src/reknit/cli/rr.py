"""``reknit rr``: publish a request, and wait for the response, with mosquitto's letters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._mosquitto.link import Link, taking_link
from reknit.cli._mosquitto.message import Source
from reknit.cli._mosquitto.printing import Printer
from reknit.cli._mosquitto.properties import Command
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.client import Event
    from reknit.client.properties import Pairs

__all__ = ["register", "rr"]


def register(app: typer.Typer) -> None:
    app.command("rr", cls=Command, short_help="Publish a request, and wait for the response.")(taking_link(rr))


def rr(
    *,
    topic: Annotated[str, typer.Option("-t", "--topic", help="Where the request goes.")] = "",
    response: Annotated[str, typer.Option("-e", metavar="TOPIC", help="Where the response is to come.")] = "",
    message: Annotated[str | None, typer.Option("-m", "--message", help="The request's payload.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", metavar="FILE", help="The payload is in there.")] = None,
    stdin: Annotated[bool, typer.Option("-s", "--stdin-file", help="The payload is the whole input.")] = False,
    null: Annotated[bool, typer.Option("-n", "--null-message", help="No payload.")] = False,
    qos: Annotated[int, typer.Option("-q", "--qos", min=0, max=2, help="0, 1 or 2.")] = 0,
    wait: Annotated[float, typer.Option("-W", min=0, metavar="SECONDS", help="End after so long.")] = 0,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print the topic before the payload.")] = False,
    form: Annotated[str | None, typer.Option("-F", "--format", help="What to print for the response.")] = None,
    pretty: Annotated[bool, typer.Option("--pretty", help="%j and %J on many lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The response as a JSON object.")] = False,
    no_end: Annotated[bool, typer.Option("-N", help="No end of line behind it.")] = False,
    no_stale: Annotated[bool, typer.Option("-R", help="A retained message is no response.")] = False,
    link: Link,
) -> None:
    """Publish a request with a response topic, and print the first message that comes there.

    Example: reknit rr --broker b1 -t clock/ask -e clock/answer/me -m now -W 5
    """
    import asyncio

    source = Source(message, file, stdin, null)
    source.check("rr")
    chosen = topic or link.topic
    if not chosen or not response:
        raise BadInput("rr: give the request's topic with -t and the response's with -e")
    write = Printer(verbose, form, pretty, as_json, no_end).compiled()
    request = (chosen, source.payload(), response)
    event = asyncio.run(_ask(link, request, qos, wait, no_stale))
    if event is None:
        raise Failed(f"rr: no response within {wait:g} s")
    write(event)


async def _ask(link: Link, request: tuple[str, bytes, str], qos: int, wait_s: float, no_stale: bool) -> Event | None:
    import asyncio

    topic, payload, response = request
    client = link.client()
    events = client.everything(response, qos=qos, properties=link.properties("subscribe"))
    named: Pairs = (("response-topic", response),) if link.modern else ()
    try:
        async with asyncio.timeout(wait_s or None), client, events:
            await client.publish(topic, payload, qos=qos, properties=(*named, *link.properties("publish")))
            while True:
                event = await anext(events)
                if not (no_stale and event.retain):
                    return event
    except TimeoutError:
        return None
