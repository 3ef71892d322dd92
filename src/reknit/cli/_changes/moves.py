"""Making one move of a plan: who is asked for it, what is said while it takes its time, and under which id it is known.

Owns: the requests. Must not know: plans. A swap is asked for at the broker whose link moves, a replacement at the first
of its path, a drain at the broker that is to leave; for a broker more, whoever looks after the network is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import typer

from reknit.cli._operator import Operator
from reknit.cli._problem import Failed, GoesOn
from reknit.core.overlay.history import ADD, DRAIN, REPLACE, SWAP, Deed

__all__ = ["make"]

LONG_S = 1.0
"""A move that takes longer is asked how far it is, so often."""
DRAIN_POLL_S = 0.1
DRAIN_S_MAX = 300.0
"""A drain goes on without this command; it only stops telling."""


def make(operator: Operator, deed: Deed, of: str) -> str:
    """Return its id once it is done. ``of``: the larger change that it is a step of."""
    return _MAKERS[deed.kind](operator, deed, of)


# --- a swap, or one link for another at once


def _swap(operator: Operator, deed: Deed, of: str) -> str:
    mover, middle, goal = deed.brokers
    return _asked_for(operator, mover, {"kind": "swap", "middle": middle, "goal": goal, "of": of})


def _replace(operator: Operator, deed: Deed, of: str) -> str:
    head, tail = deed.brokers[: deed.near + 1], deed.brokers[deed.near + 1 :]
    address = str(operator.get(tail[0], "/topology")["listen"])
    path = {"strategy": deed.strategy, "head": head, "tail": tail, "address": address}
    return _asked_for(operator, head[0], {"kind": "replace", **path, "of": of})


def _asked_for(operator: Operator, at: str, body: dict[str, Any]) -> str:
    asked: Future[dict[str, Any]] = Future()
    threading.Thread(target=_ask, args=(asked, operator, body, at), daemon=True).start()  # whoever ends, need not wait
    _until_answered(asked, operator, at)
    return str(asked.result()["change"])


def _ask(asked: Future[dict[str, Any]], operator: Operator, body: dict[str, Any], at: str) -> None:
    try:
        asked.set_result(operator.change("POST", "/changes", body, at))
    except Exception as error:
        asked.set_exception(error)


def _until_answered(asked: Future[dict[str, Any]], operator: Operator, at: str) -> None:
    """Say what it waits for, each time that this changes."""
    begun, last = time.monotonic(), ""
    while not _over(asked, LONG_S):
        now = _state(operator, at)
        if now != last:
            typer.echo(f"  {time.monotonic() - begun:.0f} s  {now}", err=True)
        last = now


def _over(asked: Future[dict[str, Any]], within_s: float) -> bool:
    try:
        asked.exception(within_s)
    except TimeoutError:
        return False
    return True


def _state(operator: Operator, at: str) -> str:
    try:
        said = operator.get(at, "/changes")
    except Failed as error:
        return str(error)
    if (each := said["under_way"]) is not None:
        return f"{at}: {each['stage']}, waits for {each['waits_for']}"
    return next((f"{at} will try again: {each['why']}" for each in said["waiting"]), f"{at} answers soon")


# --- a broker less


def _drain(operator: Operator, deed: Deed, of: str) -> str:
    name, heir = deed.brokers
    before = _known(operator, heir, deed)
    operator.change("POST", "/drain", {"of": of}, name)
    done = _until_gone(operator, deed, before)
    operator.forget(name)
    return done


def _until_gone(operator: Operator, deed: Deed, before: list[str]) -> str:
    """Its id, once the one that has its clients says so: a broker that is silent may be dead, or just slow."""
    (name, heir), last, until = deed.brokers, (0, 0), time.monotonic() + DRAIN_S_MAX
    while time.monotonic() < until:
        try:
            said = operator.get(name, "/drain")
        except Failed:
            said = {"state": "silent"}
        if said["state"] in ("failed", "none"):
            why = said["error"] or f"{name} was restarted, and knows nothing of it; try again"
            raise Failed(f"drain: {why}; {name} stays, and so do the sessions that have not moved")
        if said["state"] == "silent" and (done := _done_since(operator, deed, before)):
            return done
        now = (said.get("moved", last[0]), said.get("left", last[1]))
        if now != last:
            typer.echo(f"{name}: {said['state']}, {now[0]} of {sum(now)} sessions moved to {heir}", err=True)
        last = now
        time.sleep(DRAIN_POLL_S)
    how = f"see `reknit topology`; to stop it: reknit broker drain {name} --stop"
    raise GoesOn(f"drain: not done within {DRAIN_S_MAX:g} s; it goes on; {how}")


def _done_since(operator: Operator, deed: Deed, before: list[str]) -> str:
    try:
        return next((each for each in _known(operator, deed.brokers[1], deed) if each not in before), "")
    except Failed:
        return ""


# --- a broker more


def _add(operator: Operator, deed: Deed, of: str) -> str:
    name, link = deed.brokers
    typer.echo(f"starting {name} ...", err=True)
    operator.add_broker(name, link, of)
    return _known(operator, name, deed)[-1]


def _known(operator: Operator, at: str, deed: Deed) -> list[str]:
    """The ids of such deeds that were done, as far as this broker remembers."""
    history = operator.get(at, "/changes")["history"]
    same = [each for each in history if (each["kind"], tuple(each["brokers"])) == (deed.kind, deed.brokers)]
    return [str(each["id"]) for each in same if each["ended"] is not None and not each["error"]]


_MAKERS: dict[str, Callable[[Operator, Deed, str], str]] = {SWAP: _swap, REPLACE: _replace, ADD: _add, DRAIN: _drain}
