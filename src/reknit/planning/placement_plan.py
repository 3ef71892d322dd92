"""A plan of placement: which clients go to which broker, what that is expected to bring, and the evidence.

Owns: the plan as a value. Must not know: how brokers are chosen (``placement``, and the pipeline for millions of
clients), how a plan is kept (``files``), or who carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from reknit.planning.plan import VERSION

__all__ = ["MOVES_MAX", "AtBroker", "ClientMove", "PlacementEvidence", "PlacementPlan", "PlacementRules"]
__all__ += ["make_placement_plan"]

MOVES_MAX = 10_000
"""Moves that are listed in a plan; of more there are only counts by broker, and the table beside it."""

SESSION_MESSAGES = 6
"""That two brokers send each other for a session that moves, at least: an offer, an answer, the rest in two parts, and
that it is taken and told."""


class PlacementRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    clusters: int = 1
    """Brokers are divided into so many, by their names, as live ones are."""
    load_weight: float = 1.0
    similarity: str = "overlap"
    gain_min: float = 0.05
    rounds: int = 1
    own_topics: bool = False
    """Whether topics count for a broker that this very client alone has brought; then hardly anybody goes."""
    update: int = 1
    """Clients that are looked at between two exchanges of what brokers know of each other."""
    seed: int = 0


class PlacementEvidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    clients: int
    subscriptions: int


class ClientMove(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    client: str
    start: str
    goal: str


class AtBroker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one broker has, before and after: clients, and different topics that it has to subscribe to itself."""

    broker: str
    clients_before: int
    clients_after: int
    topics_before: int
    topics_after: int


class PlacementPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="placement"):
    version: int
    at: list[AtBroker]
    steps: list[ClientMove]
    """Empty where there are too many to list; ``moves`` counts them all the same."""
    moves: int
    brokers: list[str]
    """That a client leaves or comes to."""
    cost_before: int
    """Topics that brokers have to subscribe to, in all."""
    cost_after: int
    messages: int
    """That the sessions' moves take at least: the price."""
    reconnects: int
    """Clients that are told to connect elsewhere, each once: nothing is lost meanwhile, but they wait for it."""
    rules: PlacementRules
    evidence: PlacementEvidence


def make_placement_plan(
    at: Sequence[AtBroker],
    moves: Sequence[ClientMove],
    count: int,
    touched: Sequence[str],
    rules: PlacementRules,
    evidence: PlacementEvidence,
) -> PlacementPlan:
    """``moves``: all, or more than ``MOVES_MAX`` of ``count`` in all. ``touched``: whom a client leaves or comes to."""
    listed = sorted(moves, key=lambda move: move.client) if count <= MOVES_MAX else []
    rows = sorted(at, key=lambda each: each.broker)
    return PlacementPlan(
        VERSION,
        rows,
        listed,
        count,
        sorted(touched),
        sum(each.topics_before for each in rows),
        sum(each.topics_after for each in rows),
        SESSION_MESSAGES * count,
        count,
        rules,
        evidence,
    )
