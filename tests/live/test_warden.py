"""The warden: an operators' door that others can reach opens to operators alone."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from reknit.live.address import Address
from reknit.live.admin import OPERATIONS
from reknit.live.errors import ConfigError
from reknit.live.guard import AccessSection
from reknit.live.passwords import set_password
from reknit.live.process import BrokerPlan, broker_running
from reknit.live.warden import CHECKS_MAX

ELSEWHERE = Address("127.1", 0)
"""This machine, under a name that could be any machine's."""
TOKEN = "a-token-of-more-than-16"
OPEN = ("/healthz", "/readyz")


@pytest.fixture
def access(tmp_path: Path) -> AccessSection:
    passwords, token = tmp_path / "passwords", tmp_path / "token"
    for user in ("ops-ann", "ben"):
        set_password(passwords, user, f"{user}'s secret")
    token.write_text(f"{TOKEN}\n")
    return AccessSection(passwords=str(passwords), operators=("ops-*",), operator_token=str(token))


def asked(plan: BrokerPlan, ask: Callable[[httpx.AsyncClient], object]) -> None:
    async def run() -> None:
        async with (
            broker_running(plan) as running,
            httpx.AsyncClient(base_url=f"http://{running.admin}", trust_env=False) as http,
        ):
            await ask(http)  # type: ignore[misc]

    asyncio.run(run())


def reached(plan: BrokerPlan) -> BrokerPlan:
    return dataclasses.replace(plan, admin=ELSEWHERE)


def test_every_path_but_two_is_shut_to_strangers(plan: Callable[..., BrokerPlan], access: AccessSection) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        for each in OPERATIONS:
            answer = await http.request(each.method, each.path.replace("{peer}", "b2"))
            if each.path in OPEN:
                assert answer.status_code in (200, 503)
            else:
                assert answer.status_code == 401, each.title
                assert answer.headers.get_list("www-authenticate")[1] == "Bearer"
        said = (await http.get("/counters", headers={"Authorization": f"Bearer {TOKEN}"})).json()
        assert said["shell"]["admin_refused"] == len(OPERATIONS) - len(OPEN)

    asked(reached(plan(access=access)), ask)


def test_strangers_hear_whether_it_is_ready_and_not_why(plan: Callable[..., BrokerPlan], access: AccessSection) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        answer = await http.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"name": "b1", "ready": False})
        known = await http.get("/readyz", auth=("ops-ann", "ops-ann's secret"))
        assert known.json()["waiting_for"] == ["b2"]

    asked(reached(plan(neighbours={"b2": ""}, access=access)), ask)


@pytest.mark.parametrize(
    ("word", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer", 401),
        ("Bearer \xff", 401),
        (TOKEN, 401),
        ("Basic", 401),
        ("Basic !", 401),
        ("Basic b3BzLWFubg==", 401),  # no colon
        ("Basic /zo=", 401),  # no UTF-8
        ("Digest x", 401),
    ],
)
def test_a_token_is_whole_or_nothing(
    plan: Callable[..., BrokerPlan], access: AccessSection, word: str, status: int
) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        answer = await http.get("/table", headers={"Authorization": word.encode("latin-1")})
        assert answer.status_code == status

    asked(reached(plan(access=access)), ask)


@pytest.mark.parametrize(
    ("user", "password", "status"),
    [
        ("ops-ann", "ops-ann's secret", 200),
        ("ops-ann", "wrong", 401),
        ("ops-nobody", "ops-ann's secret", 401),
        ("ben", "ben's secret", 401),  # a user, and no operator
        ("", "", 401),
    ],
)
def test_an_operator_is_a_user_that_is_named_as_one(
    plan: Callable[..., BrokerPlan], access: AccessSection, user: str, password: str, status: int
) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        assert (await http.get("/table", auth=(user, password))).status_code == status

    asked(reached(plan(access=access)), ask)


def test_a_flood_of_passwords_is_sent_away(plan: Callable[..., BrokerPlan], access: AccessSection) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        many = [http.get("/table", auth=("ops-ann", "wrong")) for _ in range(4 * CHECKS_MAX)]
        found = [answer.status_code for answer in await asyncio.gather(*many)]
        assert set(found) == {401, 503}
        assert (await http.get("/table", auth=("ops-ann", "ops-ann's secret"))).status_code == 200

    asked(reached(plan(access=access)), ask)


def test_on_this_machine_alone_nobody_is_asked(plan: Callable[..., BrokerPlan], access: AccessSection) -> None:
    async def ask(http: httpx.AsyncClient) -> None:
        assert (await http.get("/table")).status_code == 200

    asked(plan(access=access), ask)


@pytest.mark.parametrize("host", ["127.1", "0.0.0.0", "::", "192.0.2.1", "broker.example"])
def test_without_operators_no_door_is_opened_to_others(plan: Callable[..., BrokerPlan], host: str) -> None:
    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(), admin=Address(host, 0))):
            pytest.fail("it runs")

    with pytest.raises(ConfigError, match="operators or operator_token under"):
        asyncio.run(run())


def test_operators_without_passwords_are_a_mistake(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        async with broker_running(plan(access=AccessSection(operators=("ann",)))):
            pytest.fail("it runs")

    with pytest.raises(ConfigError, match="set passwords, too"):
        asyncio.run(run())
