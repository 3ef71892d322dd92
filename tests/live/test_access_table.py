"""Access rule by path: whatever way an event takes, a client receives what its rule allows, all of it and nothing else.

Rules are made of filters and selectors; a path is a way from a publisher to a client. For each path real brokers run,
with one client for each rule. What matters is that a client wants everything (``#``), and has that subscription, and
where there is a queue also what is in it, from a time when everything was allowed: then the rule comes, and the path.
What it then gets is compared with a few lines of plain code that know nothing of the broker's. So it is with writing:
who may publish what, by each way. The outcome is two tables of ``docs/security.md``; after a change they are written
with ``REKNIT_TABLE=write``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from reknit.core.io import Drain
from reknit.live.config import Settings, StoreSection
from reknit.live.guard import AccessSection
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.mqtt.packets import Will
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from tests.live.conftest import ANY
from tests.live.speaking import Client, Refused, speak

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BEGIN, END = "<!-- the table of rules by path: begin -->\n", "<!-- the table of rules by path: end -->\n"

# --- what is allowed, in plain code


class Event(NamedTuple):
    topic: str
    n: int = 0
    region: str = ""


FILTERS = ("a/#", "+/x", "%c/#", "#")
WHERES: dict[str, Callable[[Event], bool]] = {
    "": lambda event: True,
    "n > 3": lambda event: event.n > 3,
    "region = 'eu' and n > 3": lambda event: event.region == "eu" and event.n > 3,
}


@dataclass(frozen=True)
class Rule:
    client: str
    filters: tuple[str, ...]
    where: str = ""

    @property
    def shown(self) -> str:
        named = ", ".join(f"`{each}`" for each in self.filters) or "nothing"
        return f"{named} where `{self.where}`" if self.where else named

    def allows(self, event: Event) -> bool:
        return any(self.names(each, event.topic) for each in self.filters) and WHERES[self.where](event)

    def names(self, topic_filter: str, topic: str) -> bool:
        return _fits(topic_filter.replace("%c", self.client), topic)

    def written(self, key: str) -> str:
        filters = ", ".join(f'"{each}"' for each in self.filters)
        return f'[[rule]]\nclient = "{self.client}"\n{key} = [{filters}]\nwhere = "{self.where}"\n'


def _fits(topic_filter: str, topic: str) -> bool:
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted, levels = wanted[:-1], levels[: len(wanted) - 1]
    return len(wanted) == len(levels) and all(one in ("+", other) for one, other in zip(wanted, levels, strict=True))


def _numbered(letter: str, rules: Iterable[tuple[tuple[str, ...], str]]) -> list[Rule]:
    return [Rule(f"{letter}{number}", *each) for number, each in enumerate(rules)]


_SEVERAL = ("a/y", "b/#")
READ = _numbered("r", [((), ""), *(((each,), where) for each in FILTERS for where in WHERES), (_SEVERAL, "n > 3")])
WRITE = _numbered("w", [((), ""), *(((each,), "") for each in FILTERS), (_SEVERAL, "")])
EVENTS = [
    Event("a/x", 1, "eu"),
    Event("a/y", 5, "eu"),
    Event("a/z", 5, "us"),
    Event("b/x", 1, "us"),
    Event("b/y", 5, "eu"),
    *(Event(f"{rule.client}/x", 5, "eu") for rule in (*READ, *WRITE) if "%c/#" in rule.filters),
]
LAST = "end"
"""Everybody may hear of this topic; what comes behind it comes too late."""


# --- clients


def _said(event: Event) -> Properties:
    return (PropertyId.USER_PROPERTY, ("n", str(event.n))), (PropertyId.USER_PROPERTY, ("region", event.region))


CONNECTED: list[Client] = []
"""Those of the world that there is now."""


async def come(at: RunningBroker, name: str, will: Event | None = None) -> Client:
    """``Refused`` if it may not."""
    last = Will(will.topic, name.encode(), 1, False, _said(will)) if will is not None else None
    client = await speak(at.mqtt, name, will=last)
    CONNECTED.append(client)
    return client


async def granted(client: Client, *filters: str) -> list[bool]:
    reasons = await client.subscribe(*filters)
    assert set(reasons) <= {1, Reason.NOT_AUTHORIZED}
    return [reason == 1 for reason in reasons]


async def taken(client: Client, event: Event, *, retain: bool = False) -> bool:
    """Whether what it publishes was."""
    reason = await client.publish(event.topic, client.name, retain=retain, said=_said(event))
    assert reason in (0, Reason.NO_MATCHING_SUBSCRIBERS, Reason.NOT_AUTHORIZED)
    return reason != Reason.NOT_AUTHORIZED


async def until_last(client: Client) -> list[tuple[str, str]]:
    """By whom, and on which topic, all came before the last."""
    while not client.heard or client.heard[-1][1] != LAST:
        await client.next()
    return client.heard[:-1]


# --- brokers under rules


@dataclass
class World:
    """Brokers that obey one file of rules, in a line."""

    directory: Path
    stores: bool
    undo: contextlib.AsyncExitStack
    brokers: list[RunningBroker] = field(default_factory=list)

    def allow(self, rules: Sequence[Rule]) -> None:
        """Of reading for some, of writing for others, and whatever is not told to all of both kinds."""
        text = '[[rule]]\nclient = "any-*"\npublish = ["#"]\nsubscribe = ["#"]\n'
        text += f'[[rule]]\nclient = "r*"\nsubscribe = ["{LAST}"]\n'
        told = {rule.client for rule in rules}
        for key, kind in (("subscribe", READ), ("publish", WRITE)):
            now = [rule if rule.client in told else Rule(rule.client, ("#",)) for rule in kind]
            text += "".join(rule.written(key) for rule in now)
        (self.directory / "rules.toml").write_text(text)
        for each in self.brokers:
            each.driver.reload()

    async def line(self, *names: str) -> list[RunningBroker]:
        for name, following in itertools.zip_longest(names, names[1:]):
            before = self.brokers[-1:]
            known = {each.driver.broker.name: str(each.listen) for each in before}
            self.brokers.append(await self._begin(name, known | ({following: ""} if following else {})))
        await until(lambda: not any(each.driver.waiting_for() for each in self.brokers))
        return self.brokers

    async def _begin(self, name: str, neighbours: dict[str, str]) -> RunningBroker:
        store = StoreSection(str(self.directory / name)) if self.stores else StoreSection()
        settings = Settings(access=AccessSection(rules=str(self.directory / "rules.toml")), store=store)
        plan = BrokerPlan(name, ANY, ANY, ANY, neighbours=neighbours, settings=settings)
        return await self.undo.enter_async_context(broker_running(plan))


async def until(true: Callable[[], bool]) -> None:
    """The test's own time limit is the only one."""
    while True:
        if true():
            return
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def world(directory: Path, rules: Sequence[Rule] = (), *, stores: bool = False) -> AsyncIterator[World]:
    async with contextlib.AsyncExitStack() as undo:
        made = World(directory, stores, undo)
        made.allow(rules)
        try:
            yield made
        finally:
            while CONNECTED:
                CONNECTED.pop().die()
            await until(lambda: not any(each.driver.clients for each in made.brokers))


