"""``reknit sub``: subscribe by topic and by content, with mosquitto's letters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._mosquitto.link import Link, taking_link
from reknit.cli._mosquitto.printing import Printer
from reknit.cli._mosquitto.properties import Command
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.client import Client, Event

__all__ = ["register", "sub"]


def register(app: typer.Typer) -> None:
    app.command("sub", cls=Command)(taking_link(sub))


def sub(
    *,
    topic: Annotated[list[str], typer.Option("-t", "--topic", help="A topic filter; may be given several times.")] = [],  # noqa: B006
    selector: Annotated[str, typer.Option("-s", "--selector", help="A condition on the attributes.")] = "",
    qos: Annotated[int, typer.Option("-q", "--qos", min=0, max=2, help="0, 1 or 2.")] = 0,
    count: Annotated[int, typer.Option("-C", min=0, help="End after so many events.")] = 0,
    wait: Annotated[float, typer.Option("-W", min=0, metavar="SECONDS", help="End after so long.")] = 0,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print the topic before the payload.")] = False,
    form: Annotated[str | None, typer.Option("-F", "--format", help="What to print for each event.")] = None,
    pretty: Annotated[bool, typer.Option("--pretty", help="%j and %J on many lines.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each event.")] = False,
    no_end: Annotated[bool, typer.Option("-N", help="No end of line behind an event.")] = False,
    no_stale: Annotated[bool, typer.Option("-R", help="Only events that are new, not retained ones.")] = False,
    retained_only: Annotated[bool, typer.Option("--retained-only", help="The contrary; end at a new one.")] = False,
    remove_retained: Annotated[bool, typer.Option("--remove-retained", help="End what is retained.")] = False,
    without: Annotated[list[str], typer.Option("-T", "--filter-out", help="A filter to pass over.")] = [],  # noqa: B006
    unsubscribe: Annotated[list[str], typer.Option("-U", "--unsubscribe", help="A filter to end first.")] = [],  # noqa: B006
    leave: Annotated[bool, typer.Option("-E", help="End once the broker has the subscriptions.")] = False,
    share: Annotated[
        float, typer.Option("--random-filter", min=0, max=100, metavar="PERCENT", help="Print so many only.")
    ] = 100,
    link: Link,
) -> None:
    """Print events as they come. The letters, and the formats of -F, are those of mosquitto_sub.

    Example: reknit sub --broker b3 -t 'city/+/traffic' --selector "severity >= 3 AND region = 'eu'" -v
    """
    import asyncio

    topics = [*topic, *([link.topic] if link.topic else [])]
    if not topics and not unsubscribe:
        raise BadInput("sub: give a topic filter with -t, or in the URL of -L")
    write = Printer(verbose, form, pretty, as_json, no_end).compiled()
    sieve = _Sieve(no_stale, retained_only, remove_retained, tuple(without), share)
    asked = _Asked(tuple(topics), selector, qos, tuple(unsubscribe), leave, count, wait)
    missing = asyncio.run(_subscribe(link, asked, sieve, write))
    if missing:
        raise Failed(f"sub: {count - missing} of {count} events within {wait:g} s")


@dataclass(frozen=True, slots=True)
class _Asked:
    topics: tuple[str, ...]
    selector: str
    qos: int
    unsubscribe: tuple[str, ...]
    leave: bool
    count: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class _Sieve:
    """Which events are printed."""

    no_stale: bool
    retained_only: bool
    remove_retained: bool
    without: tuple[str, ...]
    share: float

    def ends(self, event: Event) -> bool:
        return self.retained_only and not event.retain

    def passes(self, event: Event) -> bool:
        import random

        from reknit.model.topic import topic_matches

        if (self.no_stale and event.retain) or any(topic_matches(each, event.topic) for each in self.without):
            return False
        return self.share >= 100 or random.random() * 100 < self.share


async def _subscribe(link: Link, asked: _Asked, sieve: _Sieve, write: Callable[[Event], None]) -> int:
    """How many of the events that were asked for have not come in time."""
    import asyncio

    client = link.client()
    events = client.everything(
        *asked.topics, where=asked.selector, qos=asked.qos, properties=link.properties("subscribe")
    )
    left = asked.count
    try:
        async with asyncio.timeout(asked.wait_s or None), client:
            for topic in asked.unsubscribe:
                await client.unsubscribe(topic, link.properties("unsubscribe"))
            async with events:
                while not asked.leave and (not asked.count or left):
                    event = await anext(events)
                    if sieve.ends(event):
                        return 0
                    if sieve.passes(event):
                        await _handle(client, event, sieve, write)
                        left -= 1
    except TimeoutError:
        return left if asked.count else 0
    return 0


async def _handle(client: Client, event: Event, sieve: _Sieve, write: Callable[[Event], None]) -> None:
    write(event)
    if sieve.remove_retained and event.retain:
        await client.publish(event.topic, b"", retain=True, qos=1)
