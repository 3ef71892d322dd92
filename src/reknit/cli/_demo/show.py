"""What a person sees of the demo: lines as it happens, and the verdict.

Owns: every word that is printed. Must not know: how anything was found out. On a terminal a bar shows how far the
events have come; elsewhere there are plain lines only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.tree import Tree

from reknit.cli._demo.clients import Sent
from reknit.cli._demo.play import Outcome
from reknit.cli._demo.verdict import Verdict
from reknit.cli._demo.world import Kind, Role
from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import Step
from reknit.live.statefile import NetworkState

__all__ = ["Printer", "Silence", "print_outcome"]

SAMPLES = 3


class Silence:
    """An audience that wants the outcome only."""

    def network(self, edges: Sequence[Edge], state: NetworkState) -> None: ...

    def clients(self, roles: Sequence[Role]) -> None: ...

    def said(self, sent: Sent) -> None: ...

    def killed(self, name: str, pid: int) -> None: ...

    def healing(self, seconds: float, left: str) -> None: ...

    def healed(self, name: str, seconds: float) -> None: ...

    def swapped(self, step: Step, seconds: float) -> None: ...

    def added(self, name: str, neighbour: str, seconds: float) -> None: ...

    def drained(self, name: str, heir: str, seconds: float) -> None: ...

    def stage(self, what: str) -> None: ...


class Printer:
    """An audience that tells the story on a console; a context manager, since it may hold a bar."""

    def __init__(self, console: Console, events: int) -> None:
        self._console = console
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=events)
        self._said = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def _line(self, text: str = "") -> None:
        _line(self._console, text)

    def stage(self, what: str) -> None:
        self._progress.update(self._task, description=what)
        if not self._console.is_terminal:
            self._line(f"... {what}")

    def network(self, edges: Sequence[Edge], state: NetworkState) -> None:
        self._line(f"{len(state.brokers)} brokers, each a process, linked as a tree:")
        self._console.print(_tree(edges, state), highlight=False, soft_wrap=True)
        self._line()

    def clients(self, roles: Sequence[Role]) -> None:
        kinds = ", ".join(f"{count} {kind}" for kind in Kind if (count := sum(role.kind is kind for role in roles)))
        speakers = sum(role.publishes for role in roles)
        self._line(f"{len(roles)} clients ({kinds}), {speakers} of them publish. Some of what they want:")
        for kind in Kind:
            for role in [each for each in roles if each.kind is kind][:SAMPLES]:
                self._line(f"  {role.name} at {role.broker}  {_wish(role)}")
        self._line()

    def said(self, sent: Sent) -> None:
        self._progress.advance(self._task)
        self._said += 1
        if self._said == 1:
            event = sent.event
            content = ", ".join(f"{name} = {value!r}" for name, value in event.view().items() if name != "id")
            self._line(f"an event: {event.topic}  ({content})")

    def killed(self, name: str, pid: int) -> None:
        self._line(f"killed {name} (kill -9 {pid}) after {self._said:,} events, while events flow")

    def healing(self, seconds: float, left: str) -> None:
        self._line(f"  {seconds:.2f} s  {left}")

    def healed(self, name: str, seconds: float) -> None:
        self._line(f"  {seconds:.2f} s  healed: {name} is back, its clients too; all links are up, all tables ideal")

    def swapped(self, step: Step, seconds: float) -> None:
        mover, middle, goal = step
        self._line(f"swapped in {seconds * 1e3:.0f} ms: {mover} - {middle} has become {mover} - {goal}")

    def added(self, name: str, neighbour: str, seconds: float) -> None:
        self._line(f"added in {seconds:.1f} s: {name}, a new broker, linked with {neighbour}; clients of its own come")

    def drained(self, name: str, heir: str, seconds: float) -> None:
        self._line(f"drained in {seconds:.1f} s: {name} has left; its clients go on at {heir}")


def _line(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _tree(edges: Sequence[Edge], state: NetworkState) -> Tree:
    adjacent = adjacency(edges)
    mqtt = {broker.name: broker.mqtt for broker in state.brokers}
    first = state.brokers[0].name
    tree = Tree(f"{first}  mqtt {mqtt[first]}")
    stack = [(first, "", tree)]
    while stack:
        name, parent, branch = stack.pop()
        for other in sorted(adjacent.get(name, ())):
            if other != parent:
                label = f"{other}  mqtt {mqtt[other]}"
                stack.append((other, name, branch.add(label)))
    return tree


def _wish(role: Role) -> str:
    topics = ", ".join(role.wish.topics)
    return f"{topics}  WHERE {role.wish.selector}" if role.wish.selector else topics


# --- the end


def print_outcome(outcome: Outcome, console: Console) -> None:
    def line(text: str = "") -> None:
        _line(console, text)

    line()
    _print_links(outcome, line)
    line()
    if outcome.swaps:
        came, went = outcome.added, outcome.drained
        line(f"while events flowed, {len(outcome.swaps)} links were swapped, {came} was added, and {went} was drained")
    away = outcome.away
    if away.clients:
        line(
            f"{outcome.killed}'s own clients ({' '.join(away.clients)}) lost their sessions, which live in memory: "
            f"they missed {away.missed:,} events; publications of theirs that were under way, and of which they "
            f"cannot know whether they were taken: {away.open}"
        )
    delay = outcome.delay_s
    half, most = delay["half"] * 1e3, delay["most"] * 1e3
    line(
        f"delay from client to client: half within {half:.0f} ms, 90 % within {most:.0f} ms; "
        f"the longest {delay['all']:.2f} s, of those that waited for {outcome.killed}"
    )
    line()
    _print_verdict(f"the trace of the brokers (without {outcome.killed}'s last moments)", outcome.trace, line)
    _print_verdict("the notes of the clients", outcome.clients, line)
    line(f"{'clean' if outcome.clean else 'NOT CLEAN'}, in {outcome.seconds:.0f} s (seed {outcome.seed})")


def _print_links(outcome: Outcome, line: Callable[[str], None]) -> None:
    traffic = outcome.traffic
    line(
        f"traffic: {traffic.events:,} of {outcome.clients.events:,} events crossed links {traffic.forwarded:,} times; "
        f"with flooding {traffic.flooded:,} times: {traffic.saved:.0%} saved"
    )
    line(f"  (not counted: events around the failure, since {outcome.killed} took its last records of them with it)")
    for link, count in sorted(traffic.links.items()):
        line(f"  {link}  {count:,} events, {count / max(traffic.events, 1):.0%} of all")


def _print_verdict(source: str, verdict: Verdict, line: Callable[[str], None]) -> None:
    line(f"{source}: {verdict.events:,} events, {verdict.deliveries:,} deliveries, {verdict.owed:,} of them owed")
    line(
        f"  lost {verdict.lost}  duplicated {verdict.duplicated}  out of order {verdict.out_of_order}  "
        f"unwanted {verdict.unwanted}" + (f"  other {verdict.other}" if verdict.other else "")
    )
    for fault in verdict.faults:
        line(f"  {fault}")