async def spread(at: RunningBroker, count: int = 1) -> None:
    """So many patterns or groups are known at this broker."""
    table = at.driver.broker.table
    await until(lambda: len(table()["groups"]) + len(table()["entries"]) >= count)


async def publish_all(at: RunningBroker, events: Sequence[Event] = EVENTS, *, last: bool = True) -> None:
    """By somebody who may do everything; the last word behind all others."""
    client = await come(at, "any-publisher")
    for event in events:
        assert await taken(client, event)
    if last:
        await taken(client, Event(LAST))
    await client.leave()


async def all_come(at: RunningBroker) -> list[Client]:
    return [await come(at, rule.client) for rule in READ]


async def all_subscribe(at: RunningBroker, topic_filter: str = "#") -> list[Client]:
    clients = await all_come(at)
    for each in clients:
        assert await granted(each, topic_filter.replace("%c", each.name)) == [True]
    return clients


async def all_leave(clients: list[Client]) -> None:
    for each in clients:
        await each.leave()


async def drained(leaver: RunningBroker) -> None:
    leaving = asyncio.ensure_future(leaver.driver.operations.operate(Drain))
    await leaver.driver.moves.ended.wait()
    leaving.cancel()


Cells: TypeAlias = list[str]
Path_: TypeAlias = Callable[[Path], Coroutine[Any, Any, Cells]]
HALF = len(EVENTS) // 2


