"""Carrying a plan out: one move after another, with a line when one takes long; and looking at the routes afterwards.

A move that is refused, or of which nobody says what has become, is looked after on the tree as it is then: perhaps it
is made, or what is left has to be planned anew, because somebody else has changed the tree meanwhile. That is tried so
often; then what was done is undone, one move after another. Where even that is not clear or not possible, and where
the user ends the command, the last line says how far it has come, and the commands for both ways.

Owns: the order, and the lines on standard error. Must not know: how a move is made (see ``moves``).
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import msgspec
import typer

from reknit.cli._changes.calm import calm, decided, remembered
from reknit.cli._changes.chain import Chain, is_made
from reknit.cli._changes.moves import make
from reknit.cli._changes.plans import Plan, ends, plan_undo
from reknit.cli._changes.view import View, look
from reknit.cli._operator import Operator
from reknit.cli._problem import BadInput, Failed, GoesOn, Interrupted, Unanswered
from reknit.cli.verify_routes import compare
from reknit.core.overlay.history import REPLACE, SWAP
from reknit.core.overlay.shapes import Edge

__all__ = ["Done", "Routes", "carry_out", "verify"]

SETTLE_S_MAX = 5.0
SETTLE_POLL_S = 0.1

TRIES_MAX = 5
"""How often what is left is planned anew before a chain is given up; each move that is made gives one try back."""
AGAIN_S_MIN = 0.1
AGAIN_S_MAX = 1.0
"""Two that are in each other's way wait for different times."""


class Done(msgspec.Struct, frozen=True):
    change: str
    """The id of the whole."""
    steps: list[str]
    changes: list[str]
    """The ids of the steps."""
    seconds: float


def carry_out(operator: Operator, plan: Plan) -> Done:
    """``Failed`` and ``Interrupted`` say what was done before, and how to go on or back."""
    begun, chain = time.monotonic(), Chain.begin(plan)
    with _sigterm_as_interrupt():
        try:
            _go(operator, chain)
        except _CannotGoOn as error:
            _go_back(operator, chain, str(error))
    change = chain.of or next(iter(chain.ids), "")
    made = [str(deed) for deed in chain.done[len(plan.done) :]]
    return Done(change, made, chain.ids, time.monotonic() - begun)


class _CannotGoOn(Exception):
    """Nothing of the chain is under way, and what is left cannot be made."""


class _Terminated(KeyboardInterrupt):
    pass


def _go(operator: Operator, chain: Chain) -> None:
    """Until nothing is left."""
    tries = 0
    while chain.left:
        before = len(chain.done)
        if chain.total > 1:
            typer.echo(chain.progress, err=True)
        try:
            chain.asked = True
            chain.made(make(operator, chain.left[0], chain.known_as))
            chain.asked, tries = False, max(tries - 1, 0)
        except GoesOn as error:
            raise GoesOn(f"{error}{chain.how_far}") from None
        except Failed as error:
            tries += 1
            _look_again(operator, chain, error, tries)
        except KeyboardInterrupt as how:
            raise _interrupted(chain, how) from None
        if len(chain.done) > before:
            _refuse_surprise(operator, chain)


def _refuse_surprise(operator: Operator, chain: Chain) -> None:
    """``Failed`` if the plan says which tree there is after this move, and it is another one."""
    plan, made = chain.plan, len(chain.done) - len(chain.plan.done)
    if len(plan.trees) >= made and (surprise := _surprise(operator, plan.trees[made - 1])):
        what = f"after {chain.done[-1]} the tree is another than was planned: look at {surprise}"
        raise Failed(f"{plan.title}: {what}{chain.how_far}")


def _surprise(operator: Operator, expected: Sequence[Edge]) -> str:
    """A link that is there and should not be, or the other way round. What passes within a moment is none."""
    limit = time.monotonic() + SETTLE_S_MAX
    while True:
        found = look(operator).edges
        different = sorted({*found} ^ {*expected})
        if not different or time.monotonic() > limit:
            return " - ".join(different[0]) if different else ""
        time.sleep(SETTLE_POLL_S)


