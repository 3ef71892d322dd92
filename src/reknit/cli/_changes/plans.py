"""From a wish to moves: what brokers have to be asked for, one after another.

Owns: the strategies by name, and the checks that refuse a wish before anything is locked, with the nearest valid
command. Must not know: doors. A *move* is one deed, for which one broker is asked, or, for a broker more, whoever looks
after them. The brokers check again, for the tree may have changed since it was looked at.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count, pairwise
from typing import TypeAlias, get_args

from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput
from reknit.core.overlay.change import find_change
from reknit.core.overlay.history import ADD, DRAIN, REPLACE, SWAP, Deed, deed_of
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.core.overlay.strategy import StrategyName, why_unusable
from reknit.core.overlay.swap import NoReplacement, Step, after, plan_replacement, why_no_swap

__all__ = [
    "STRATEGIES",
    "Move",
    "Plan",
    "ends",
    "new_id",
    "plan_add",
    "plan_drain",
    "plan_link",
    "plan_swap",
    "plan_swaps",
    "plan_undo",
    "refuse_taken",
    "swaps",
    "tree_after",
]


Move: TypeAlias = Deed
"""What is asked for at the first of its brokers."""


@dataclass(frozen=True, slots=True)
class Plan:
    title: str
    """What is wanted, as a command."""
    moves: tuple[Move, ...]
    of: str = ""
    """The id of the whole, where it has several moves; it ends with their number."""
    scattered: bool = False
    """Whether its moves are about different links."""
    goal: str = ""
    """What it is after, as a command from which its moves can be found on another tree; empty if it is just these."""
    done: tuple[Move, ...] = ()
    """Of one that somebody has begun: what was made before."""
    trees: tuple[tuple[Edge, ...], ...] = ()
    """The links that there have to be after each move, in their order; empty where nobody looks."""

    @property
    def brokers(self) -> list[str]:
        """Whom it touches."""
        return sorted({name for move in self.moves for name in move.brokers})

    def said(self, done: bool) -> str:
        """What it does, as a sentence."""
        for kind, (one, other) in ((move.kind, move.brokers[:2]) for move in self.moves if move.kind in (ADD, DRAIN)):
            if kind == ADD:
                return f"{one} {'is' if done else 'would be'} linked with {other}"
            have = "has left, and its clients are" if done else "would leave, and its clients would be"
            return f"{one} {have} with {other}"
        if self.scattered or (len(self.moves) > 1 and not _slides(self.moves)):
            return f"{len(self.moves)} links {'have moved' if done else 'would move'}"
        become = "has become" if done else "would become"
        old, new = ends(self.moves[0])[0], ends(self.moves[-1])[1]  # one link slides along the tree
        return f"{' - '.join(old)} {become} {' - '.join(new)}"


def ends(move: Move) -> tuple[Edge, Edge]:
    """The link that goes, and the one that comes."""
    if move.kind == REPLACE:
        return move.ends
    mover, middle, goal = move.brokers
    return (mover, middle), (mover, goal)


def tree_after(edges: Sequence[Edge], move: Move) -> list[Edge]:
    """The links when the move is made."""
    if move.kind == SWAP:
        return after(edges, Step(*move.brokers))
    if move.kind == REPLACE:
        old, new = move.ends
        return [new if set(edge) == set(old) else edge for edge in edges]
    link = (move.brokers[0], move.brokers[1])
    return [*edges, link] if move.kind == ADD else [edge for edge in edges if set(edge) != set(link)]


def _checked(edges: Sequence[Edge], moves: Sequence[Move], title: str, word: str = "replace") -> Plan:
    """``word``: what the whole is called by, where it has several moves."""
    for move in moves:
        if move.kind == SWAP and (why := why_no_swap(edges, step := Step(*move.brokers))):
            raise BadInput(f"{title}: {why}{_nearest_swap(edges, step)}")
        edges = tree_after(edges, move)
    return Plan(title, tuple(moves), new_id(word, len(moves)) if len(moves) > 1 else "")


def new_id(word: str, moves: int) -> str:
    """Of a change that has so many moves."""
    return f"{word}.{secrets.token_hex(4)}-{moves}"


def swaps(steps: Iterable[Step]) -> list[Move]:
    return [Deed(SWAP, step) for step in steps]


# --- one swap


def plan_swap(view: View, step: Step) -> Plan:
    edges = view.edges
    view.check(
        *step,
        command=lambda *names: "" if why_no_swap(edges, Step(*names)) else f"swap {' '.join(names)}",
        otherwise=lambda *names: _instead_of_swap(edges, Step(*names)),
    )
    view.answers(step.mover, step.middle)
    return _checked(view.edges, swaps([step]), f"swap {' '.join(step)}")


def _nearest_swap(edges: Sequence[Edge], step: Step) -> str:
    """The command that comes nearest to a swap that is none, as the end of a sentence."""
    if len(find_path(edges, step.mover, step.goal)) == 2 and not why_no_swap(edges, step.inverse):
        return f"; to change that: reknit swap {' '.join(step.inverse)}"
    return f"; try: reknit {words}" if (words := _instead_of_swap(edges, step)) else ""


def _instead_of_swap(edges: Sequence[Edge], step: Step) -> str:
    """A valid command; empty if there is none. A guess that keeps less than the mover changes nothing by itself."""
    mover, middle, goal = step
    path = find_path(edges, mover, goal)
    if len(path) == len(Step._fields):
        return f"swap {' '.join(path)}"
    if len(path) > len(Step._fields):
        return _title(path[0], path[1], mover, goal)
    for near, far in _hops(edges, mover):
        if middle in (near, mover, goal):
            return f"swap {mover} {near} {far}"
    names = (mover, middle, goal, *sorted(adjacency(edges)))
    return next((f"swap {name} {near} {far} --dry-run" for name in names for near, far in _hops(edges, name)), "")


def _hops(edges: Sequence[Edge], name: str) -> list[Edge]:
    """Each neighbour, with each of its own."""
    adjacent = adjacency(edges)
    return [(near, far) for near in sorted(adjacent.get(name, ())) for far in sorted(adjacent[near]) if far != name]


# --- one link for another


def _swap_strategy(view: View, old: Edge, new: Edge, title: str) -> Plan:
    plan = _checked(view.edges, swaps(plan_replacement(view.edges, old, new)), title)
    view.answers(*(move.brokers[0] for move in plan.moves))
    return replace(plan, goal=title)


Strategy = Callable[[View, Edge, Edge, str], Plan]


def _at_once(name: str) -> Strategy:
    """The old link goes, the new one comes, and routes follow as the brokers' strategy of this name has it."""

    def plan(view: View, old: Edge, new: Edge, title: str) -> Plan:
        move = _replacement(view.edges, name, old, new)
        view.answers(move.brokers[0], move.ends[1][1])
        return Plan(title, (move,))

    return plan


