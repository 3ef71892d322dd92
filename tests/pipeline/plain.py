"""A run judged without Spark: the same judges, with the records cut by plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reknit.core.routing.table import GROUPS
from reknit.model.pattern import Pattern
from reknit.pipeline._judging.account import Account, Finding, Seen
from reknit.pipeline._judging.causal import Causality, Happened, Sessions
from reknit.pipeline._judging.history import Entry, History, Place
from reknit.pipeline._judging.parasites import DISTURBING, Want, stills
from reknit.trace.records import Kind, Record

OF_CLIENTS = (
    Kind.ATTACHED,
    Kind.DETACHED,
    Kind.MOVING,
    Kind.MOVED_IN,
    Kind.MOVED_OUT,
    Kind.SUBSCRIBED,
    Kind.UNSUBSCRIBED,
    Kind.DELIVERED,
)


@dataclass
class Run:
    """Records in their order; a record's place is its number."""

    records: list[Record]
    numbers: dict[Pattern, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.records:
            if each.pattern is not None:
                self.numbers.setdefault(each.pattern, len(self.numbers))

    def entries(self) -> Iterator[Entry]:
        for number, each in enumerate(self.records):
            yield Entry(place(number), each.time, each.node, each.kind, each.peer, each.detail)

    def matching(self, record: Record) -> frozenset[int]:
        assert record.event is not None
        return frozenset(number for each, number in self.numbers.items() if each.matches(record.event))


def place(number: int) -> Place:
    return (0.0, number, "")


def judge(records: list[Record], lasting: bool) -> Iterator[Finding]:
    run = Run(records)
    history = History(run.entries())
    for client, seen in clients(run).items():
        yield from Account(client, history, lasting).judge(seen)
    yield from causality(run)
    yield from parasites(run)


def clients(run: Run) -> dict[str, list[Seen]]:
    """By client: what is about it, and events that a pattern which it has ever wanted matches."""
    wants: dict[str, set[int]] = {}
    for each in run.records:
        if each.kind is Kind.SUBSCRIBED and each.pattern is not None and not each.client.startswith(GROUPS):
            wants.setdefault(each.client, set()).add(run.numbers[each.pattern])
    settled = {
        (each.node, each.event.id): place(number)
        for number, each in reversed(list(enumerate(run.records)))
        if each.kind is Kind.SETTLED and each.event is not None
    }
    found: dict[str, list[Seen]] = {}
    for number, each in enumerate(run.records):
        at = (place(number), each.time, each.node, each.kind, each.peer)
        if each.kind is Kind.PUBLISHED and each.event is not None:
            matching, end = run.matching(each), settled.get((each.node, each.event.id))
            for client, wanted in wants.items():
                if wanted & matching:
                    seen = Seen(*at, each.event.id, each.event.topic, matching & wanted, end)
                    found.setdefault(client, []).append(seen)
        elif each.kind in OF_CLIENTS and not each.client.startswith(GROUPS):
            found.setdefault(each.client, []).append(_own(run, each, at))
    return found


def _own(run: Run, record: Record, at: tuple[Place, float, str, Kind, str]) -> Seen:
    if record.event is not None:
        return Seen(*at, record.event.id, record.event.topic, run.matching(record))
    return Seen(*at, patterns=frozenset() if record.pattern is None else frozenset([run.numbers[record.pattern]]))


def causality(run: Run) -> Iterator[Finding]:
    sessions, judging, stretch = Sessions(), Causality(Sessions().where), list[Happened]()
    for each in run.records:
        event = each.event
        came = each.kind is Kind.TAKEN and event is None
        anew = (came or each.kind is not Kind.TAKEN) and sessions.see((each.node, each.client), each.kind, each.peer)
        if came or each.kind is not Kind.TAKEN:
            about = (event.source, event.seq, event.topic) if event is not None else ("", 0, "")
            stretch.append((each.time, each.node, each.kind, each.peer, each.client, each.detail, *about, anew))
        if each.kind is Kind.CALM:
            yield from judging.judge(stretch)
            judging, stretch = Causality(sessions.where), []
    yield from judging.judge(stretch)


def parasites(run: Run) -> Iterator[Finding]:
    tree: list[Entry] = []
    wants: list[Want] = []
    for entry, each in zip(run.entries(), run.records, strict=True):
        if each.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED) and each.pattern is not None:
            wants.append((entry, each.client, run.numbers[each.pattern]))
        else:
            tree.append(entry)
    calm = iter(stills(tree, wants))
    still, crossed = None, dict[tuple[str, int], list[tuple[str, str]]]()
    for each in run.records:
        if each.kind is Kind.CALM:
            still, crossed = next(calm), {}
        elif each.kind in DISTURBING:
            still = None
        elif still is not None and each.event is not None and each.kind is Kind.PUBLISHED:
            crossed[each.event.id] = []
        elif still is not None and each.event is not None and each.kind is Kind.FORWARDED and each.event.id in crossed:
            about = (each.time, each.node, each.peer, *each.event.id, each.event.topic, 1)
            if still.in_vain(each.node, each.peer, run.matching(each)):
                yield Finding("in vain", *about)
            link, before = (each.node, each.peer), crossed[each.event.id]
            if link in before or link[::-1] in before:
                yield Finding("crossed again", *about)
            before.append(link)
