"""``reknit swap`` and ``reknit link replace``: what they change, what they take, and what they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reknit.cli._changes import run
from reknit.cli._problem import Failed
from reknit.client import connect
from reknit.live.address import parse_address

Reknit = Callable[..., Any]


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


@pytest.fixture
def line(reknit: Reknit, network: Any) -> Iterator[Any]:
    """The network, which is a line again afterwards."""
    yield network
    if ("b1", "b3") in links(reknit):
        goal = "b1" if ("b1", "b2") not in links(reknit) else "b3"
        other = "b3" if goal == "b1" else "b1"
        assert reknit("swap", goal, other, "b2").code == 0
    assert links(reknit) == [("b1", "b2"), ("b2", "b3")]


def test_a_dry_run_says_what_it_takes_and_the_swap_takes_that(reknit: Reknit, line: Any) -> None:
    where = [parse_address(broker["mqtt"]) for broker in line.state["brokers"]]

    async def run() -> None:
        topics = [f"dry/{number}" for number in range(100)]
        async with (
            connect(*where[0]) as one,
            connect(*where[1]) as two,
            one.subscribe(*topics),
            two.subscribe("other", where="n > 1"),
        ):
            await asyncio.to_thread(compare)

    def compare() -> None:
        while reknit("verify-routes").code:
            pass
        dry = reknit("swap", "b1", "b2", "b3", "--dry-run", "--json").json
        assert (dry["dry_run"], dry["steps"], dry["brokers"]) == (True, ["swap b1 b2 b3"], ["b1", "b2", "b3"])
        assert links(reknit) == [("b1", "b2"), ("b2", "b3")]
        done = reknit("swap", "b1", "b2", "b3", "--verify", "--json").json
        assert (done["done"], done["differences"]) == (True, [])
        assert links(reknit) == [("b1", "b3"), ("b2", "b3")]
        (told,) = reknit("change", "show", done["change"], "--json").json
        assert (told["messages"], told["bytes"]) == (dry["messages"], dry["bytes"])
        assert dry["messages"] == 12 + 3

    asyncio.run(run())


def test_in_words(reknit: Reknit, line: Any) -> None:
    said = reknit("swap", "b3", "b2", "b1", "--dry-run")
    assert said.out.splitlines()[:3] == ["b3 - b2 would become b3 - b1", "  swap b3 b2 b1", "touches b1, b2, b3"]
    assert said.out.splitlines()[3].startswith("takes about 14 messages, ")
    assert said.out.endswith(" bytes (estimate); nothing was changed\n")
    said = reknit("swap", "b3", "b2", "b1", "--verify")
    assert said.out.startswith("b3 - b2 has become b3 - b1 in ")
    assert said.out.endswith("\n3 brokers, 0 differences between tables and ideal ones\n")
    assert said.err == "1 of 1: swap b3 b2 b1\n"


def test_by_the_doors_of_two_brokers_alone(
    reknit: Reknit, line: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    doors = [word for broker in line.state["brokers"][:2] for word in ("--admin", broker["admin"])]
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(tmp_path)
        assert reknit("swap", "b1", "b2", "b3", "--dry-run", *doors).code == 0
        refused = reknit("swap", "b3", "b2", "b1", *doors)
        unsure = "routes were not compared, for b3 does not answer here; later: reknit verify-routes\n"
        assert refused.err == "reknit: the operators' door of b3 is not known; give its --admin\n"
        said = reknit("swap", "b1", "b2", "b3", *doors)
        assert (said.code, said.err) == (0, f"1 of 1: swap b1 b2 b3\n{unsure}")
        assert len(said.out.splitlines()) == 1
    assert links(reknit) == [("b1", "b3"), ("b2", "b3")]


def test_routes_are_compared_after_a_change_unless_that_is_not_wanted(reknit: Reknit, line: Any) -> None:
    said = reknit("swap", "b1", "b2", "b3").out.splitlines()
    assert said[1] == "3 brokers, 0 differences between tables and ideal ones"
    undone = reknit("swap", "b1", "b3", "b2", "--no-verify", "--json").json
    assert "differences" not in undone


@pytest.mark.parametrize(("flags", "code"), [([], 0), (["--verify"], 1)])
def test_a_change_is_told_though_a_broker_dies_while_routes_are_compared(
    reknit: Reknit, line: Any, monkeypatch: pytest.MonkeyPatch, flags: list[str], code: int
) -> None:
    def dies(_: object) -> None:
        raise Failed("b2: no answer")

    with monkeypatch.context() as patch:
        patch.setattr(run, "verify", dies)
        said = reknit("swap", "b1", "b2", "b3", "--json", *flags)
    assert (said.code, said.json["done"]) == (code, True)
    assert said.err.endswith("routes were not compared, for b2: no answer; later: reknit verify-routes\n")


def test_a_link_is_replaced_and_the_whole_is_undone(
    reknit: Reknit, start_up: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = start_up("--brokers", "4")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    before = links(reknit)
    assert before == [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]
    said = reknit("link", "replace", "b1", "b2", "--with", "b4", "b1", "--verify")
    assert said.code == 0
    assert said.err == "1 of 2: swap b1 b2 b3\n2 of 2: swap b1 b3 b4\n"
    assert links(reknit) == [("b1", "b4"), ("b2", "b3"), ("b3", "b4")]
    whole = said.out.splitlines()[0].rpartition(" ")[2]
    assert whole.startswith("replace.")
    listed = reknit("change", "list").out
    assert listed.count(whole) == 2
    assert reknit("change", "undo", whole).code == 0
    assert links(reknit) == before
    assert reknit("verify-routes").code == 0


def test_a_dry_run_of_a_replacement_at_once_says_what_it_takes(
    reknit: Reknit, start_up: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network = start_up("--brokers", "4")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    where = [parse_address(broker["mqtt"]) for broker in network.state["brokers"]]

    async def run() -> None:
        topics = [f"dry/{number}" for number in range(20)]
        async with (
            connect(*where[0]) as one,
            connect(*where[2]) as three,
            one.subscribe(*topics),
            three.subscribe("other", *topics[:5]),
        ):
            await asyncio.to_thread(compare)

    def compare() -> None:
        while reknit("verify-routes").code:
            pass
        replace = ("link", "replace", "b1", "b2", "--with", "b1", "b4", "--strategy")
        for strategy in ("path", "path-batched", "deferred", "strawman"):
            dry = reknit(*replace, strategy, "--dry-run", "--json").json
            assert dry["besides"]["messages"] > 0
            done = reknit(*replace, strategy, "--json").json
            (told,) = reknit("change", "show", done["change"], "--json").json
            assert (told["messages"], told["bytes"]) == (dry["messages"], dry["bytes"]), strategy
            assert reknit("change", "undo", done["change"], "--verify").code == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["swap", "b1", "b3", "b2"], "b1 and b2 are linked already; to change that: reknit swap b1 b2 b3"),
        (["swap", "b1", "b2", "b9"], "there is no broker 'b9' in this network; known: b1, b2, b3"),
        (["swap", "b1", "b2", "b2"], "a swap needs three different brokers; try: reknit swap b1 b2 b3"),
        (["link", "replace", "b1", "b2", "--with", "b2", "b2"], "b2 cannot be linked with itself"),
        (["link", "replace", "b1", "b2"], "--with is missing"),
        (["link", "replace", "b1", "b2", "--with", "b1", "b3", "--strategy", "x"], "there is no strategy 'x'"),
        (
            ["link", "replace", "b1", "b2", "--with", "b1", "b3", "--strategy", "batched"],
            "; try: reknit link replace b1 b2 --with b1 b3 --strategy path-batched --dry-run",
        ),
        (["change", "show", "b7.1"], "no broker remembers a change 'b7.1'"),
        (["change", "undo", "b7.1"], "no broker remembers a change 'b7.1'"),
        (["swap", "b1", "b2", "b3", "--admin", "b1"], "--admin: 'b1' is no URL"),
    ],
)
def test_bad_input(reknit: Reknit, network: Any, words: list[str], line: str) -> None:
    said = reknit(*words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err
