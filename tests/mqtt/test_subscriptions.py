from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reknit.model.pattern import Pattern
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Request, Subscribe, Unsubscribe
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from reknit.mqtt.subscriptions import Refusal, Subscription, Subscriptions, read_request

FILTERS = st.sampled_from(["a", "a/+", "#", "bad#"])
SELECTORS = st.sampled_from(["", "n > 1", "n  >  1", "n > 2", "n >"])
STEPS = st.lists(st.tuples(st.booleans(), FILTERS, SELECTORS, st.booleans()), max_size=30)


def with_selector(selector: str) -> Properties:
    return ((PropertyId.USER_PROPERTY, ("selector", selector)),) if selector else ()


@given(STEPS)
def test_the_core_is_told_exactly_what_is_held(steps: list[tuple[bool, str, str, bool]]) -> None:
    """After any steps, what the core has learnt and not forgotten are the patterns of the filters that are held."""
    options = DoorOptions(filters_max=2)
    subscriptions, core, held = Subscriptions(), list[Pattern](), dict[str, Pattern]()
    for add, name, selector, no_local in steps:
        if add:
            request = Request(name, 1, no_local)
            outcome = subscriptions.subscribe(Subscribe(1, (request,), with_selector(selector)), options)
            if outcome.reasons == [Reason.GRANTED_QOS_1]:
                held[name] = Pattern.parse(name, selector)
        else:
            outcome = subscriptions.unsubscribe(Unsubscribe(1, (name,)))
            assert (outcome.reasons == [Reason.SUCCESS]) == (held.pop(name, None) is not None)
        core += outcome.learn
        for pattern in outcome.forget:
            core.remove(pattern)
        assert sorted(core) == sorted(held.values())
        assert len(subscriptions) == len(held) <= 2
        found = subscriptions.matching(core)
        assert {one.filter: one.pattern for one in found} == held
        assert subscriptions.special == any(one.no_local for one in found)


def test_a_request_is_read_with_its_options() -> None:
    properties: Properties = ((PropertyId.SUBSCRIPTION_ID, 9), *with_selector("n>1"))
    read = read_request(Request("a/+", 2, True), properties, DoorOptions())
    assert read == Subscription("a/+", Pattern.parse("a/+", "n > 1"), 2, True, 9)


def test_bounds_of_a_filter() -> None:
    options = DoorOptions(topic_bytes_max=8, topic_levels_max=3)
    assert isinstance(read_request(Request("a/b/c"), (), options), Subscription)
    for name in ("a/b/c/d", "a" * 9, "é" * 5):
        refusal = read_request(Request(name), (), options)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.FILTER_INVALID
        assert "at most" in refusal.why
