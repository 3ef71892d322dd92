"""What a broker knows of planned changes while they are under way, and how that is shown to operators.

Owns: the shape of a lock and of a wish, and which change a message is about. Must not know: how a path is walked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reknit.core.io import Replace
from reknit.core.overlay.change import Place, make_change
from reknit.core.overlay.history import deed_of, plain_deed
from reknit.wire.messages import Change, ChangeMessage, Commit, Flush, Prepare, Rec

__all__ = ["Asked", "Lock", "id_of", "others_of", "place_of", "shown_lock", "shown_wish"]


@dataclass(slots=True)
class Lock:
    """This broker is taken by a change."""

    prepare: Prepare
    place: Place
    expires: float
    since: float
    gone: bool = False  # the old link is gone here: there is no way back but another change
    address: str = ""  # of the other end of the old link
    committed: bool = False  # at the first: all have agreed
    left: bool = False  # at the first: both ends have let go of it
    flushed: bool = False  # at the first: what the other end has said because of that has been heard along the path

    @property
    def change(self) -> Change:
        return self.place.change


@dataclass(slots=True)
class Asked:
    """A change that an operator wants, or a repair: then the neighbour that was lost is ``lost``."""

    wish: Replace
    begun: float
    try_at: float
    tries: int = 0
    id: str = ""  # of the attempt under way
    last: str = ""  # why it is not tried right now
    change: str = ""  # the last attempt, as the history has it
    lost: str = ""


def others_of(lock: Lock) -> dict[str, str]:
    """Who could join this broker with the tree again, once the old link is gone here: that one's other end.

    For the first, the far end of the new link, too. With addresses.
    """
    old, far = lock.place.old_peer, lock.change.path[lock.change.near + 1]
    found = {old: lock.address} if old else {}
    return found | ({far: lock.prepare.address} if lock.place.is_first else {})


def shown_lock(lock: Lock) -> dict[str, Any]:
    """Plain values only."""
    place, far = lock.place, lock.change.path[lock.change.near + 1]
    if place.is_last or (lock.gone and place.is_far):
        waits_for = place.before
    else:
        waits_for = far if lock.gone else place.behind
    shown = {"id": lock.change.id, "part": place.part, "stage": "left" if lock.gone else "locked"}
    return {**shown, **plain_deed(deed_of(lock.change)), "since": lock.since, "waits_for": waits_for}


def shown_wish(asked: Asked) -> dict[str, Any]:
    """Plain values only."""
    change = make_change("", asked.wish.strategy, asked.wish.head, asked.wish.tail)
    return {**plain_deed(deed_of(change)), "since": asked.begun, "why": asked.last}


def id_of(message: ChangeMessage) -> str:
    """The id of the change that a message is about."""
    return message.change.id if isinstance(message, Prepare | Commit | Rec | Flush) else message.id


def place_of(message: ChangeMessage, broker: str) -> Place | None:
    """Where the broker stands in the change that a message brings along; None if it brings none."""
    return Place.find(message.change, broker) if isinstance(message, Prepare | Commit | Rec | Flush) else None
