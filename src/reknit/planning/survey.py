"""A better way to place the brokers of a ring, from what its manager has seen: Algorithm 2 of DYNATOPS, steps 2 and 3.

Owns: the question as a problem of planning, and the answer as places. Must not know: how the manager has seen it, or
how places are changed.
"""

from __future__ import annotations

import numpy as np

from reknit.core.io import Survey
from reknit.model.ring import ring_id
from reknit.planning.change import is_reconfigurable
from reknit.planning.counts import make_account
from reknit.planning.notification import Problem
from reknit.planning.ring import Ring
from reknit.planning.search import Bounds, better_search
from reknit.wire.planes import Place

__all__ = ["better_places"]

TRIALS = 15
"""Of the search's warm stage, for each broker."""
SMALL = 10_000
"""With fewer brokers times topics, arrays are quicker than to load what is compiled."""


def better_places(survey: Survey) -> tuple[Place, ...]:
    """Where everybody is to be, and was; nothing if no change pays. The same survey gives the same places."""
    brokers = len(survey.spots)
    topics = sorted({topic for wants in survey.wants for topic in wants})
    if brokers < 2 or not topics:
        return ()
    row, expected = {topic: number for number, topic in enumerate(topics)}, dict(survey.events)
    wants = np.zeros((len(topics), brokers), dtype=np.bool_)
    for broker, wanted in enumerate(survey.wants):
        wants[[row[topic] for topic in wanted], broker] = True
    ring, keys = Ring([number for number, _, _ in survey.spots]), tuple(ring_id(topic) for topic in topics)
    events = np.array([expected.get(topic, 0.0) for topic in topics])
    problem = Problem(ring, keys, wants, events, survey.delay_weight)
    here = np.array([ring.ids.index(number) for number, _, _ in survey.spots], dtype=np.int32)
    account = make_account(problem, here, "arrays" if wants.size <= SMALL else None)
    if not is_reconfigurable(account.cost, brokers, len(topics)):
        return ()
    found = better_search(account, np.random.default_rng(survey.base), Bounds(trials_max=TRIALS * brokers))
    if not found.swaps:
        return ()
    goals = [ring.ids[place] for place in found.places.tolist()]
    return tuple(((goal, name, address), was) for goal, (was, name, address) in zip(goals, survey.spots, strict=True))