async def judged(clients: list[Client]) -> Cells:
    """How much each got of what there was; no more and no less than its rule allows."""
    cells = []
    for client, rule in zip(clients, READ, strict=True):
        got = [topic for _, topic in await until_last(client)]
        assert sorted(got) == sorted(event.topic for event in EVENTS if rule.allows(event)), rule
        cells.append(f"{len(got)} of {len(EVENTS)}")
        await client.leave()
    return cells


# --- the paths of reading


async def subscribing(directory: Path) -> Cells:
    """Which filters are granted: those of which nothing lies outside of what one filter of the rule allows."""
    asked = ("a/#", "a/y", "+/x", "b/+", "#", "%c/#", "$share/g/a/#", "$share/g/#")
    cells = []
    async with world(directory, READ) as made:
        [b1] = await made.line("b1")
        for client, rule in zip(await all_come(b1), READ, strict=True):
            filters = [each.replace("%c", rule.client) for each in asked]
            within = [_within(each.removeprefix("$share/g/"), rule) for each in filters]
            assert await granted(client, *filters) == within, rule
            cells.append(f"{sum(within)} of {len(asked)}")
            await client.leave()
    return cells


def _within(asked: str, rule: Rule) -> bool:
    """By trying all topics of some letters."""
    letters = ("a", "b", "x", "y", rule.client, "q")
    topics = ["/".join(each) for depth in (1, 2, 3) for each in itertools.product(letters, repeat=depth)]
    wanted = [topic for topic in topics if _fits(asked, topic)]
    return any(all(rule.names(each, topic) for topic in wanted) for each in rule.filters)


async def live(directory: Path, topic_filter: str = "#", count: int = 1) -> Cells:
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        clients = await all_subscribe(b2, topic_filter)
        await spread(b1, count)
        made.allow(READ)
        await publish_all(b1)
        return await judged(clients)


async def shared(directory: Path) -> Cells:
    """Each client is a group of its own, so that nobody else could have got it."""
    return await live(directory, "$share/%c/#", len(READ))


async def retained(directory: Path) -> Cells:
    """Kept when nobody was there; each asks for as much as its rule lets it ask for."""
    async with world(directory, READ) as made:
        [b1] = await made.line("b1")
        client = await come(b1, "any-publisher")
        for event in EVENTS:
            await taken(client, event, retain=True)
        clients = await all_come(b1)
        for each, rule in zip(clients, READ, strict=True):
            assert all(await granted(each, LAST, *(one.replace("%c", each.name) for one in rule.filters)))
        await taken(client, Event(LAST))
        return await judged(clients)


async def will(directory: Path) -> Cells:
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        clients = await all_subscribe(b2)
        await spread(b1)
        made.allow(READ)
        for number, event in enumerate(EVENTS):
            (await come(b1, f"any-{number}", event)).die()
        await until(lambda: not b1.driver.clients)
        await publish_all(b1, [])
        return await judged(clients)


async def queue(directory: Path) -> Cells:
    """Queued when it was allowed; read when it is not any more."""
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        await all_leave(await all_subscribe(b2))
        await spread(b1)
        await publish_all(b1)
        await until(lambda: b2.driver.door.queued == len(READ) * (len(EVENTS) + 1))
        made.allow(READ)
        return await judged(await all_come(b2))


