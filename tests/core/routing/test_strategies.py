"""Strategies by name: each name makes the strategy that bears it."""

from __future__ import annotations

from typing import get_args

import pytest

from reknit.core.routing.strategies import RoutingName, make_routing
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Message, Sub, Unsub


@pytest.mark.parametrize("name", get_args(RoutingName))
def test_a_strategy_bears_the_name_that_it_is_chosen_by(name: RoutingName) -> None:
    assert make_routing(name, False, Turn("b", False), lambda to, what: None).name == name


@pytest.mark.parametrize(("covering", "retracted"), [(False, 0), (True, 1)])
def test_covering_is_an_option_of_subscription_forwarding(covering: bool, retracted: int) -> None:
    said: list[Message] = []
    routing = make_routing("subscription-forwarding", covering, Turn("b", False), lambda to, what: said.append(what))
    routing.tell("n")
    routing.subscribe("ann", Pattern.parse("a/b"))
    routing.subscribe("ann", Pattern.parse("a/#"))
    assert len([each for each in said if isinstance(each, Sub)]) == 2
    assert len([each for each in said if isinstance(each, Unsub)]) == retracted
