"""DYNATOPS, section 6.1.2."""

from __future__ import annotations

import numpy as np
import pytest

from reknit.lab.interests import Interests


@pytest.mark.parametrize(("pattern", "modes"), [("uniform", 1), ("zipf", 1), ("multimodal", 10)])
def test_every_user_wants_different_topics(pattern: str, modes: int) -> None:
    found = Interests(pattern, 100, 5, modes).draw(500, np.random.default_rng(1))  # type: ignore[arg-type]
    assert found.shape == (500, 5)
    assert all(len(set(row)) == 5 for row in found.tolist())
    assert found.min() >= 0
    assert found.max() < 100


def test_zipf_is_shifted_by_one() -> None:
    """ "The probability for the i-th topic in the topic space is proportional to (i + 1) ** -sigma"."""
    found = Interests("zipf", 10, 1).draw(20_000, np.random.default_rng(1))
    shares = np.bincount(found[:, 0], minlength=10) / 20_000
    expected = 1 / np.arange(2, 12)
    assert shares == pytest.approx(expected / expected.sum(), abs=0.01)


def test_topics_of_a_user_are_of_one_mode_and_stay_there() -> None:
    """ "A user first randomly select a interested modes and then choose topics uniformly at random from" it."""
    interests, rng = Interests("multimodal", 100, 5, 10), np.random.default_rng(1)
    found = interests.draw(200, rng)
    assert (found // 10 == found[:, :1] // 10).all()
    assert len({int(row[0]) // 10 for row in found}) == 10
    after = interests.replacement(found[0], rng)
    assert (after // 10 == found[0, 0] // 10).all()
    assert (after != found[0]).sum() == 1
    assert len(set(after.tolist())) == 5


def test_who_wants_all_changes_nothing() -> None:
    interests, rng = Interests("multimodal", 10, 5, 2), np.random.default_rng(1)
    found = interests.draw(1, rng)[0]
    assert (interests.replacement(found, rng) == found).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="one of uniform, zipf, multimodal"):
        Interests("normal", 10, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="11 topics for each user, of 10"):
        Interests("uniform", 10, 11)
    with pytest.raises(ValueError, match="10 topics in 3 modes"):
        Interests("multimodal", 10, 2, 3)