def _replacement(edges: Sequence[Edge], name: str, old: Edge, new: Edge) -> Move:
    plan_replacement(edges, old, new)  # which refuses what is none, with the reason
    change = find_change(edges, name, old, new)
    assert change is not None
    return deed_of(change)


STRATEGIES: dict[str, Strategy] = {
    "swap": _swap_strategy,
    **{name: _at_once(name) for name in get_args(StrategyName)},
}
"""How a link can be replaced, by name. Each raises ``NoReplacement`` where the tree would not stay one."""


def plan_link(view: View, old: Edge, new: Edge, strategy: str) -> Plan:
    if strategy not in STRATEGIES:
        known = f"there is no strategy {strategy!r}; there are: {', '.join(STRATEGIES)}"
        raise BadInput(f"--strategy: {known}{_nearest_strategy(old, new, strategy)}")
    edges, by = view.edges, f" --strategy {strategy}" if strategy != "swap" else ""
    view.check(
        *old,
        *new,
        command=lambda a, b, c, d: f"{_title(a, b, c, d)}{by}" if _is_one(edges, (a, b), (c, d)) else "",
        otherwise=lambda a, b, c, d: _instead_of(edges, (a, b), (c, d), by),
    )
    try:
        plan = STRATEGIES[strategy](view, old, new, _title(*old, *new))
    except NoReplacement as refused:
        raise BadInput(f"link replace: {refused}{_nearest_replacement(edges, old, new, by)}") from None
    _refuse_unusable(view, strategy, plan)
    return plan


def _refuse_unusable(view: View, strategy: str, plan: Plan) -> None:
    """Before anything is locked: a strategy that the brokers on the path cannot use, as they route."""
    for name in plan.brokers if strategy != "swap" else ():
        routing, covering = view.routing(name)
        if why := why_unusable(strategy, routing == "subscription-forwarding", covering, name):
            raise BadInput(f"link replace: {why}; try: reknit {plan.title}")


