"""Algorithm 2 of DYNATOPS, steps 2 and 3, on a ring of eight."""

from __future__ import annotations

import msgspec
import numpy as np

from reknit.core.io import Survey
from reknit.model.ring import ring_id
from reknit.planning.notification import Problem, cost
from reknit.planning.ring import Ring
from reknit.planning.survey import better_places
from tests.planning.surveys import TOPIC, crossed, settled, survey_of


def cost_of(survey: Survey, ids: list[int]) -> float:
    ring = Ring(ids)
    wants = np.array([[bool(wanted) for wanted in survey.wants]])
    problem = Problem(ring, (ring_id(TOPIC),), wants, np.array([survey.events[0][1]]))
    return cost(problem, [ring.ids.index(number) for number in ids])


def test_a_broker_that_is_far_from_its_only_topic_comes_to_the_root() -> None:
    survey = crossed()
    found = better_places(survey)
    assert sorted(was for _, was in found) == sorted(spot[0] for spot, _ in found) == [spot[0] for spot in survey.spots]
    assert [(name, was) for (_, name, _), was in found] == [(name, number) for number, name, _ in survey.spots]
    before = cost_of(survey, [number for number, _, _ in survey.spots])
    assert (before, cost_of(survey, [spot[0] for spot, _ in found])) == (5e6, 0.0)
    assert better_places(survey) == found


def test_nothing_changes_where_it_cannot_pay() -> None:
    """ "If Bft(X, X') <= Cst(X, X') return to step 1"; and the test before, where demand is low."""
    assert better_places(settled()) == ()
    assert better_places(survey_of({"b7"}, 1.0)) == ()
    assert better_places(survey_of(set(), 1e6)) == ()
    alone = crossed()
    assert better_places(msgspec.structs.replace(alone, spots=alone.spots[:1], wants=alone.wants[:1])) == ()
