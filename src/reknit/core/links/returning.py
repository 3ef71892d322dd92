"""A link from which events come back that its far end cannot take any more.

On a tree a neighbour that has died is waited for, since there is no other way. On a ring there is: what is not settled
when the far end is given up, or has begun a life that knows nothing, is returned to those above, with the custody that
its frame had, and goes on by whatever way there is now.

Owns: what has come back, until somebody takes it. Must not know: where it is to go.
"""

from __future__ import annotations

from typing import TypeAlias

from reknit.core.links.custody import Custody
from reknit.core.links.link import Link
from reknit.core.links.options import LinkOptions
from reknit.core.turn import Turn
from reknit.wire.messages import RETURNING, Hello, Message

__all__ = ["Returned", "ReturningLink"]

Returned: TypeAlias = tuple[list[Message], list[Custody]]
"""Messages of one frame, and the custodies that it held: whoever takes these holds them."""


class ReturningLink(Link):
    def __init__(self, turn: Turn, peer: str, address: str, options: LinkOptions) -> None:
        super().__init__(turn, peer, address, options)
        self.lasting = (object,)  # until there is a session nothing has been said that could be void
        self.again = False  # this session is not the first
        self._returned: list[Returned] = []

    def renew(self, hello: Hello, session: int) -> None:
        self.again = self.session != 0
        if self.again:
            self._take_back()
        super().renew(hello, session)
        self.lasting = ()

    def end(self) -> None:
        self._take_back()
        super().end()

    def returned(self) -> list[Returned]:
        """What has come back since somebody asked last."""
        back, self._returned = self._returned, []
        return back

    def _take_back(self) -> None:
        self.flush()
        for item in self._outbox:
            messages: list[Message] = [each for each in item.messages if isinstance(each, RETURNING)]
            if messages:
                self._returned.append((messages, item.custodies))
                item.custodies = []
                item.messages = [each for each in item.messages if not isinstance(each, RETURNING)]

    @property
    def carries_events(self) -> bool:
        """Something is on its way to the far end that is not settled there."""
        return any(isinstance(each, RETURNING) for item in self._outbox for each in item.messages)