def _nearest_strategy(old: Edge, new: Edge, strategy: str) -> str:
    """With the strategy whose name is most similar, or else the default."""
    close = get_close_matches(strategy, STRATEGIES, 1)
    return f"; try: reknit {_title(*old, *new)}{f' --strategy {close[0]}' if close else ''} --dry-run"


def _title(a: str, b: str, c: str, d: str) -> str:
    return f"link replace {a} {b} --with {c} {d}"


def _is_one(edges: Sequence[Edge], old: Edge, new: Edge) -> bool:
    """Is it a replacement?"""
    try:
        return bool(plan_replacement(edges, old, new))
    except NoReplacement:
        return False


def _nearest_replacement(edges: Sequence[Edge], old: Edge, new: Edge, by: str = "") -> str:
    """The command that comes nearest to a replacement that is none, as the end of a sentence.

    ``by``: the words that name its strategy.
    """
    return f"; try: reknit {words}" if (words := _instead_of(edges, old, new, by)) else ""


def _instead_of(edges: Sequence[Edge], old: Edge, new: Edge, by: str) -> str:
    """Which link can make room for the new one? One of those that it would close a cycle with."""
    path = find_path(edges, *new)
    if new[0] != new[1] and not path:
        return f"link add {' '.join(new)}"
    around = [edge for edge in pairwise(path) if set(edge) != set(new)]
    if len(around) < 2:  # the new link is there already, or is none
        return _other_link(edges, old, new, by)
    near = [edge for edge in around if set(edge) & set(old)] or around
    return f"{_title(*near[0], *new)}{by}"


def _other_link(edges: Sequence[Edge], old: Edge, new: Edge, by: str) -> str:
    """What could come instead of the old link; or it was meant the other way round; or it is another link's place.

    In the last case it is a guess, which changes nothing by itself.
    """
    if set(old) in [set(edge) for edge in edges]:
        return next((f"{_title(*old, *join)}{by}" for join in _joins(edges, old, new)), "")
    on_the_way = list(pairwise(find_path(edges, *old)))
    if set(new) in [set(edge) for edge in on_the_way]:
        return f"{_title(*new, *old)}{by}"
    near = [*on_the_way, *sorted(edges, key=lambda edge: -len({*edge} & {*old, *new}))]
    guesses = (_title(*link, *join) for link in near for join in _joins(edges, link, new))
    return next((f"{guess}{by} --dry-run" for guess in guesses), "")


def _joins(edges: Sequence[Edge], old: Edge, new: Edge) -> Iterator[Edge]:
    """Links that could come in the place of the old one, those with an end of the new one first."""
    rest = [edge for edge in edges if set(edge) != set(old)]
    one, other = (sorted({end, *_reached(rest, end)}, key=lambda name: (name not in new, name)) for end in old)
    return ((a, b) for a in one for b in other if {a, b} != set(old) and {a, b} != set(new))


def _reached(edges: Sequence[Edge], start: str) -> list[str]:
    return [name for edge in edges for name in edge if find_path(edges, start, name)]


# --- a broker more, or less


def plan_add(view: View, name: str, link: str) -> Plan:
    refuse_taken(view.names, name, f" --link {link}" if link in view.names else "")
    view.check(link, command=lambda known: f"broker add {name} --link {known}")
    return Plan(f"broker add {name} --link {link}", (Deed(ADD, (name, link)),))


def refuse_taken(names: Sequence[str], name: str, rest: str = "") -> None:
    """``rest``: the other words of the command."""
    if name in names:
        stem = name.rstrip("0123456789")
        free = next(each for number in count(1) if (each := f"{stem}{number}") not in names)
        taken = f"there is a broker {name!r} already; choose another name"
        raise BadInput(f"broker add: {taken}; try: reknit broker add {free}{rest}")


def plan_drain(view: View, name: str, heir: str = "") -> Plan:
    """The clients of ``name`` go to ``heir``, a neighbour; the links of all others are swapped over to it before."""
    adjacent = adjacency(view.edges)
    view.check(name, command=lambda known: f"broker drain {known} --dry-run" if known in adjacent else "")
    title, neighbours = f"broker drain {name}", sorted(adjacent.get(name, ()))
    if not neighbours:
        raise BadInput(f"{title}: {_why_nobody_takes(view, name)}")
    if heir and heir not in neighbours:
        raise BadInput(f"{title}: {heir} is no neighbour of it; try: reknit {title} --to {neighbours[0]}")
    goal = f"{title} --to {heir}" if heir else title
    heir = heir or neighbours[0]
    moves = swaps(Step(other, name, heir) for other in neighbours if other != heir)
    view.answers(name, heir, *(move.brokers[0] for move in moves))
    return replace(_checked(view.edges, [*moves, Deed(DRAIN, (name, heir))], title, DRAIN), goal=goal)


