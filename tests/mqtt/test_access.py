"""Access: what no rule allows is refused, and reading is decided for each event."""

from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.mqtt.access import FILTERS_MAX, RULES_MAX, Access, BadRule, Grants, Rule


def grants(*rules: Rule, user: str = "ann", client: str = "c1") -> Grants:
    found = Access(rules).grants(user, client)
    assert found is not None
    return found


def test_without_rules_everything_is_allowed_and_with_none_nothing() -> None:
    assert Access().grants("ann", "c1") is None
    nothing = grants()
    assert not nothing.may_publish("t")
    assert not nothing.may_subscribe("t")
    assert not nothing.may_receive(Event("t"))


def test_rules_are_for_users_and_clients_by_name() -> None:
    rules = [Rule("ann", publish=("a/#",)), Rule("b*", "c?", publish=("b/#",)), Rule("", publish=("anonymous",))]
    assert grants(*rules).may_publish("a/x")
    assert not grants(*rules).may_publish("b/x")
    assert grants(*rules, user="bob").may_publish("b/x")
    assert not grants(*rules, user="bob", client="c10").may_publish("b/x")
    assert grants(*rules, user="").may_publish("anonymous")
    assert not grants(*rules, user="ann").may_publish("anonymous")


def test_a_filter_is_allowed_only_whole() -> None:
    allowed = grants(Rule(subscribe=("city/+/traffic", "city/oslo/#")))
    assert [allowed.may_subscribe(each) for each in ("city/+/traffic", "city/oslo/#", "city/oslo/+")] == [True] * 3
    assert [allowed.may_subscribe(each) for each in ("#", "city/#", "city/+/+", "city/lima/power")] == [False] * 4


def test_a_condition_holds_for_what_is_received() -> None:
    allowed = grants(Rule(subscribe=("city/#",), where="region = 'eu'"), Rule("ann", subscribe=("city/lima",)))
    assert allowed.may_receive(Event("city/oslo", attributes={"region": "eu"}))
    assert not allowed.may_receive(Event("city/oslo", attributes={"region": "sa"}))
    assert not allowed.may_receive(Event("city/oslo"))
    assert allowed.may_receive(Event("city/lima"))


def test_names_stand_in_filters_unless_they_change_their_meaning() -> None:
    rule = Rule(publish=("from/%u/%c",), subscribe=("to/%u/#",))
    assert grants(rule).may_publish("from/ann/c1")
    assert not grants(rule).may_publish("from/bob/c1")
    assert grants(rule).may_subscribe("to/ann/x")
    for user in ("", "+", "#", "a/b", "$SYS"):
        assert not grants(rule, user=user).may_subscribe("to/ann/x")
        assert not grants(rule, user=user).may_publish(f"from/{user}/c1")


def test_a_name_that_looks_like_a_mark_is_a_name() -> None:
    rule = Rule(publish=("from/%u/%c",), subscribe=("%c/#",))
    assert grants(rule, user="%c", client="c1").may_publish("from/%c/c1")
    assert not grants(rule, user="%c", client="c1").may_publish("from/c1/c1")
    assert not grants(rule, client="$SYS").may_subscribe("$SYS/#")


def test_wildcards_do_not_reach_what_belongs_to_the_broker() -> None:
    allowed = grants(Rule(publish=("#",), subscribe=("#",)))
    assert not allowed.may_subscribe("$SYS/#")
    assert not allowed.may_receive(Event("$SYS/x"))
    assert not allowed.may_publish("$SYS/x")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule(publish=("a#",)), "#"),
        (Rule(subscribe=("a/+b",)), r"\+"),
        (Rule(subscribe=("a",), where="n >"), "selector"),
        (Rule(publish=("a",) * (FILTERS_MAX + 1)), "more than"),
    ],
)
def test_a_bad_rule_is_refused(rule: Rule, why: str) -> None:
    with pytest.raises(BadRule, match=why):
        Access([rule])


def test_there_is_a_bound_on_rules() -> None:
    with pytest.raises(BadRule, match="more than"):
        Access([Rule()] * (RULES_MAX + 1))
