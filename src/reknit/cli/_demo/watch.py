"""What the demo sees of the network, through the operators' doors, and writes into the trace.

Owns: when the network is healed and when it is calm, and the two kinds of record that no broker can write itself:
``crashed`` and ``calm``. Must not know: how a broker gets there.

*Healed*: every broker answers, every link is up, every client is back with all its subscriptions, and every table is
the ideal one. *Calm*: healed, no change of the tree is under way, and no link holds anything that the other end has
not settled. A link keeps an event until all brokers further on have taken it over, so when nobody publishes and all
links are empty, nothing is in flight.

*Written*: what a checker needs to know of each broker is on the disk. A killed broker takes its last records with it;
were its subscriptions among them, every delivery to its clients would look unwanted.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from reknit.cli._demo.world import Role
from reknit.cli._problem import Failed
from reknit.cli.verify_routes import compare
from reknit.core.broker import BrokerOptions
from reknit.live.statefile import NetworkState
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.wishes import check_wishes
from reknit.trace.records import Kind, Record
from reknit.trace.store import TraceWriter, read_trace

__all__ = ["OBSERVER", "Watcher", "why_not_calm", "why_not_healed", "why_not_written"]

OBSERVER = "demo"
"""The name under which it writes into the trace."""

ASK_S_MAX = 2.0
POLL_S = 0.05
REST_S_MAX = 30.0
CALM_LOOKS = 2
"""So many times in a row it must look calm."""
DEATH_S_MAX = 5.0
WRITTEN_S_MAX = 30.0
WRITTEN_POLL_S = 0.2

_Tables: TypeAlias = dict[str, dict[str, Any]]
_WhyNot: TypeAlias = Callable[[_Tables, Sequence[Role]], str]


class Watcher:
    def __init__(
        self, state: Callable[[], NetworkState], roles: Sequence[Role], http: httpx.AsyncClient, trace: TraceWriter
    ) -> None:
        """``state``: the network as it is now, with those that were added. ``roles`` may grow, too."""
        self._state = state
        self._roles = roles
        self._http = http
        self._trace = trace

    async def crashed(self, name: str, pid: int) -> float:
        """Write that it has, as soon as the process is gone: all records of its own are earlier. Returns the time."""
        limit = time.monotonic() + DEATH_S_MAX
        while _lives(pid):
            if time.monotonic() > limit:
                raise Failed(f"demo: {name} (process {pid}) did not die")
            await asyncio.sleep(0.001)
        now = time.time()
        self._trace.append([Record(now, name, Kind.CRASHED)])
        return now

    async def until_healed(self, tell: Callable[[str], None]) -> float:
        """Returns the time. ``tell`` hears what is still to be done, whenever that changes."""
        await self._until(why_not_healed, 1, tell)
        return time.time()

    async def until_calm(self) -> float:
        """Write that it is, and return the time."""
        await self._until(why_not_calm, CALM_LOOKS, lambda why: None)
        now = time.time()
        self._trace.append([Record(now, OBSERVER, Kind.CALM)])
        return now

    async def until_written(self, directory: Path) -> None:
        limit = time.monotonic() + WRITTEN_S_MAX
        while why := why_not_written(directory, self._state(), self._roles):
            if time.monotonic() > limit:
                raise Failed(f"demo: the trace was not written within {WRITTEN_S_MAX:g} s: {why}")
            await asyncio.sleep(WRITTEN_POLL_S)

    async def _until(self, why_not: _WhyNot, looks: int, tell: Callable[[str], None]) -> None:
        limit = time.monotonic() + REST_S_MAX
        good, last = 0, ""
        while good < looks:
            why = why_not(await self._tables(), self._roles)
            good = 0 if why else good + 1
            if why and why != last:
                tell(why)
            last = why
            if time.monotonic() > limit:
                raise Failed(f"demo: the network did not come to rest within {REST_S_MAX:g} s: {why}")
            await asyncio.sleep(POLL_S)

    async def _tables(self) -> _Tables:
        """What each broker says; nothing for one that does not answer."""
        brokers = self._state().brokers
        answers = await asyncio.gather(*(self._ask(broker.admin) for broker in brokers))
        return {broker.name: said for broker, said in zip(brokers, answers, strict=True)}

    async def _ask(self, admin: str) -> dict[str, Any]:
        try:
            answer = await self._http.get(admin + "/table", timeout=ASK_S_MAX)
        except httpx.HTTPError:
            return {}
        said: dict[str, Any] = answer.json() if answer.is_success else {}
        return said


def why_not_healed(tables: _Tables, roles: Sequence[Role]) -> str:
    """The first thing that is not as it should be; empty if all is."""
    if silent := [name for name, table in tables.items() if not table]:
        return f"{silent[0]} does not answer"
    for name, table in tables.items():
        if not table["ready"] or table["wanted_links"]:
            return f"{name} is not linked with all its neighbours yet"
    for role in roles:
        held = {(each["topic"], each["selector"]) for each in _entries(tables[role.broker], role.name)}
        if held != {(pattern.topic, pattern.selector) for pattern in role.wish.patterns}:
            return f"{role.name} is not subscribed at {role.broker} yet"
    differences = compare(tables)
    return f"{len(differences)} table entries are not ideal" if differences else ""


def why_not_calm(tables: _Tables, roles: Sequence[Role]) -> str:
    if why := why_not_healed(tables, roles):
        return why
    for name, table in tables.items():
        if table["changes"]["under_way"] or table["other_links"]:
            return f"{name} takes part in a change of the tree"
        for neighbour, link in table["neighbours"].items():
            if link["outbox_bytes"]:
                return f"{name} holds {link['outbox_bytes']} bytes for {neighbour}"
    return ""


def why_not_written(directory: Path, state: NetworkState, roles: Sequence[Role]) -> str:
    """What the trace does not tell yet of a network that is calm; empty if it tells all."""
    records = read_trace(directory)
    started = {record.node for record in records if record.kind is Kind.STARTED}
    if missing := [broker.name for broker in state.brokers if broker.name not in started]:
        return f"nothing is known of {missing[0]}"
    wishes = {(role.broker, role.name): role.wish.patterns for role in roles}
    calm = Record(records[-1].time, OBSERVER, Kind.CALM)
    options = BrokerOptions()
    checks = (check_wishes(records, wishes), check_tables([*records, calm], options.routing, options.covering))
    return next((str(violation) for check in checks for violation in check), "")


def _entries(table: dict[str, Any], client: str) -> list[dict[str, str]]:
    return [each for each in table["entries"] if each["kind"] == "client" and each["hop"] == client]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
