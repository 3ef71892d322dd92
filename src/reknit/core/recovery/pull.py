"""Pulls by pattern: what all of them do with a question that comes by.

Whoever has some of the events sends them to the asker, past the tree, takes them off the list, and passes on the rest;
where nothing is left, the question has come to its end (erratum 6). Whom it is passed on to is its *manner*: towards
subscribers, by those who do not want the pattern themselves always, by the others with some chance, for it must reach
somebody with whom such events gather (erratum 3); to anybody; or to everybody, as the last resort.

Owns: the way of a question. Must not know: how it came to be asked.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Triple
from reknit.wire.messages import Manner, Misses

__all__ = ["ask_for", "receive_misses"]


def ask_for(
    talk: Talk, signature: int, manner: Manner, towards: list[str], which: Callable[[Triple], bool] | None = None
) -> bool:
    """Ask these neighbours for what is missing of a pattern, if it is such. False if nothing is, for now."""
    lost = talk.missing(signature, talk.options.digest_numbers_max, which) if towards else []
    if lost:
        talk.tell(towards, Misses(talk.begin(), manner, signature, talk.age_s(signature), lost, 0))
    return bool(lost)


def receive_misses(talk: Talk, sender: str, message: Misses) -> None:
    if not talk.is_new(message.asker) or not talk.is_entitled(message.signature, sender):
        return
    found, missing = talk.take_out(message.signature, message.age_s, message.lost)
    talk.answer(message.asker, found)
    if missing and message.hops < talk.options.hops_max:
        signature, hops = message.signature, message.hops + 1
        rest = Misses(message.asker, message.manner, signature, message.age_s, missing, hops)
        talk.tell(_next(talk, sender, message), rest)


def _next(talk: Talk, sender: str, message: Misses) -> list[str]:
    others = [name for name in talk.neighbours() if name != sender]
    match message.manner:
        case Manner.EVERYBODY:
            return others
        case Manner.ANYBODY:
            return talk.some(others) if talk.rng.random() < talk.options.forward else []
        case Manner.SUBSCRIBERS:
            wants_it = message.signature in talk.signatures.own
            if wants_it and talk.rng.random() >= talk.options.forward:
                return []
            return talk.some(talk.towards(message.signature, apart_from=sender))
