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


def _ordered(*seconds: str) -> Properties:
    return tuple((PropertyId.USER_PROPERTY, ("order", each)) for each in seconds)


def test_of_several_wishes_for_order_the_longest_counts() -> None:
    """``a/#`` twice is one pattern for the core only if the filters are written alike; here two selectors are."""
    options, held, a = DoorOptions(), Subscriptions(), Pattern.parse("a")

    def subscribe(name: str, *seconds: str) -> list[tuple[Pattern, float]]:
        return held.subscribe(Subscribe(1, (Request(name),), _ordered(*seconds)), options).order

    assert subscribe("a") == []
    assert subscribe("a", "2.5") == [(a, 2.5)]
    assert subscribe("a", "2.5") == []
    assert held.ordered() == [(a, 2.5)]
    assert subscribe("a", "1") == [(a, 1.0)]
    assert subscribe("a") == [(a, 0.0)]
    assert subscribe("a", "3") == [(a, 3.0)]
    assert held.unsubscribe(Unsubscribe(1, ("a",))).order == []
    assert held.ordered() == []


def test_sessions_that_come_bring_their_order_along() -> None:
    held, a = Subscriptions(), Pattern.parse("a")
    held.restore([Subscription("a", a, order_s=2.0), Subscription("b", Pattern.parse("b"))])
    assert held.ordered() == [(a, 2.0)]


def test_a_wait_that_is_no_time_is_refused() -> None:
    for seconds in (("soon",), ("-1",), ("nan",), ("inf",), ("1", "2")):
        refusal = read_request(Request("a"), _ordered(*seconds), DoorOptions())
        assert isinstance(refusal, Refusal)
        assert (refusal.reason, "order says once" in refusal.why) == (Reason.IMPLEMENTATION_ERROR, True)


def test_what_is_shared_or_local_has_no_order() -> None:
    for name in ("$share/g/a", "$SYS/#"):
        read = read_request(Request(name), _ordered("2"), DoorOptions())
        assert isinstance(read, Subscription)
        assert read.order_s == 0.0


def test_bounds_of_a_filter() -> None:
    options = DoorOptions(topic_bytes_max=8, topic_levels_max=3)
    assert isinstance(read_request(Request("a/b/c"), (), options), Subscription)
    for name in ("a/b/c/d", "a" * 9, "é" * 5):
        refusal = read_request(Request(name), (), options)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.FILTER_INVALID
        assert "at most" in refusal.why


def test_where_there_are_no_wildcards_a_filter_with_one_is_refused_with_the_reason() -> None:
    options = DoorOptions(wildcards=False)
    for topic_filter in ("a/#", "+", "$share/g/a/+"):
        refusal = read_request(Request(topic_filter, 0), (), options)
        assert isinstance(refusal, Refusal)
        assert (refusal.reason, refusal.why) == (
            Reason.WILDCARDS_NOT_SUPPORTED,
            "this broker takes exact topics, not filters with + or #",
        )
    assert not isinstance(read_request(Request("a/b", 0), (), options), Refusal)


def test_what_is_wanted_at_qos_0_is_not_sure_to_be_written_down() -> None:
    held = Subscriptions()
    held.restore([Subscription(name, Pattern.parse(name), qos) for qos, name in enumerate("abc")])
    assert held.sure_patterns() == (Pattern.parse("b"), Pattern.parse("c"))
