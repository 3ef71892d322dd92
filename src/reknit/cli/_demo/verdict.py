"""What the run has shown, from two sources that know nothing of each other: the trace, and the clients' notes.

Owns: the two verdicts, and the numbers beside them. Must not know: how the run was made.

The *trace* is judged by the checkers that judge the simulator. A broker that is killed takes the last of its records
with it, those of about two seconds. The checkers can live with that, since all subscriptions are older (see ``watch``).
What is missing is what it has published, delivered and settled just before its death. An event without a publication
is owed to nobody; a delivery to a client of a dead broker is not owed any more; nor is an event, once its own broker
is dead, that is not known to be settled. So missing records make the verdict say less, never something wrong, and
what they leave open the clients know.

The *clients* know what they have published, under which of their connections, and what came. From one calm moment to
the next, an event is owed to everybody whose subscription matches it, if neither the publisher nor the subscriber has
lost its connection in between. Everything that passed *through* the killed broker is judged; its own clients are not
until they are back and all is calm, since their sessions died with it. Links that move excuse nothing, nor does a
broker that is drained: the sessions of its clients go on elsewhere. Only a publication whose connection ended before it
was acknowledged is owed to nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from reknit.cli._demo.clients import Notes, Sent
from reknit.cli._demo.world import Mark, Role
from reknit.core.broker import BrokerOptions
from reknit.core.overlay.shapes import Edge
from reknit.model.event import EventId
from reknit.sim.checkers.bounds import check_bounds
from reknit.sim.checkers.delivery import Tally, check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.sim.checkers.wishes import check_wishes
from reknit.trace.records import Kind, Record

__all__ = [
    "Away",
    "Traffic",
    "Verdict",
    "count_traffic",
    "delays",
    "judge_clients",
    "judge_trace",
    "owed_marks",
    "who_was_away",
]

FAULTS_MAX = 20
"""So many are kept in words; all are counted."""


class Verdict(msgspec.Struct):
    events: int = 0
    deliveries: int = 0
    owed: int = 0
    """Deliveries that had to be."""
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    unwanted: int = 0
    other: int = 0
    """Tables that are not ideal, cycles, bounds that were reached, gaps in the trace."""
    faults: list[str] = []

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.out_of_order or self.unwanted or self.other)

    def fault(self, what: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(what)


# --- the trace


def judge_trace(records: Sequence[Record], options: BrokerOptions, roles: Sequence[Role]) -> Verdict:
    tally = Tally()
    verdict = Verdict()
    for violation in check_delivery(records, tally):
        verdict.fault(str(violation))
    for violation in check_order(records):
        verdict.out_of_order += 1
        verdict.fault(str(violation))
    for what in _others(records, options, roles):
        verdict.other += 1
        verdict.fault(what)
    verdict.events, verdict.deliveries, verdict.owed = tally.published, tally.delivered, tally.owed
    verdict.lost, verdict.duplicated, verdict.unwanted = tally.lost, tally.duplicated, tally.unwanted
    return verdict


def _others(records: Sequence[Record], options: BrokerOptions, roles: Sequence[Role]) -> Iterator[str]:
    yield from map(str, check_tree(records))
    yield from map(str, check_tables(records, options.routing, options.covering))
    yield from map(str, check_bounds(records))
    wishes = {(role.broker, role.name): role.wish.patterns for role in roles}
    yield from map(str, check_wishes(_until_last_calm(records), wishes))
    for record in records:
        if record.kind is Kind.UNTRACED:
            yield f"{record.node}: {record.size} records are missing in its trace: {record.detail}"


def _until_last_calm(records: Sequence[Record]) -> Sequence[Record]:
    """Before the clients say goodbye."""
    last = max((place for place, record in enumerate(records) if record.kind is Kind.CALM), default=-1)
    return records[: last + 1]


# --- the clients


def judge_clients(clients: Sequence[Notes], calms: Sequence[float]) -> Verdict:
    """``calms``: the moments at which nothing was in flight."""
    verdict = Verdict()
    published = {sent.mark: sent for client in clients for sent in client.sent}
    verdict.events = len(published)
    for client in clients:
        verdict.deliveries += len(client.received)
        _judge_received(client, published, verdict)
        for mark in owed_marks(client, clients, calms):
            verdict.owed += 1
            if mark not in client.marks:
                verdict.lost += 1
                verdict.fault(f"{mark} ({published[mark].event.topic}) never reached {client.role.name}")
    return verdict


def owed_marks(client: Notes, clients: Sequence[Notes], calms: Sequence[float]) -> Iterator[Mark]:
    """What this client must have received."""
    patterns = client.role.wish.patterns
    for begin, end in pairwise(calms):
        if not client.unbroken(begin, end):
            continue
        for publisher in clients:
            if publisher.unbroken(begin, end):
                known = [sent for sent in publisher.sent if begin <= sent.time <= end and not sent.open]
                yield from (sent.mark for sent in known if any(each.matches(sent.event) for each in patterns))


def _judge_received(client: Notes, published: dict[Mark, Sent], verdict: Verdict) -> None:
    """Copies, order and what nobody asked for: within each of the client's connections, for each of a publisher's."""
    seen: dict[tuple[int, Mark], None] = {}
    last: dict[tuple[int, str, int], int] = {}
    patterns = client.role.wish.patterns
    for received in client.received:
        mark, connection = received.mark, received.connection
        if (connection, mark) in seen:
            verdict.duplicated += 1
            verdict.fault(f"{mark} reached {client.role.name} twice")
        elif mark.number < last.get((connection, mark.publisher, mark.connection), 0):
            verdict.out_of_order += 1
            verdict.fault(f"{mark} reached {client.role.name} behind a later one")
        seen[connection, mark] = None
        last[connection, mark.publisher, mark.connection] = mark.number
        if mark not in published or not any(each.matches(published[mark].event) for each in patterns):
            verdict.unwanted += 1
            verdict.fault(f"{mark} reached {client.role.name}, which does not want it")


# --- beside the verdicts


class Away(msgspec.Struct):
    """What the clients of the killed broker went through."""

    clients: list[str]
    missed: int
    """Events that somebody published and they wanted, but that did not reach them."""
    again: int
    """Events that came on the new connection, though they had come on the old one."""
    open: int
    """Publications of theirs that were under way, of which they cannot know the outcome."""


def who_was_away(clients: Sequence[Notes], begin: float, end: float) -> Away:
    """Between two calm moments."""
    away = [client for client in clients if client.since <= begin and not client.unbroken(begin, end)]
    flow = [sent for client in clients for sent in client.sent if begin <= sent.time <= end]
    missed = again = 0
    for client in away:
        patterns = client.role.wish.patterns
        wanted = [sent.mark for sent in flow if any(each.matches(sent.event) for each in patterns)]
        missed += sum(1 for mark in wanted if mark not in client.marks)
        again += len({(each.connection, each.mark): None for each in client.received}) - len(client.marks)
    return Away([client.role.name for client in away], missed, again, sum(1 for sent in flow if sent.open))


def delays(clients: Sequence[Notes]) -> list[float]:
    """From publication to receipt, as clients see it, in seconds and in rising order."""
    published = {sent.mark: sent.time for client in clients for sent in client.sent}
    return sorted(
        each.time - published[each.mark] for client in clients for each in client.received if each.mark in published
    )


class Traffic(msgspec.Struct):
    """How far events travelled, over the time in which nothing was broken."""

    events: int
    forwarded: int
    """Times that an event crossed a link."""
    flooded: int
    """The same, were each event sent to every broker."""
    links: dict[str, int]
    """By link, the events that crossed it."""

    @property
    def saved(self) -> float:
        return 1 - self.forwarded / self.flooded if self.flooded else 0.0


def count_traffic(records: Sequence[Record], edges: Sequence[Edge], broken: tuple[float, float]) -> Traffic:
    """``edges``: of the beginning. ``broken``: the time whose events are left out: the trace does not know all of them.

    On a tree there is one link less than there are brokers, whichever links they are.
    """
    begin, end = broken
    counted: dict[EventId, None] = {}
    links = Counter({" - ".join(sorted(edge)): 0 for edge in edges})
    brokers: dict[str, None] = dict.fromkeys(name for edge in edges for name in edge)
    flooded = 0
    for record in records:
        if record.kind is Kind.STARTED:
            brokers[record.node] = None
        elif record.kind is Kind.MOVED_OUT:  # nobody else moves clients here but a broker that leaves
            brokers.pop(record.node, None)
        elif record.event is None:
            continue
        elif record.kind is Kind.PUBLISHED and not begin <= record.time <= end:
            counted[record.event.id] = None
            flooded += len(brokers) - 1
        elif record.kind is Kind.FORWARDED and record.event.id in counted:
            links[" - ".join(sorted((record.node, record.peer)))] += 1
    return Traffic(len(counted), links.total(), flooded, dict(links))
