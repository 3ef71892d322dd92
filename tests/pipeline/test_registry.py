"""Every flow is found, and sound."""

from __future__ import annotations

import pytest

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.registry import all_flows, find_flow
from tests.pipeline.tiny import TINY


def test_the_flows_are_there_by_their_names() -> None:
    assert "visits" in all_flows()
    assert [name for name, flow in all_flows().items() if flow.name != name] == []


@pytest.mark.parametrize("name", all_flows())
def test_a_flow_is_sound_and_says_what_it_is_for(name: str) -> None:
    flow = find_flow(name)
    assert flow.problems() == []
    assert all(each.about for each in (flow, *flow.inputs, *flow.steps))
    flow.parameters()  # each has a default


def test_an_unknown_flow_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadFlow, match=r"there is no flow visit; there are: .*visits"):
        find_flow("visit")


def test_each_flow_has_a_tiny_input_for_the_tests_that_run_them_all() -> None:
    assert sorted(TINY) == sorted(all_flows())
