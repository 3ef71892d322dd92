"""What brokers say when a link is replaced by another; see ``messages``.

Owns: these words; ``messages`` lends them out. Must not know: how a link is replaced.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.pattern import Pattern

__all__ = [
    "Abort",
    "AskHeld",
    "Change",
    "ChangeMessage",
    "Commit",
    "Ctrl",
    "Done",
    "Flush",
    "Held",
    "Prepare",
    "Prepared",
    "Rec",
]


class Change(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A link is replaced: the one between the ends of ``path`` goes, the one behind ``near`` comes.

    ``path``: all brokers from the first end of the old link to its second, by way of the new link, which leads from
    ``path[near]`` to the next. ``strategy``: how routes follow.
    """

    id: str
    strategy: str
    path: list[str]
    near: int


class Prepare(msgspec.Struct, array_like=True, tag=20, frozen=True, gc=False):
    """Walks the path: is it as said, and is everybody free? Who agrees is locked. ``address``: of the link's far end.

    ``vanished``: the old link is gone already.
    """

    change: Change
    address: str
    vanished: bool


class Prepared(msgspec.Struct, array_like=True, tag=21, frozen=True, gc=False):
    """Walks back: all agree; or why not. ``retry``: only for now."""

    id: str
    error: str
    retry: bool


class Abort(msgspec.Struct, array_like=True, tag=22, frozen=True, gc=False):
    """Walks the path: the change will not be."""

    id: str


class Commit(msgspec.Struct, array_like=True, tag=23, frozen=True, gc=False):
    """Walks to the new link, where routes follow by plain subscriptions: the old link is gone, use the new one."""

    change: Change


class Rec(msgspec.Struct, array_like=True, tag=24, frozen=True, gc=False):
    """The paper's RECMSG, in parts of bounded size; what it asks for is done with the last one.

    ``add``: what is now wanted from behind the receiver; ``delete``: what the sender does not want any more.
    ``digest``: stands for ``add`` where the receiver can know it.
    """

    change: Change
    add: list[Pattern]
    delete: list[Pattern]
    digest: bytes
    last: bool


class Ctrl(msgspec.Struct, array_like=True, tag=25, frozen=True, gc=False):
    """The paper's CTRLMSG: the ``Rec`` of this change has been handled."""

    id: str


class Flush(msgspec.Struct, array_like=True, tag=26, frozen=True, gc=False):
    """The paper's FLUSHMSG: what this change takes down behind the sender has been said, before this."""

    change: Change


class AskHeld(msgspec.Struct, array_like=True, tag=27, frozen=True, gc=False):
    """The digest does not fit: what do you take me to want?"""

    id: str


class Held(msgspec.Struct, array_like=True, tag=28, frozen=True, gc=False):
    """The answer, in parts: what the sender takes the receiver to want."""

    id: str
    patterns: list[Pattern]
    last: bool


class Done(msgspec.Struct, array_like=True, tag=29, frozen=True, gc=False):
    """Walks both ways from the new link's far end: the change is over, and its locks are void."""

    id: str


ChangeMessage: TypeAlias = Prepare | Prepared | Abort | Commit | Rec | Ctrl | Flush | AskHeld | Held | Done
