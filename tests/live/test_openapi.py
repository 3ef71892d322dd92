"""The description of the operators' door: it has every path that is served, and the command line asks for no other."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from starlette.routing import Route

from reknit.live.address import Address
from reknit.live.admin import OPERATIONS, About, ChangeRequest, LinkRequest, admin_app
from reknit.live.openapi import Operation, describe, routes
from reknit.live.process import BrokerPlan, broker_running

ANY = Address("127.0.0.1", 0)
CLI = Path(__file__).parents[2] / "src" / "reknit" / "cli"


def served() -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """The document of a running broker, and every method and path that its app has."""

    async def run() -> tuple[dict[str, Any], set[tuple[str, str]]]:
        async with broker_running(BrokerPlan("b1", ANY, ANY, admin=ANY)) as broker:
            async with httpx.AsyncClient(trust_env=False) as http:
                answer = await http.get(f"http://{broker.admin}/openapi.json")
                ready = (await http.get(f"http://{broker.admin}/readyz")).json()
            assert answer.headers["content-type"] == "application/json"
            assert ready == {"name": "b1", "ready": True, "waiting_for": [], "reasons": []}
            made = admin_app(broker.driver, About("b1", 1, 1, "", "", "")).routes
            found = [(each.path, each.methods or ()) for each in made if isinstance(each, Route)]
            assert len(found) == len(made)
            return answer.json(), {(path, method) for path, methods in found for method in methods if method != "HEAD"}

    return asyncio.run(run())


def test_every_path_that_is_served_is_described() -> None:
    document, paths = served()
    described = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert described == paths
    assert len(described) == len(OPERATIONS)
    assert document["openapi"].startswith("3.1")
    names = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(set(names)) == len(names)


def test_references_lead_somewhere_and_parameters_are_declared() -> None:
    document, _ = served()
    schemas = document["components"]["schemas"]
    refs = re.findall(r'"#/components/schemas/(\w+)"', msgspec.json.encode(document).decode())
    assert {"LinkRequest", "SwapRequest", "ReplaceRequest", "DrainRequest", "Error"} <= set(refs) == set(schemas)
    for path, methods in document["paths"].items():
        for each in methods.values():
            assert [one["name"] for one in each.get("parameters", [])] == re.findall(r"\{(\w+)\}", path)
    assert set(schemas["LinkRequest"]["required"]) == set(LinkRequest.__struct_fields__)


def test_why_it_is_not_ready() -> None:
    async def run() -> dict[str, Any]:
        plan = BrokerPlan("b1", ANY, ANY, admin=ANY, neighbours={"b2": "127.0.0.1:1"})
        async with broker_running(plan) as broker, httpx.AsyncClient(trust_env=False) as http:
            while True:
                answer = await http.get(f"http://{broker.admin}/readyz")
                assert answer.status_code == 503
                if "refused" in answer.text:
                    return dict(answer.json())

    said = asyncio.run(run())
    assert said["waiting_for"] == ["b2"]
    assert said["reasons"][0].startswith("waiting for b2: ")


def test_the_command_line_asks_for_nothing_else() -> None:
    text = "\n".join(path.read_text() for path in CLI.rglob("*.py"))
    asked = {path for path in re.findall(r'"(/[a-z][a-z.]*)(?:/|")', text) if path != "/brokers"}  # the steward's
    assert len(asked) >= 5
    assert asked <= {"/" + each.path.split("/")[1] for each in OPERATIONS}


def test_a_body_that_may_be_one_of_several() -> None:
    said = describe([Operation("POST", "/x", "x", "", ChangeRequest)], "1")
    body = said["paths"]["/x"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert len(body["anyOf"]) == 2


def test_what_nobody_does_cannot_be_declared() -> None:
    with pytest.raises(AttributeError):
        routes([Operation("GET", "/x", "nobody", "")], object())
