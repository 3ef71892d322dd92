"""The operators' door described: what can be asked for, declared once, as routes and as an OpenAPI document.

Owns: the shape of a declaration, and the document that follows from many. Must not know: what any operation does. A
path that is served is declared, since the routes are made from the declarations; so the document cannot leave one out.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["Operation", "describe", "routes"]

VERSION = "3.1.0"
_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_MEANINGS = {
    200: "done, or what was asked for",
    202: "it has begun",
    400: "the request cannot be read; `error` says why",
    409: "refused; `error` says why",
    503: "not ready; the body says why",
    504: "no reply in time; the outcome is open",
}

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    name: str
    """Of the function that does it, and of the operation in the document."""
    summary: str
    body: Any = None
    """The type of the request's body, if it has one."""
    needs_body: bool = True
    answers: tuple[int, ...] = (200,)
    media: str = "application/json"

    @property
    def title(self) -> str:
        """As people write it: ``DELETE /links/NAME``."""
        return f"{self.method} {_PARAMETER.sub('NAME', self.path)}"


def routes(operations: Sequence[Operation], doing: object) -> list[Route]:
    """Each operation is done by the method of ``doing`` that has its name."""
    return [Route(each.path, getattr(doing, each.name), methods=[each.method]) for each in operations]


def describe(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """The document. ``version``: the program's."""
    bodies = [each.body for each in operations if each.body is not None]
    shapes, components = msgspec.json.schema_components(bodies, ref_template=_REF)
    shape_of = {str(body): shape for body, shape in zip(bodies, shapes, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, shape_of)
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "openapi": VERSION,
        "info": {"title": "reknit: the operators' door of a broker", "version": version},
        "paths": paths,
        "components": {"schemas": {**components, "Error": error}},
    }


def _operation(each: Operation, shape_of: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"operationId": each.name, "summary": each.summary}
    if names := _PARAMETER.findall(each.path):
        made["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if each.body is not None:
        content = {"application/json": {"schema": shape_of[str(each.body)]}}
        made["requestBody"] = {"required": each.needs_body, "content": content}
    made["responses"] = {str(code): _answer(each, code) for code in each.answers}
    return made


def _answer(each: Operation, code: int) -> dict[str, Any]:
    told = code in (400, 409, 504)
    schema = {"$ref": _REF.format(name="Error")} if told else {"type": "object"}
    if not told and each.media != "application/json":
        schema = {"type": "string"}
    return {
        "description": _MEANINGS[code],
        "content": {"application/json" if told else each.media: {"schema": schema}},
    }
