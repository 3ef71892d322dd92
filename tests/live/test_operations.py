"""Commands of operators: each hears the reply to its own, and no one waits for ever."""

from __future__ import annotations

import asyncio

import pytest

from reknit.core.io import AddLink, Input, RemoveLink, Reply, Reshape, SwapLink
from reknit.live.operations import Operations
from tests.planning.surveys import crossed, settled


def test_each_hears_the_reply_to_his_own_request_whatever_their_order() -> None:
    async def play() -> None:
        fed: list[Input] = []
        operations = Operations(fed.append)
        adding = asyncio.create_task(operations.add_link("b2", "127.0.0.1:1"))
        removing = asyncio.create_task(operations.remove_link("b3"))
        swapping = asyncio.create_task(operations.swap_link("b2", "b3", "whole"))
        await asyncio.sleep(0)
        assert fed == [AddLink("b2", "127.0.0.1:1", 1), RemoveLink("b3", 2), SwapLink("b2", "b3", 3, "whole")]
        for reply in (Reply(99), Reply(3, "", "b1.7"), Reply(2, "no such link"), Reply(1)):
            operations.replied(reply)
        assert await asyncio.gather(adding, removing, swapping) == [
            Reply(1),
            Reply(2, "no such link"),
            Reply(3, "", "b1.7"),
        ]

    asyncio.run(play())


def test_a_reply_that_comes_while_the_command_is_fed_is_heard() -> None:
    async def play() -> None:
        operations: Operations
        operations = Operations(lambda _: operations.replied(Reply(1, "at once")))
        assert (await operations.remove_link("b2")).error == "at once"

    asyncio.run(play())


def test_the_wait_is_bounded_and_a_late_reply_harms_nobody() -> None:
    async def play() -> None:
        operations = Operations(lambda _: None, reply_s_max=0.01)
        with pytest.raises(TimeoutError):
            await operations.remove_link("b2")
        operations.replied(Reply(1))
        operations.replied(Reply(1))

    asyncio.run(play())


def test_of_two_replies_the_first_counts() -> None:
    async def play() -> None:
        operations: Operations

        def feed(_: Input) -> None:
            operations.replied(Reply(1, "first"))
            operations.replied(Reply(1, "second"))

        operations = Operations(feed)
        assert (await operations.remove_link("b2")).error == "first"

    asyncio.run(play())


def test_what_planning_finds_for_a_ring_is_ordered_and_nothing_else() -> None:
    async def play() -> None:
        ordered: asyncio.Queue[Input] = asyncio.Queue()
        operations = Operations(ordered.put_nowait, reply_s_max=5.0)
        operations.perform(settled())
        assert operations._improving is not None
        await operations._improving
        assert ordered.empty()
        operations.perform(crossed())
        operations.perform(crossed())  # one at a time
        order = await asyncio.wait_for(ordered.get(), 10.0)
        assert ordered.empty()
        assert isinstance(order, Reshape)
        assert order.base == crossed().base
        operations.perform(Reply(order.request))
        await operations._improving

    asyncio.run(play())
