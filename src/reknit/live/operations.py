"""Commands of operators to the core, and the replies for which they wait.

Owns: the numbers of requests, and who waits for which reply, for how long; and the one operator that is a program: what
planning finds for a ring is ordered like anything else. Must not know: how a command is carried out, or by which door
an operator came.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable

from reknit.core.io import AddLink, Input, RemoveLink, Reply, Reshape, Survey, SwapLink

__all__ = ["REPLY_S_MAX", "Operations"]

REPLY_S_MAX = 30.0
"""How long a command may take before its caller is told that the outcome is open."""


class Operations:
    def __init__(self, feed: Callable[[Input], None], reply_s_max: float = REPLY_S_MAX) -> None:
        """``feed``: gives the core one input, in a turn of its own."""
        self._feed = feed
        self._reply_s_max = reply_s_max
        self._requests = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._improving: asyncio.Task[None] | None = None

    async def add_link(self, peer: str, address: str) -> Reply:
        """Join two trees; the reply says why it was refused, if it was."""
        return await self.operate(lambda request: AddLink(peer, address, request))

    async def remove_link(self, peer: str) -> Reply:
        return await self.operate(lambda request: RemoveLink(peer, request))

    async def swap_link(self, middle: str, goal: str, of: str = "") -> Reply:
        """Turn the link to ``middle`` into one to ``goal``; the reply names the change."""
        return await self.operate(lambda request: SwapLink(middle, goal, request, of))

    async def operate(self, command: Callable[[int], Input]) -> Reply:
        """Feed the command of this request and wait for its reply; ``TimeoutError`` if none comes."""
        request = next(self._requests)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request] = reply
        try:
            self._feed(command(request))
            return await asyncio.wait_for(reply, self._reply_s_max)
        finally:
            del self._waiting[request]

    def perform(self, effect: Reply | Survey) -> None:
        if isinstance(effect, Reply):
            self.replied(effect)
        elif self._improving is None or self._improving.done():
            self._improving = asyncio.get_running_loop().create_task(self.improve(effect))

    async def improve(self, survey: Survey) -> None:
        """Look beside the loop for a better way to place brokers on a ring, and order what is found. One at a time."""
        from reknit.planning.survey import better_places

        if places := await asyncio.to_thread(better_places, survey):
            with contextlib.suppress(TimeoutError):  # the core says in its trace how it went
                await self.operate(lambda request: Reshape(survey.base, places, request))

    def replied(self, effect: Reply) -> None:
        """The core has answered; one that nobody waits for any longer is passed over."""
        reply = self._waiting.get(effect.request)
        if reply is not None and not reply.done():
            reply.set_result(effect)
