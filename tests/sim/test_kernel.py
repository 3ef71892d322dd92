"""Virtual time: in order, ties in the order of asking, and never backwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.sim.kernel import Kernel


@given(st.lists(st.floats(0, 10), max_size=30))
def test_things_happen_in_order_and_ties_in_the_order_of_asking(times: list[float]) -> None:
    kernel = Kernel()
    seen: list[tuple[float, int]] = []
    for number, time in enumerate(times):
        kernel.at(time, lambda time, number: seen.append((kernel.now, number)), time, number)
    kernel.run()
    assert seen == sorted((time, number) for number, time in enumerate(times))
    assert len(kernel) == 0


def test_what_should_have_happened_happens_now_but_after_what_is_under_way() -> None:
    kernel = Kernel()
    seen: list[tuple[str, float]] = []

    def first() -> None:
        kernel.at(1.0, lambda: seen.append(("late", kernel.now)))
        seen.append(("first", kernel.now))

    kernel.at(5.0, first)
    kernel.at(5.0, lambda: seen.append(("second", kernel.now)))
    kernel.run()
    assert seen == [("first", 5.0), ("second", 5.0), ("late", 5.0)]


def test_until_is_included_and_time_goes_there_even_if_nothing_happens() -> None:
    kernel = Kernel()
    seen: list[float] = []
    for time in (1.0, 2.0, 2.1):
        kernel.at(time, lambda: seen.append(kernel.now))
    kernel.run(until=2.0)
    assert seen == [1.0, 2.0]
    assert kernel.now == 2.0
    kernel.run(until=2.05)
    assert kernel.now == 2.05
    kernel.after(0.5, lambda: seen.append(kernel.now))
    kernel.run()
    assert seen == [1.0, 2.0, 2.1, 2.55]