def _why_nobody_takes(view: View, name: str) -> str:
    if others := [other for other in view.names if other != name]:
        return f"it is linked with nobody, who could take its clients; try: reknit link add {others[0]} {name}"
    way_out = f"try: reknit broker add NAME --link {name}, or end the network with Ctrl-C where `reknit up` runs"
    return f"it is the last broker of its network: nobody could take its clients; {way_out}"


# --- swaps that were planned elsewhere


def plan_swaps(view: View, title: str, before: Sequence[Edge], steps: Sequence[Step]) -> Plan:
    """``before``: the tree that they were planned for. On another one they would not bring what they are to."""
    surprise = [edge for edge in before if edge not in view.edges] + [edge for edge in view.edges if edge not in before]
    if surprise:
        raise BadInput(f"{title}: the tree is another than the plan was made for: look at {' - '.join(surprise[0])}")
    view.answers(*(name for step in steps for name in (step.mover, step.middle)))
    plan = _checked(view.edges, swaps(steps), title, "plan")
    trees = list[tuple[Edge, ...]]()
    for step in steps:
        links = after(trees[-1] if trees else view.edges, step)
        trees.append(tuple(sorted((min(link), max(link)) for link in links)))
    return replace(plan, scattered=True, trees=tuple(trees))


# --- back


def plan_undo(view: View, title: str, done: Sequence[Deed], left: Mapping[str, str]) -> Plan:
    """The inverses, last first. ``left``: by broker that was drained, the change that has to be undone before."""
    moves = [deed.inverse for deed in reversed(done)]
    edges, added = view.edges, {move.brokers[0] for move in moves if move.kind == ADD}
    for name in (name for move in moves for name in move.brokers):
        if name in left and name not in view.names and name not in added:
            raise BadInput(f"{title}: {name} has left since; try: reknit change undo {left[name]}")
    for place, move in enumerate(moves):
        _refuse_undo(edges, move, title)
        moves[place] = _as_it_is_now(edges, move, title)
        edges = tree_after(edges, move)
    view.check(*(name for move in moves for name in move.brokers if name not in added))
    view.answers(*(move.brokers[0] for move in moves if move.kind != ADD))
    return _back(view.edges, moves, title)


def _back(edges: Sequence[Edge], moves: Sequence[Move], title: str) -> Plan:
    """A link that has slid along the tree slides back; along another path, where the former one is gone."""
    if not _slides(moves):
        return replace(_checked(edges, moves, title, "undo"), goal=title)
    old, new = ends(moves[0])[0], ends(moves[-1])[1]
    goal = _title(*old, *new)
    try:
        return replace(_checked(edges, moves, title, "undo"), goal=goal)
    except BadInput:
        if len(moves) == 1 or not _is_one(edges, old, new):
            raise
    return replace(_checked(edges, swaps(plan_replacement(edges, old, new)), title, "undo"), goal=goal)


def _slides(moves: Sequence[Move]) -> bool:
    """Is it one link that moves all the time?"""
    one = all(move.kind == SWAP for move in moves)
    return one and all(set(ends(move)[1]) == set(ends(then)[0]) for move, then in pairwise(moves))


def _as_it_is_now(edges: Sequence[Edge], move: Move, title: str) -> Move:
    """A replacement leads along the path that there is now, which may be another one than before."""
    if move.kind != REPLACE:
        return move
    old, new = move.ends
    try:
        return _replacement(edges, move.strategy, old, new)
    except NoReplacement as refused:
        raise BadInput(f"{title}: {refused}{_nearest_replacement(edges, old, new)}") from None


def _refuse_undo(edges: Sequence[Edge], move: Move, title: str) -> None:
    name, adjacent = move.brokers[0], adjacency(edges)
    if move.kind == ADD and name in adjacent:
        raise BadInput(f"{title}: there is a broker {name!r} again")
    if move.kind == DRAIN and list(adjacent.get(name, ())) != [move.brokers[1]]:
        raise BadInput(f"{title}: {name} has other links by now; try: reknit broker drain {name}")