def _look_again(operator: Operator, chain: Chain, error: Failed, tries: int) -> None:
    """A move was refused, or nobody has answered. Find out, and plan what is left anew."""
    if not chain.can_be_planned_anew:
        _look_at_one(operator, chain, error)
        return
    move = chain.left[0]
    try:
        view = calm(operator, move.brokers if move.kind == SWAP else ())
        chain.asked = False
        if is_made(view, move):
            chain.made(_id_of(operator, chain))
            return
        _plan_anew(chain, view, str(error), tries)
        time.sleep(random.uniform(AGAIN_S_MIN, AGAIN_S_MAX))
    except GoesOn as open_end:
        raise GoesOn(f"{error}; {open_end}{chain.how_far}") from None
    except KeyboardInterrupt as how:
        raise _interrupted(chain, how) from None


def _look_at_one(operator: Operator, chain: Chain, error: Failed) -> None:
    """There is no other way to make this move: it is made, though nobody has said so, or it is not.

    Of one that was refused that is clear, unless it had begun: then its brokers have found a way of their own.
    """
    move = chain.left[0]
    open_end = isinstance(error, Unanswered) or (move.kind == REPLACE and _id_of(operator, chain))
    if move.kind not in (SWAP, REPLACE) or not open_end:
        raise error
    try:
        view = decided(operator, move.brokers, ends(move)[0])
    except GoesOn as unknown:
        raise GoesOn(f"{error}; {unknown}{chain.how_far}") from None
    except KeyboardInterrupt as how:
        raise _interrupted(chain, how) from None
    if not is_made(view, move):
        raise Failed(
            f"{error}; it was not made, and the tree is whole: see reknit topology; to try again: reknit {move}"
        )
    typer.echo(f"  {error}; it is made all the same", err=True)
    chain.asked = False
    chain.made(_id_of(operator, chain))


def _plan_anew(chain: Chain, view: View, why: str, tries: int) -> None:
    """Where there is no way on this tree, somebody may be in the middle of changing it: the move is asked for again."""
    before, result = list(chain.left), "what is left is planned anew on the tree as it is now"
    try:
        chain.plan_anew(view)
    except (BadInput, Failed) as refused:
        result = str(refused)
    if tries > TRIES_MAX or (chain.left == before and before[0].kind != SWAP):
        raise _CannotGoOn(why)
    typer.echo(f"  {why}; {result}, try {tries} of {TRIES_MAX}", err=True)


def _id_of(operator: Operator, chain: Chain) -> str:
    """Of a move that was made though nobody has said so, if somebody remembers it."""
    ids = [told.id for told in remembered(operator) if told.undo and told.deed == chain.left[0]]
    return next((name for name in reversed(ids) if name not in chain.ids), "")


def _go_back(operator: Operator, chain: Chain, why: str) -> None:
    """Undo what is done. Links that move each for itself stay where they are."""
    if not chain.done:
        raise Failed(why)
    if chain.plan.scattered:
        raise Failed(f"{why}{chain.how_far}")
    typer.echo(f"  {why}; going back", err=True)
    try:
        back = Chain.begin(plan_undo(calm(operator, ()), f"change undo {chain.of}", chain.done, {}))
    except (BadInput, Failed) as error:
        raise Failed(f"{why}; there is no way back, either: {error}{chain.how_far}") from None
    try:
        _go(operator, back)
    except GoesOn as error:
        raise GoesOn(f"{why}; going back: {error}") from None
    except (Failed, _CannotGoOn) as error:
        raise Failed(f"{why}; going back failed, too: {error}{back.how_far or chain.how_far}") from None
    steps = "step that was done is" if len(chain.done) == 1 else "steps that were done are"
    raise Failed(f"{why}; the {len(chain.done)} {steps} undone again: change {back.of or back.ids[-1]}")


def _interrupted(chain: Chain, how: KeyboardInterrupt) -> Interrupted:
    error = Interrupted(f"interrupted{chain.how_far or ': nothing was changed'}")
    if isinstance(how, _Terminated):
        error.exit_code = 128 + signal.SIGTERM
    return error


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Whoever ends this command by a signal is told how far it has come, too."""

    def end(signum: int, frame: FrameType | None) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Routes(msgspec.Struct, frozen=True):
    brokers: int
    differences: list[dict[str, str]]


def verify(operator: Operator) -> Routes:
    """Compare tables with the ideal ones; differences that pass within a moment are none."""
    limit = time.monotonic() + SETTLE_S_MAX
    while True:
        tables = {table["name"]: table for table in operator.all("/table")}
        differences = compare(tables)
        if not differences or time.monotonic() > limit:
            return Routes(len(tables), differences)
        time.sleep(SETTLE_POLL_S)