async def drain(directory: Path) -> Cells:
    """The session moves with what was allowed before, and more comes to it where it is then."""
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        await all_leave(await all_subscribe(b2))
        await spread(b1)
        await publish_all(b1, EVENTS[:HALF], last=False)
        await until(lambda: b2.driver.door.queued == len(READ) * HALF)
        await drained(b2)
        made.allow(READ)
        await publish_all(b1, EVENTS[HALF:])
        return await judged(await all_come(b1))


async def swap(directory: Path) -> Cells:
    """b3 moves from b2 to b1 between two events."""
    async with world(directory) as made:
        b1, _, b3 = await made.line("b1", "b2", "b3")
        clients = await all_subscribe(b3)
        await spread(b1)
        made.allow(READ)
        await publish_all(b1, EVENTS[:HALF], last=False)
        assert (await b3.driver.operations.swap_link("b2", "b1")).error == ""
        await publish_all(b1, EVENTS[HALF:])
        return await judged(clients)


async def restart(directory: Path) -> Cells:
    """What the store has kept for absent clients was allowed when it came."""
    async with world(directory, stores=True) as made:
        [b1] = await made.line("b1")
        await all_leave(await all_subscribe(b1))
        await publish_all(b1)
    async with world(directory, READ, stores=True) as made:
        return await judged(await all_come(*await made.line("b1")))


# --- the paths of writing


async def witnessed(clients: list[Client], at: RunningBroker, watcher: Client) -> Cells:
    """All publish all; how much of each was taken, and heard by one who hears everything."""
    were = {each.name: [await taken(each, event) for event in EVENTS] for each in clients}
    return await _compared(at, watcher, were)


async def _compared(at: RunningBroker, watcher: Client, were: Mapping[str, list[bool]] | None = None) -> Cells:
    await publish_all(at, [])
    got, cells = await until_last(watcher), []
    for rule in WRITE:
        allowed = [rule.allows(event) for event in EVENTS]
        assert were is None or were[rule.client] == allowed, rule
        mine = [topic for by, topic in got if by == rule.client]
        assert mine == [event.topic for event in EVENTS if rule.allows(event)], rule
        cells.append(f"{len(mine)} of {len(EVENTS)}")
    return cells


async def watching(at: RunningBroker, of: str = "") -> Client:
    client = await come(at, f"any-watcher{of}")
    assert await granted(client, "#") == [True]
    return client


async def writers(at: RunningBroker) -> list[Client]:
    return [await come(at, rule.client) for rule in WRITE]


async def published(directory: Path) -> Cells:
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        watcher, clients = await watching(b2), await writers(b1)
        await spread(b1)
        made.allow(WRITE)
        return await witnessed(clients, b1, watcher)


async def kept(directory: Path) -> Cells:
    """What is retained of each, one after the other, as somebody finds it who comes later."""
    cells = []
    async with world(directory, WRITE) as made:
        [b1] = await made.line("b1")
        for client, rule in zip(await writers(b1), WRITE, strict=True):
            for event in EVENTS:
                await taken(client, event, retain=True)
            watcher = await watching(b1, rule.client)
            await publish_all(b1, [])
            found = sorted(topic for _, topic in await until_last(watcher))
            assert found == sorted(event.topic for event in EVENTS if rule.allows(event)), rule
            cells.append(f"{len(found)} of {len(EVENTS)}")
            await watcher.leave()
            for topic in found:  # the next begins with nothing
                client = await come(b1, "any-cleaner")
                await client.publish(topic, retain=True)
                await client.leave()
    return cells


async def last_will(directory: Path) -> Cells:
    """Left behind when it was allowed; and refused, with the whole connection, where it is not."""
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        watcher = await watching(b2)
        await spread(b1)
        for event in EVENTS:
            made.allow([])
            clients = [await come(b1, rule.client, event) for rule in WRITE]
            made.allow(WRITE)
            for client in clients:
                client.die()
            await until(lambda: not b1.driver.clients)
            for rule in WRITE:
                assert await _refused(b1, rule.client, event) is not rule.allows(event), rule
        return await _compared(b1, watcher)


async def _refused(at: RunningBroker, name: str, event: Event) -> bool:
    try:
        await (await come(at, name, event)).leave()
    except Refused as error:
        return error.args == (Reason.NOT_AUTHORIZED,)
    return False


