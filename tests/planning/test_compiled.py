from __future__ import annotations

import numpy as np
import pytest

from reknit.planning.counts import Counts, compiled_is_there, make_account
from reknit.planning.greedy import ssbr_greedy
from tests.planning.instances import some_problem

pytestmark = pytest.mark.skipif(not compiled_is_there(), reason="numba, of the extra `plan`, is not installed")


def test_it_goes_the_same_way_as_arrays_do() -> None:
    """``test_counts`` holds both to the plain computation."""
    from reknit.planning.compiled import Compiled

    problem, places = some_problem(60, 20, 4, seed=2), np.arange(60, dtype=np.int32)
    compiled, arrays = make_account(problem, places), make_account(problem, places, "arrays")
    assert type(compiled) is Compiled
    assert type(arrays) is Counts
    assert ssbr_greedy(compiled) == ssbr_greedy(arrays) != []
