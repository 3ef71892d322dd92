"""Waiting until it is clear what has become of a move: whoever was asked may have died, and the tree may be changing.

Owns: when to look at the tree, and for how long. Must not know: what is planned then.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import typer

from reknit.cli._changes.told import Told, tell
from reknit.cli._changes.view import View, look
from reknit.cli._operator import Operator
from reknit.cli._problem import GoesOn
from reknit.core.overlay.shapes import Edge, find_path

__all__ = ["calm", "decided", "remembered", "until_over"]

CALM_S_MAX = 30.0
"""A broker that has died may be back by then, and go on with what it was asked for."""
CALM_POLL_S = 0.1


def calm(operator: Operator, brokers: Sequence[str]) -> View:
    """The tree, once these have answered, and are in no change together; ``GoesOn`` if that takes too long."""
    until, last = time.monotonic() + CALM_S_MAX, ""
    while True:
        view = look(operator)
        why = view.silent(*brokers) or _under_way(operator, brokers)
        why = why or (f"the link {view.unsettled} is coming or going" if view.unsettled else "")
        if not why:
            return view
        if time.monotonic() > until:
            raise GoesOn(f"what has become of it is not known after {CALM_S_MAX:g} s: {why}")
        last = _say(why, last)


def decided(operator: Operator, brokers: Sequence[str], link: Edge) -> View:
    """The same of a move that may be over: once there is a way again between the ends of the link that was to go."""
    until = time.monotonic() + CALM_S_MAX
    while True:
        view = calm(operator, brokers)
        if find_path(view.edges, *link):
            return view
        if time.monotonic() > until:
            raise GoesOn(
                f"what has become of it is not known after {CALM_S_MAX:g} s: there is no way {' - '.join(link)}"
            )
        time.sleep(CALM_POLL_S)


def _under_way(operator: Operator, brokers: Sequence[str]) -> str:
    for said in (each.said for each in operator.ask("/changes") if each.said is not None):
        for entry in [*said["waiting"], *([said["under_way"]] if said["under_way"] else [])]:
            if _is_theirs(entry, brokers):
                return f"{said['name']} has not ended {entry['kind']} {' '.join(entry['brokers'])}"
    return ""


def _is_theirs(entry: dict[str, Any], brokers: Sequence[str]) -> bool:
    return list(entry["brokers"]) == list(brokers)


def _say(why: str, last: str) -> str:
    if why != last:
        typer.echo(f"  waiting: {why}", err=True)
    time.sleep(CALM_POLL_S)
    return why


def remembered(operator: Operator) -> list[Told]:
    """All changes, as far as brokers that answer remember them."""
    return tell([each.said for each in operator.ask("/changes") if each.said is not None])


def until_over(operator: Operator, of: str) -> None:
    """Wait for moves of this chain that somebody was asked for: they may still be made."""
    until, last = time.monotonic() + CALM_S_MAX, ""
    while open_ones := [told for told in remembered(operator) if of and told.of == of and told.ended is None]:
        why = f"{open_ones[0].deed}: {open_ones[0].outcome}"
        if time.monotonic() > until:
            raise GoesOn(f"{of}: one of its steps is not over after {CALM_S_MAX:g} s: {why}; try again later")
        last = _say(why, last)