async def moved(directory: Path) -> Cells:
    """The writers' sessions move by a drain."""
    async with world(directory) as made:
        b1, b2 = await made.line("b1", "b2")
        watcher = await watching(b1)
        await all_leave(await writers(b2))
        await drained(b2)
        made.allow(WRITE)
        return await witnessed(await writers(b1), b1, watcher)


async def swapped(directory: Path) -> Cells:
    async with world(directory) as made:
        b1, _, b3 = await made.line("b1", "b2", "b3")
        watcher, clients = await watching(b1), await writers(b3)
        await spread(b3)
        made.allow(WRITE)
        assert (await b3.driver.operations.swap_link("b2", "b1")).error == ""
        return await witnessed(clients, b3, watcher)


async def restarted(directory: Path) -> Cells:
    async with world(directory, stores=True) as made:
        await all_leave(await writers(*await made.line("b1")))
    async with world(directory, WRITE, stores=True) as made:
        [b1] = await made.line("b1")
        watcher = await watching(b1)
        return await witnessed(await writers(b1), b1, watcher)


# --- the tables

READING: dict[str, Path_] = {
    "SUBSCRIBE": subscribing,
    "live": live,
    "retained": retained,
    "shared": shared,
    "a will": will,
    "queue": queue,
    "after a drain": drain,
    "after a swap": swap,
    "after a restart": restart,
}
WRITING: dict[str, Path_] = {
    "live": published,
    "retained": kept,
    "a will": last_will,
    "after a drain": moved,
    "after a swap": swapped,
    "after a restart": restarted,
}
_PATHS = [("may read", name, path) for name, path in READING.items()]
_PATHS += [("may write", name, path) for name, path in WRITING.items()]


@pytest.mark.parametrize(("kind", "name", "path"), _PATHS, ids=[f"{kind}: {name}" for kind, name, _ in _PATHS])
def test_by_no_path_comes_more_or_less_than_is_allowed(kind: str, name: str, path: Path_, tmp_path: Path) -> None:
    cells = asyncio.run(path(tmp_path))
    rules = [rule.shown for rule in (READ if kind == "may read" else WRITE)]
    if os.environ.get("REKNIT_TABLE") == "write":
        _write(kind, name, dict(zip(rules, cells, strict=True)))
    shown = _tables()[kind]
    assert [shown[rule][name] for rule in rules] == cells


def test_the_page_has_every_rule_and_every_path() -> None:
    tables = _tables()
    for kind, rules, paths in (("may read", READ, READING), ("may write", WRITE, WRITING)):
        assert list(tables[kind]) == [rule.shown for rule in rules]
        assert all(list(row) == list(paths) for row in tables[kind].values())


def _tables() -> dict[str, dict[str, dict[str, str]]]:
    """By kind, rule and path: what the page says."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    rows: dict[str, dict[str, str]] = {}
    for line in PAGE.read_text().partition(BEGIN)[2].partition(END)[0].splitlines():
        first, *others = [each.strip() for each in line.strip("|").split("|")]
        if first in ("may read", "may write"):
            names, rows = others, found.setdefault(first, {})
        elif first and not first.startswith("---"):
            rows[first] = dict(zip(names, others, strict=True))
    return found


def _write(kind: str, path: str, cells: Mapping[str, str]) -> None:
    tables = _tables()
    for each, rules, paths in (("may read", READ, READING), ("may write", WRITE, WRITING)):
        had = tables.get(each, {})
        tables[each] = {rule.shown: {one: had.get(rule.shown, {}).get(one, "") for one in paths} for rule in rules}
    for rule, cell in cells.items():
        tables[kind][rule][path] = cell
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(head + BEGIN + "\n".join(_shown(*each) for each in tables.items()) + END + rest.partition(END)[2])


def _shown(kind: str, table: Mapping[str, Mapping[str, str]]) -> str:
    names = list(next(iter(table.values())))
    lines = [[kind, *names], ["---"] * (len(names) + 1), *([rule, *row.values()] for rule, row in table.items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
