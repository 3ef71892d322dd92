"""The operator's door: HTTP with JSON, on the broker's own loop; beyond loopback behind a ``warden``.

Owns: the paths, and what they say. Must not know: how a change of the overlay is made; it asks the core and waits for
the reply. Every answer is a JSON object; a refusal is 409 with the reason under ``error``.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, TypeAlias

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from reknit.core.io import Drain, Input, Relocate, Replace, Reply, Reshape, StopDrain
from reknit.core.view import changes
from reknit.live import look
from reknit.live.address import parse_address
from reknit.live.config import check_name
from reknit.live.counters import Counters
from reknit.live.driver import Driver
from reknit.live.errors import ConfigError
from reknit.live.metrics import CONTENT_TYPE, Metrics
from reknit.live.openapi import Operation, describe, routes
from reknit.live.warden import STRANGER
from reknit.wire.codec import PATH_BROKERS_MAX
from reknit.wire.planes import PLACES_MAX
from reknit.wire.ring import check_id

__all__ = ["OPERATIONS", "PATHS", "About", "AdminServer", "Json", "admin_app", "read_body"]

BODY_BYTES_MAX = 64 << 10
CHANGE_CHARS_MAX = 400
"""An id, and behind it what the whole is after, which may name four brokers."""
CLOSE_S_MAX = 1
DRAIN_S_MAX = 0.5
"""How long the answer to a drain waits for a refusal."""


class About(msgspec.Struct, frozen=True):
    """What a broker says of itself."""

    name: str
    incarnation: int
    pid: int
    mqtt: str
    listen: str
    admin: str


class LinkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    peer: str
    address: str


class DrainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    of: str = ""
    """The larger change that it is a step of."""


class SwapRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="swap"):
    """This broker's link to ``middle`` is to lead to ``goal``."""

    middle: str
    goal: str
    of: str = ""
    """The larger change that it is a step of."""


class ReplaceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="replace"):
    """The link between this broker, the first of ``head``, and the last of ``tail`` is to be replaced.

    ``head`` leads to the near end of the new link, ``tail`` from its far end, which listens at ``address``.
    """

    strategy: str
    head: Annotated[tuple[str, ...], msgspec.Meta(max_length=PATH_BROKERS_MAX)]
    tail: Annotated[tuple[str, ...], msgspec.Meta(max_length=PATH_BROKERS_MAX)]
    address: str
    of: str = ""


class PlaceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    address: str
    id: Annotated[int, msgspec.Meta(ge=0)]
    was: Annotated[int, msgspec.Meta(ge=0)]


class PlacesRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    base: int
    places: Annotated[list[PlaceRequest], msgspec.Meta(max_length=PLACES_MAX)]


class MoveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session of ``client`` is to move from this broker to another of the ring."""

    client: str
    name: str
    address: str
    id: Annotated[int, msgspec.Meta(ge=0)]


ChangeRequest: TypeAlias = SwapRequest | ReplaceRequest
"""What can be asked for at ``POST /changes``, told apart by ``kind``."""


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


_CHANGES = (200, 400, 409, 504)

OPERATIONS = (
    Operation("GET", "/", "paths", "all that can be asked for here"),
    Operation("GET", "/healthz", "health", "whether the process lives"),
    Operation(
        "GET", "/readyz", "readiness", "200 once it waits for nobody, else 503, for whom, and why", answers=(200, 503)
    ),
    Operation(
        "GET", "/topology", "topology", "who it is, its addresses, its neighbours and what went wrong with them last"
    ),
    Operation("GET", "/table", "table", "its routing table and its clients"),
    Operation("GET", "/counters", "counters", "what it has counted"),
    Operation("GET", "/metrics", "metrics", "the same for Prometheus", media="text/plain"),
    Operation("GET", "/openapi.json", "openapi", "all of this, described for machines (OpenAPI)"),
    Operation(
        "POST",
        "/links",
        "add_link",
        'join: {"peer": NAME, "address": HOST:PORT}; 409 and the reason if it is refused',
        LinkRequest,
        answers=_CHANGES,
    ),
    Operation("DELETE", "/links/{peer}", "remove_link", "leave this neighbour", answers=(200, 409, 504)),
    Operation("GET", "/changes", "changes", "the changes of the tree that it takes or took part in"),
    Operation(
        "POST",
        "/changes",
        "change",
        'swap its link: {"kind": "swap", "middle": NAME, "goal": NAME}; or: {"kind": "replace", '
        '"strategy": NAME, "head": [NAME, ...], "tail": [NAME, ...], "address": HOST:PORT}; '
        "409 and the reason if refused",
        ChangeRequest,
        answers=_CHANGES,
    ),
    Operation(
        "POST",
        "/places",
        "place",
        'give brokers on a ring other places: {"base": VERSION, "places": [{"name": NAME, "address": HOST:PORT, '
        '"id": ID, "was": ID}, ...]}, all of them; 409 and the reason if refused',
        PlacesRequest,
        answers=_CHANGES,
    ),
    Operation(
        "POST",
        "/moves",
        "move",
        'let a session move to another broker of the ring: {"client": CLIENT, "name": NAME, "address": HOST:PORT, '
        '"id": ID}; 409 and the reason if it stays',
        MoveRequest,
        answers=_CHANGES,
    ),
    Operation(
        "POST",
        "/access",
        "reload",
        "read the files of passwords and rules again; 409 and the reason, and the old ones hold, if bad",
        answers=(200, 409),
    ),
    Operation("GET", "/drain", "progress", "how far its drain has come"),
    Operation(
        "POST",
        "/drain",
        "drain",
        "move its clients to its only neighbour, leave, and end; 202 once it has begun",
        DrainRequest,
        needs_body=False,
        answers=(202, 400, 409),
    ),
    Operation(
        "DELETE",
        "/drain",
        "stop_drain",
        "stop that: it stays, with the sessions that have not moved",
        answers=(200, 409, 504),
    ),
)
"""All that the door can be asked for; its routes and its description are made of these."""

PATHS = {each.title: each.summary for each in OPERATIONS if each.path != "/"}


def admin_app(driver: Driver, about: About) -> Starlette:
    return Starlette(routes=routes(OPERATIONS, _Admin(driver, about)))


class _Admin:
    def __init__(self, driver: Driver, about: About) -> None:
        self._driver = driver
        self._about = about
        self._metrics = Metrics(driver)
        self._draining: asyncio.Task[Reply] | None = None

    async def paths(self, request: Request) -> Response:
        return Json({"name": self._about.name, "paths": PATHS})

    async def health(self, request: Request) -> Response:
        return Json({"name": self._about.name, "alive": True})

    async def readiness(self, request: Request) -> Response:
        """Ready once every neighbour's link is up, and it is where it belongs, while it stays and can write."""
        waiting = self._driver.waiting_for()
        why = look.waiting(self._driver) if waiting else {}
        reasons = [f"waiting for {name}" + (f": {why[name]}" if why.get(name) else "") for name in waiting]
        reasons += [astray] if (astray := look.astray(self._driver)) else []
        reasons += ["draining: its clients move to a neighbour"] if self._draining and not self._draining.done() else []
        reasons += [self._driver.trouble] if self._driver.trouble else []
        body = {"name": self._about.name, "ready": not reasons}
        if not request.scope.get(STRANGER):
            body |= {"waiting_for": waiting, "reasons": reasons}
        return Json(body, status_code=503 if reasons else 200)

    async def openapi(self, request: Request) -> Response:
        return Json(describe(OPERATIONS, importlib.metadata.version("reknit")))

    async def topology(self, request: Request) -> Response:
        driver, options = self._driver, self._driver.broker.options
        about = {**msgspec.to_builtins(self._about), "routing": options.routing, "covering": options.covering}
        return Json({**about, "neighbours": look.neighbours(driver), "waiting_for": look.waiting(driver)})

    async def table(self, request: Request) -> Response:
        return Json({"name": self._about.name, **self._driver.broker.table(), "changes": self._changes()})

    async def counters(self, request: Request) -> Response:
        return Json(look.count(self._driver))

    async def metrics(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def add_link(self, request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await read_body(request), type=LinkRequest)
            check_name(wanted.peer, "peer")
            parse_address(wanted.address)
        except (msgspec.MsgspecError, UnicodeDecodeError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        return await self._answer(self._driver.operations.add_link(wanted.peer, wanted.address))

    async def remove_link(self, request: Request) -> Response:
        return await self._answer(self._driver.operations.remove_link(request.path_params["peer"]))

    async def reload(self, request: Request) -> Response:
        try:
            self._driver.reload()
        except ConfigError as error:
            return Json({"error": f"{error}; the old ones hold"}, status_code=409)
        return Json({"done": True})

    async def progress(self, request: Request) -> Response:
        return Json({"name": self._about.name, **self._driver.broker.sessions.progress()})

    async def drain(self, request: Request) -> Response:
        """A refusal comes at once; the rest takes as long as the clients' sessions need, and is not waited for."""
        try:
            wanted = msgspec.json.decode(await read_body(request) or b"{}", type=DrainRequest)
            _check_of(wanted.of)
        except (msgspec.MsgspecError, UnicodeDecodeError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(
                self._driver.operations.operate(lambda request: Drain(request, wanted.of))
            )
            self._draining.add_done_callback(_ignore)
        await asyncio.wait([self._draining], timeout=DRAIN_S_MAX)
        if self._draining.done() and not self._draining.exception() and (refusal := self._draining.result().error):
            return Json({"error": refusal}, status_code=409)
        return Json({"name": self._about.name, **self._driver.broker.sessions.progress()}, status_code=202)

    async def stop_drain(self, request: Request) -> Response:
        return await self._answer(self._driver.operations.operate(StopDrain))

    async def changes(self, request: Request) -> Response:
        return Json({"name": self._about.name, **self._changes()})

    async def change(self, request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await read_body(request), type=ChangeRequest)
            _check_change(wanted)
        except (msgspec.MsgspecError, UnicodeDecodeError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        if isinstance(wanted, SwapRequest):
            return await self._answer(self._driver.operations.swap_link(wanted.middle, wanted.goal, wanted.of))
        path = (wanted.strategy, wanted.head, wanted.tail, wanted.address)
        return await self._answer(self._driver.operations.operate(lambda request: Replace(*path, request, wanted.of)))

    async def place(self, request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await read_body(request), type=PlacesRequest)
            for each in wanted.places:
                check_name(each.name, "name")
                parse_address(each.address)
                check_id(each.id)
                check_id(each.was)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        places = tuple(((each.id, each.name, each.address), each.was) for each in wanted.places)
        return await self._on_ring(lambda asked: Reshape(wanted.base, places, asked))

    async def move(self, request: Request) -> Response:
        try:
            wanted = msgspec.json.decode(await read_body(request), type=MoveRequest)
            check_name(wanted.name, "name")
            parse_address(wanted.address)
            check_id(wanted.id)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, ConfigError) as error:
            return Json({"error": str(error)}, status_code=400)
        spot = (wanted.id, wanted.name, wanted.address)
        return await self._on_ring(lambda asked: Relocate(wanted.client, spot, asked))

    async def _on_ring(self, command: Callable[[int], Input]) -> Response:
        if (routing := self._driver.broker.options.routing) != "rendezvous":
            return Json({"error": f"{self._about.name} routes by {routing}, and is on no ring"}, status_code=409)
        return await self._answer(self._driver.operations.operate(command))

    def _changes(self) -> dict[str, Any]:
        """Those that this broker takes or took part in, with their times in seconds since 1970."""
        said = changes(self._driver.broker.overlay)
        for each in (said["under_way"], *said["waiting"], *said["history"]):
            for key in ("since", "begun", "ended"):
                if each is not None and each.get(key) is not None:
                    each[key] += self._driver.wall_offset
        return said

    async def _answer(self, outcome: Awaitable[Reply]) -> Response:
        try:
            reply = await outcome
        except TimeoutError:
            return Json({"error": "no reply in time; the outcome is open"}, status_code=504)
        if reply.error:
            return Json({"error": reply.error}, status_code=409)
        return Json({"done": True, "change": reply.change} if reply.change else {"done": True})


def _check_change(wanted: ChangeRequest) -> None:
    _check_of(wanted.of)
    if isinstance(wanted, SwapRequest):
        check_name(wanted.middle, "middle")
        check_name(wanted.goal, "goal")
        return
    parse_address(wanted.address)
    for name in wanted.head:
        check_name(name, "head")
    for name in wanted.tail:
        check_name(name, "tail")


def _check_of(name: str) -> None:
    if len(name) > CHANGE_CHARS_MAX:
        raise ConfigError(f"of: more than {CHANGE_CHARS_MAX} characters")


def _ignore(task: asyncio.Task[Reply]) -> None:
    """That nobody was told in time is no failure: the broker ends when it is drained, or says why it is not."""
    if not task.cancelled():
        task.exception()


async def read_body(request: Request) -> bytes:
    """The request's body, cut off at the bound, where it can be no valid JSON any more."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise ConfigError(f"a request of more than {BODY_BYTES_MAX} bytes")
    return body


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's; this is one of its parts."""
        yield


def _counting(counters: Counters) -> type[asyncio.Protocol]:
    class CountingProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # whichever parser is installed
        def send_400_response(self, msg: str) -> None:
            counters.admin_garbage += 1
            super().send_400_response(msg)

    return CountingProtocol


class AdminServer:
    """Serves an app on a socket that listens already, as a task of the running loop."""

    def __init__(self, app: ASGIApp, sock: socket.socket, counters: Counters) -> None:
        config = uvicorn.Config(
            app,
            http=_counting(counters),
            log_config=None,
            log_level="error",  # what strangers send is counted, and no news
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=CLOSE_S_MAX,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[sock]))

    async def close(self) -> None:
        self._server.should_exit = True
        await self._task
