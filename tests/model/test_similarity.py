"""How alike a user and a broker are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.similarity import SIMILARITIES


def test_the_measures_at_hand() -> None:
    assert [measure(2, 4, 8) for measure in SIMILARITIES.values()] == pytest.approx([1 / 2, 1 / 5, 2 / 32**0.5])


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_user_without_topics_is_like_nobody(name: str) -> None:
    assert SIMILARITIES[name](0, 0, 5) == SIMILARITIES[name](0, 0, 0) == 0.0


@pytest.mark.parametrize("name", SIMILARITIES)
@given(user=st.integers(1, 50), broker=st.integers(1, 50), data=st.data())
def test_it_lies_between_nothing_and_one_and_grows_with_what_is_common(
    name: str, user: int, broker: int, data: st.DataObject
) -> None:
    most = min(user, broker)
    common = data.draw(st.integers(0, most))
    measure = SIMILARITIES[name]
    assert 0.0 <= measure(common, user, broker) <= measure(most, user, broker) <= 1.0 + 1e-12
