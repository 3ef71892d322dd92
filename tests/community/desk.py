"""What the parts of a peer are tested at: a turn whose words can be read, and a peer that is spoken to."""

from __future__ import annotations

import random

from reknit.community.courier import Courier
from reknit.community.io import Deliver, Effect, Input, Received, Send
from reknit.community.options import CourierOptions, PeerOptions
from reknit.community.peer import Peer
from reknit.community.turn import Turn
from reknit.wire.peers import Ack, Sure, Word, decode_word, encode_word


def a_turn(seed: int = 1, me: str = "me") -> Turn:
    return Turn(me, random.Random(seed), observing=False)


def a_courier(turn: Turn) -> Courier:
    return Courier(turn, CourierOptions())


def said(effects: list[Effect]) -> list[tuple[str, Word]]:
    """What was sent, and to whom; words that are repeated until they are confirmed as they are, confirmations not."""
    words = [(each.to, decode_word(each.frame)) for each in effects if isinstance(each, Send)]
    plain = [(to, decode_word(word.frame) if isinstance(word, Sure) else word) for to, word in words]
    return [(to, word) for to, word in plain if not isinstance(word, Ack)]


def spoken(turn: Turn) -> list[tuple[str, Word]]:
    """The same of a turn, which then is empty."""
    effects, turn.effects = turn.effects, []
    return said(effects)


class Desk:
    """One peer, and whatever others say to it."""

    def __init__(self, options: PeerOptions | None = None, seed: int = 1) -> None:
        self.peer = Peer("me", options or PeerOptions(), random.Random(seed))
        self.now = 0.0
        self.number = 0

    def give(self, given: Input) -> list[Effect]:
        return self.peer.handle(given, self.now)

    def tell(self, sender: str, word: Word) -> list[tuple[str, Word]]:
        return said(self.give(Received(sender, encode_word(word))))

    def tell_surely(self, sender: str, word: Word) -> list[tuple[str, Word]]:
        self.number += 1
        return self.tell(sender, Sure(self.number, encode_word(word)))


def delivered(effects: list[Effect]) -> list[str]:
    return [each.event.topic for each in effects if isinstance(each, Deliver)]
