"""Words that must not get lost, over datagrams that do.

A word is sent under a number until the receiver confirms it, a few times at most; the receiver confirms each copy and
acts on the first. Who has not confirmed the last copy either is taken for dead, and whoever sent the word learns which
one that was. Events go without this, since gossip repeats itself; but for one that somebody vouches for, which goes to
one of a few after the other, until one of them confirms it.

Owns: what waits to be confirmed, and which numbers have come. Must not know: what a word says.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from reknit.community.io import Send
from reknit.community.options import CourierOptions
from reknit.community.seen import Seen
from reknit.community.turn import Turn
from reknit.wire.peers import Ack, Sure, Word, encode_word

__all__ = ["COME_MAX", "Courier", "Failure"]

COME_MAX = 10_000
"""Numbers that have come, over all senders."""


@dataclass(frozen=True, slots=True)
class Failure:
    """``to`` has not confirmed ``word``."""

    to: str
    word: Word


@dataclass(slots=True)
class _Waiting:
    to: str
    word: Word
    frame: bytes
    tries_left: int
    wait_s: float
    next_at: float
    tries: int
    """For each of them."""
    others: tuple[str, ...]
    """Who is sent it if this one does not confirm it."""


class Courier:
    __slots__ = ("_come", "_options", "_turn", "_waiting")

    def __init__(self, turn: Turn, options: CourierOptions) -> None:
        self._turn = turn
        self._options = options
        self._waiting: dict[int, _Waiting] = {}
        self._come: Seen[tuple[str, int]] = Seen(COME_MAX)

    def send(self, to: str, word: Word) -> None:
        self._send(to, word, self._options.tries, ())

    def send_to_one(self, peers: tuple[str, ...], word: Word, tries: int) -> None:
        """To the first, so often at most; if that does not confirm it, to the next. ``Failure`` names the last."""
        self._send(peers[0], word, tries, peers[1:])

    def _send(self, to: str, word: Word, tries: int, others: tuple[str, ...]) -> None:
        number = self._turn.number()
        frame = encode_word(Sure(number, encode_word(word)))
        self._turn.effects.append(Send(to, frame))
        if len(self._waiting) >= self._options.waiting_max:
            self._turn.count("courier_full")
            return
        wait_s = self._options.retry_s
        self._waiting[number] = _Waiting(to, word, frame, tries - 1, wait_s, self._turn.now + wait_s, tries, others)

    def take(self, sender: str, sure: Sure) -> bool:
        """Confirm it; whether it has come for the first time."""
        self._turn.send(sender, Ack(sure.number))
        return self._come.is_first((sender, sure.number))

    def confirmed(self, sender: str, ack: Ack) -> None:
        waiting = self._waiting.get(ack.number)
        if waiting is None or waiting.to != sender:
            self._turn.count("unasked")  # or asked twice, and answered twice
        else:
            del self._waiting[ack.number]

    def is_waiting_for(self, *kinds: type[Word]) -> bool:
        """Whether a word of one of these kinds has not been confirmed."""
        return any(isinstance(each.word, kinds) for each in self._waiting.values())

    def deadline(self) -> float:
        return min((each.next_at for each in self._waiting.values()), default=inf)

    def due(self) -> list[Failure]:
        """Repeat what has not been confirmed; what has been repeated enough comes back."""
        failed = []
        for number, each in list(self._waiting.items()):
            if each.next_at > self._turn.now:
                continue
            if each.tries_left:
                each.tries_left -= 1
                each.wait_s *= self._options.backoff
                each.next_at = self._turn.now + each.wait_s
                self._turn.effects.append(Send(each.to, each.frame))
                continue
            del self._waiting[number]
            if each.others:
                self._send(each.others[0], each.word, each.tries, each.others[1:])
            else:
                failed.append(Failure(each.to, each.word))
        return failed
