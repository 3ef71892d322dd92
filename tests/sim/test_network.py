"""The network between brokers: what streams and datagrams promise, and what each fault does to them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.io import Accepted, DialFailed, Dialled, Input, Lost, Received
from reknit.sim.kernel import Kernel
from reknit.sim.network import Network, NetworkOptions


class Pair:
    """Nodes ``a`` and ``b``, and what they were given; ``a`` has dialled ``b``."""

    def __init__(self, seed: int = 1, dial: bool = True, **options: object) -> None:
        self.kernel = Kernel()
        self.given: dict[str, list[Input]] = {"a": [], "b": []}
        self.times: list[float] = []
        self.alive = {"a": True, "b": True}
        self.network = Network(
            self.kernel,
            NetworkOptions(**options),  # type: ignore[arg-type]
            random.Random(seed),
            self._give,
            self.alive.__getitem__,
        )
        self.near = self.far = 0
        if dial:
            self.network.dial("a", "b")
            self.kernel.run()
            [dialled], [accepted] = self.given["a"], self.given["b"]
            assert isinstance(dialled, Dialled)
            assert isinstance(accepted, Accepted)
            self.near, self.far = dialled.conn, accepted.conn
            self.clear()

    def _give(self, node: str, given: Input) -> None:
        self.given[node].append(given)
        self.times.append(self.kernel.now)

    def clear(self) -> None:
        self.given["a"].clear()
        self.given["b"].clear()

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self.network.send(self.near, frame)

    def arrived(self) -> list[bytes]:
        return [each.frame for each in self.given["b"] if isinstance(each, Received)]


@given(st.integers(), st.lists(st.floats(0, 0.1), min_size=1, max_size=30))
def test_a_stream_keeps_the_order_and_loses_nothing(seed: int, gaps: list[float]) -> None:
    pair = Pair(seed, latency_s_max=0.5)
    frames = [bytes((number,)) for number in range(len(gaps))]
    for gap, frame in zip(gaps, frames, strict=True):
        pair.kernel.run(until=pair.kernel.now + gap)
        pair.send(frame)
    pair.kernel.run()
    assert pair.arrived() == frames
    assert pair.network.traffic.frames == pair.network.traffic.bytes == len(frames)


@given(st.integers(), st.lists(st.tuples(st.sampled_from(["send", "cut", "heal"]), st.floats(0, 0.4)), max_size=40))
def test_a_stream_keeps_the_order_through_cuts_that_begin_and_end_while_frames_are_under_way(
    seed: int, deeds: list[tuple[str, float]]
) -> None:
    pair, frames = Pair(seed, latency_s_max=0.5), list[bytes]()
    for deed, gap in deeds:
        pair.kernel.run(until=pair.kernel.now + gap)
        match deed:
            case "send":
                frames.append(bytes((len(frames),)))
                pair.send(frames[-1])
            case "cut":
                pair.network.cut("a", "b")
            case "heal":
                pair.network.heal()
    pair.network.heal()
    pair.kernel.run()
    assert pair.arrived() == frames


def test_latencies_are_as_told() -> None:
    pair = Pair(latency_s_min=0.1, latency_s_max=0.3)
    start = pair.kernel.now
    pair.times.clear()
    pair.send(b"x")
    pair.kernel.run()
    assert 0.1 <= pair.times[0] - start <= 0.3


@settings(max_examples=20)
@given(st.integers())
def test_datagrams_get_lost_doubled_and_out_of_order(seed: int) -> None:
    pair = Pair(seed, datagrams=True, loss=0.3, duplication=0.3, latency_s_max=0.5)
    frames = [number.to_bytes(2, "big") for number in range(300)]
    pair.send(*frames)
    pair.kernel.run()
    arrived, traffic = pair.arrived(), pair.network.traffic
    assert set(arrived) < set(frames)
    assert arrived != sorted(arrived)
    assert len(arrived) == len(frames) - traffic.lost + traffic.duplicated
    assert traffic.lost > 0
    assert traffic.duplicated > 0


def test_a_cut_holds_a_stream_back_in_one_direction_until_it_heals() -> None:
    pair = Pair()
    pair.network.cut("a", "b")
    pair.send(b"1", b"2")
    pair.network.send(pair.far, b"back")
    pair.kernel.run()
    assert pair.arrived() == []
    assert pair.given["a"] == [Received(pair.near, b"back")]
    pair.network.heal()
    pair.send(b"3")
    pair.kernel.run()
    assert pair.arrived() == [b"1", b"2", b"3"]


def test_a_cut_stops_what_is_under_way_too() -> None:
    pair = Pair()
    pair.send(b"1")
    pair.network.cut("a", "b")
    pair.kernel.run()
    assert pair.arrived() == []
    pair.network.heal()
    pair.send(b"2")
    pair.kernel.run()
    assert pair.arrived() == [b"1", b"2"]


def test_on_datagrams_what_is_cut_off_is_gone() -> None:
    pair = Pair(datagrams=True)
    pair.network.cut("a", "b")
    pair.send(b"1")
    pair.network.heal()
    pair.kernel.run()
    assert pair.arrived() == []
    assert pair.network.traffic.lost == 1


@pytest.mark.parametrize("why", ["dead", "cut there", "cut back"])
def test_who_cannot_be_reached_cannot_be_dialled(why: str) -> None:
    pair = Pair(dial=False)
    if why == "dead":
        pair.alive["b"] = False
    elif why == "cut there":
        pair.network.cut("a", "b")
    else:
        pair.network.cut("b", "a")
    pair.network.dial("a", "b")
    pair.kernel.run()
    assert pair.given == {"a": [DialFailed("b", "no answer")], "b": []}


def test_a_broken_connection_is_lost_at_both_ends_with_what_is_on_it() -> None:
    pair = Pair()
    pair.send(b"1")
    assert pair.network.break_connection("a", "b")
    pair.kernel.run()
    assert pair.given["a"] == [Lost(pair.near, "connection reset")]
    assert pair.given["b"] == [Lost(pair.far, "connection reset")]
    assert not pair.network.break_connection("a", "b")


def test_a_close_is_noticed_behind_what_was_sent() -> None:
    pair = Pair(latency_s_max=0.5)
    pair.send(b"1", b"2")
    pair.network.close(pair.near)
    pair.send(b"never")
    pair.kernel.run()
    assert pair.given["b"] == [Received(pair.far, b"1"), Received(pair.far, b"2"), Lost(pair.far, "closed by a")]
    assert pair.given["a"] == []


def test_a_crash_is_noticed_by_the_others() -> None:
    pair = Pair()
    pair.network.crash("a")
    pair.kernel.run()
    assert pair.given == {"a": [], "b": [Lost(pair.far, "a crashed")]}


def test_a_crash_behind_a_cut_is_noticed_only_by_sending() -> None:
    pair = Pair()
    pair.network.cut("a", "b")
    pair.network.crash("a")
    pair.kernel.run()
    assert pair.given["b"] == []
    pair.network.heal()
    pair.network.send(pair.far, b"anyone?")
    pair.kernel.run()
    assert pair.given["b"] == [Lost(pair.far, "connection reset")]


@given(st.integers())
def test_the_seed_decides(seed: int) -> None:
    def run() -> list[float]:
        pair = Pair(seed, datagrams=True, loss=0.2, duplication=0.2)
        pair.send(*(bytes((number,)) for number in range(20)))
        pair.kernel.run()
        return pair.times

    assert run() == run()


def test_a_link_may_have_a_latency_of_its_own() -> None:
    pair = Pair()
    pair.network.latency_of = lambda one, other: 0.25 if (one, other) == ("a", "b") else 0.5
    start = pair.kernel.now
    pair.times.clear()
    pair.send(b"x", b"y")
    pair.kernel.run()
    assert pair.times == pytest.approx([start + 0.25, start + 0.25])
