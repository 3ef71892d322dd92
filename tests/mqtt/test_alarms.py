from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.mqtt.alarms import Alarms

KEYS = st.tuples(st.just("k"), st.integers(0, 5))
STEPS = st.one_of(
    st.tuples(st.just("set"), KEYS, st.integers(0, 50)),
    st.tuples(st.just("cancel"), KEYS, st.just(0)),
    st.tuples(st.just("due"), KEYS, st.integers(0, 50)),
)


@given(st.lists(STEPS, max_size=60))
def test_it_does_what_a_plain_table_does(steps: list[tuple[str, tuple[str, int], int]]) -> None:
    alarms, table = Alarms(), dict[tuple[str, int], float]()
    for verb, key, time in steps:
        if verb == "set":
            alarms.set(key, time)
            table[key] = time
        elif verb == "cancel":
            alarms.cancel(key)
            table.pop(key, None)
        else:
            rung = alarms.due(time)
            assert [table[key] for key in rung] == sorted(at for at in table.values() if at <= time)
            table = {key: at for key, at in table.items() if at > time}
        assert alarms.next() == min(table.values(), default=None)


def test_alarms_of_one_time_ring_in_the_order_of_setting() -> None:
    alarms = Alarms()
    for number in (3, 1, 2):
        alarms.set(("k", number), 1.0)
    assert alarms.due(1.0) == [("k", 3), ("k", 1), ("k", 2)]


def test_stale_alarms_do_not_pile_up() -> None:
    alarms = Alarms()
    for time in range(10_000):
        alarms.set(("k", 1), float(time))
    assert len(alarms._heap) < 100
    for number in range(10_000):
        alarms.set(("k", number), 5.0)
        alarms.cancel(("k", number))
    assert len(alarms._heap) < 100
