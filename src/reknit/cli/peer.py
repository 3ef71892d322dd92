"""``reknit peer``: one peer of communities, without a broker."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.community.options import PeerOptions, TopicOptions
    from reknit.live.peers.member import LivePeer, PeerEvent, Subscription

__all__ = ["parents_of", "peer", "register", "secret_of"]

ANSWER_S = 5.0
"""After so long without a word from anybody, the user is told."""
SECRET_BYTES_MIN = 8
GROUPS = ("scamp", "supers")
"""Of the parameters of a topic: those in a group are named with it, as ``scamp.lease_s``."""


def register(app: typer.Typer) -> None:
    app.command("peer")(peer)


@dataclass(frozen=True, slots=True)
class _Asked:
    topics: tuple[str, ...]
    selector: str
    listen: str
    known_as: str
    contacts: tuple[str, ...]
    secret: bytes
    publish: str
    messages: tuple[str, ...]
    count: int
    wait_s: float
    verbose: bool
    as_json: bool


def peer(
    topic: Annotated[list[str], typer.Option("-t", "--topic", help="Whose community to be in; # for all topics.")] = [],  # noqa: B006
    contact: Annotated[list[str], typer.Option("--contact", metavar="HOST:PORT", help="Any peer to ask.")] = [],  # noqa: B006
    selector: Annotated[str, typer.Option("-s", "--selector", help="A condition on the attributes.")] = "",
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Port 0 for any.")] = "127.0.0.1:0",
    known_as: Annotated[str, typer.Option("--known-as", metavar="HOST:PORT", help="Where others reach it.")] = "",
    publish: Annotated[str, typer.Option("--publish", metavar="TOPIC", help="Publish -m there, once joined.")] = "",
    message: Annotated[list[str], typer.Option("-m", "--message", help="What to publish; several times.")] = [],  # noqa: B006
    parent: Annotated[
        list[str], typer.Option("--parent", metavar="TOPIC=PARENT", help="Another parent than the level above.")
    ] = [],  # noqa: B006
    membership: Annotated[str, typer.Option("--membership", help="How members know each other, by name.")] = "scamp",
    option: Annotated[
        list[str],
        typer.Option("-o", "--option", metavar="[TOPIC:]NAME=VALUE", help="c, g, scamp.lease_s or another."),
    ] = [],  # noqa: B006
    secret_file: Annotated[str, typer.Option("--secret-file", metavar="FILE", help="What all peers share.")] = "",
    count: Annotated[int, typer.Option("-C", min=0, help="End after so many events.")] = 0,
    wait: Annotated[float, typer.Option("-W", min=0, metavar="SECONDS", help="End after so long.")] = 0,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the topic before the payload, and counters in the end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each event.")] = False,
) -> None:
    """Be a member of communities, without any broker.

    Their events are printed as they come.

    Examples:
    reknit peer --topic soccer --listen 127.0.0.1:7400;
    reknit peer --topic soccer/italy --contact 127.0.0.1:7400 -v;
    reknit peer --publish soccer/italy -m goal --contact 127.0.0.1:7400
    """
    import asyncio

    if not topic and not publish:
        raise BadInput("peer: name a topic with --topic, or with --publish and -m what to publish there")
    if bool(publish) != bool(message):
        raise BadInput("peer: --publish names the topic, and -m what to publish there: give both or none")
    asked = _Asked(
        topics=tuple(topic),
        selector=selector,
        listen=listen,
        known_as=known_as,
        contacts=tuple(contact),
        secret=secret_of(secret_file),
        publish=publish,
        messages=tuple(message),
        count=count,
        wait_s=wait,
        verbose=verbose,
        as_json=as_json,
    )
    missing = asyncio.run(_run(asked, _options(parent, membership, option)))
    if missing:
        raise Failed(f"peer: {count - missing} of {count} events within {wait:g} s")


def secret_of(file: str) -> bytes:
    if not file:
        return b""
    try:
        secret = Path(file).read_bytes().strip()
    except OSError as error:
        raise BadInput(f"--secret-file: {file}: {error.strerror}") from None
    if len(secret) < SECRET_BYTES_MIN:
        raise BadInput(f"--secret-file: {file} holds {len(secret)} bytes; a secret has {SECRET_BYTES_MIN} at least")
    return secret


def parents_of(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        topic, equals, parent = pair.partition("=")
        if not equals or not topic:
            raise BadInput(f"--parent: {pair!r} is no TOPIC=PARENT (TOPIC= for one that has none)")
        found[topic] = (*found.get(topic, ()), *((parent,) if parent else ()))
    return found


def _options(parent: list[str], membership: str, option: list[str]) -> PeerOptions:
    """``BadInput`` for parents that make a cycle, a membership that does not exist, or parameters that cannot be."""
    from reknit.community.hierarchy import Hierarchy
    from reknit.community.memberships.names import membership_of
    from reknit.community.options import CourierOptions, PeerOptions, TopicOptions, check_options

    topic, topics = _terms(TopicOptions(membership=membership), option)
    options = PeerOptions(topic=topic, topics=topics, parents=parents_of(parent), courier=CourierOptions(backoff=2.0))
    try:
        Hierarchy(options.parents)
        for each in (topic, *topics.values()):
            membership_of(each.membership)
        check_options(options)
    except ValueError as error:
        raise BadInput(f"peer: {error}") from None
    return options


def _terms(terms: TopicOptions, pairs: list[str]) -> tuple[TopicOptions, dict[str, TopicOptions]]:
    """For all topics, and for those that were named; what is said of all holds for these, too."""
    import msgspec

    plain = _flat(msgspec.to_builtins(terms))
    said: dict[str, dict[str, str]] = {"": {}}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        topic, _, key = name.rpartition(":")
        if not equals or key not in plain:
            raise BadInput(f"--option: {pair!r} is no [TOPIC:]NAME=VALUE, where NAME is one of {', '.join(plain)}")
        said.setdefault(topic, {})[key] = value
    found = {}
    for topic, values in said.items():
        chosen = {**plain, **said[""], **values}
        try:
            found[topic] = msgspec.convert(_grouped(chosen), type(terms), strict=False)
        except msgspec.ValidationError as error:
            key = str(error).rpartition("$.")[2].strip("`")
            raise BadInput(f"--option: {key} cannot be {chosen[key]!r}") from None
    return found.pop(""), found


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in document.items() if key not in GROUPS}
    return found | {f"{group}.{key}": value for group in GROUPS for key, value in document[group].items()}


def _grouped(flat: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {group: {} for group in GROUPS}
    for name, value in flat.items():
        group, _, key = name.rpartition(".")
        (found[group] if group else found)[key] = value
    return found


async def _run(asked: _Asked, options: PeerOptions) -> int:
    """How many of the events that were asked for have not come."""
    import asyncio

    from reknit.live.peers.member import peer as live_peer

    member = live_peer(
        asked.listen, contacts=asked.contacts, secret=asked.secret, options=options, known_as=asked.known_as
    )
    async with member:
        try:
            subscriptions = [member.subscribe(topic, asked.selector) for topic in asked.topics]
        except ValueError as error:
            raise BadInput(f"peer: {error}") from None
        typer.echo(f"peer at {member.address}", err=True)
        doubt = asyncio.create_task(_doubt(member, asked.contacts))
        try:
            await _publish(member, asked)
            return await _print(subscriptions, asked) if subscriptions else 0
        finally:
            doubt.cancel()
            _print_counters(member, asked)


def _print_counters(member: LivePeer, asked: _Asked) -> None:
    """What is not 0, where the user wants to know more; apart from the events."""
    import json

    counted = {name: count for name, count in sorted(member.counters.items()) if count}
    if asked.as_json:
        typer.echo(json.dumps({"counters": counted}), err=True)
    elif asked.verbose:
        typer.echo(f"counted: {', '.join(f'{name} {count}' for name, count in counted.items()) or 'nothing'}", err=True)


async def _doubt(member: LivePeer, contacts: tuple[str, ...]) -> None:
    import asyncio

    await asyncio.sleep(ANSWER_S)
    if contacts and not member.counters["datagrams_in"]:
        typer.echo(f"peer: nobody at {', '.join(contacts)} has answered so far; it goes on asking", err=True)


async def _publish(member: LivePeer, asked: _Asked) -> None:
    try:
        for message in asked.messages:
            await member.publish(asked.publish, message)
    except ValueError as error:
        raise BadInput(f"peer: {error}") from None


async def _print(subscriptions: list[Subscription], asked: _Asked) -> int:
    import asyncio

    left = asked.count
    merged: asyncio.Queue[PeerEvent] = asyncio.Queue()
    tasks = [asyncio.create_task(_pour(each, merged)) for each in subscriptions]
    seen: set[tuple[str, int]] = set()
    try:
        async with asyncio.timeout(asked.wait_s or None):
            while not asked.count or left:
                event = await merged.get()
                if len(subscriptions) > 1:  # one that is of several topics is printed once
                    if event.id in seen:
                        continue
                    seen.add(event.id)
                _print_event(event, asked)
                left -= 1
    except TimeoutError:
        return left if asked.count else 0
    finally:
        for task in tasks:
            task.cancel()
    return 0


async def _pour(subscription: Subscription, merged: object) -> None:
    import asyncio

    assert isinstance(merged, asyncio.Queue)
    async for event in subscription:
        merged.put_nowait(event)


def _print_event(event: PeerEvent, asked: _Asked) -> None:
    import json

    text = event.payload.decode(errors="replace")
    if asked.as_json:
        shown = {"topic": event.topic, "payload": text, "attributes": dict(event.attributes)}
        typer.echo(json.dumps({**shown, "community": event.community, "hops": event.hops}))
    else:
        typer.echo(f"{event.topic} {text}" if asked.verbose else text)
    sys.stdout.flush()
