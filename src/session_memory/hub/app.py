"""The hub as an ASGI application: limits, tokens, audit, and one function for each endpoint."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from anyio import CapacityLimiter, current_time, sleep, to_thread
from psycopg_pool import PoolTimeout
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from session_memory.core.sharing.wire import (
    LOWEST_WIRE_VERSION,
    MAX_PUSH_BYTES,
    WIRE_HEADER,
    WIRE_VERSION,
)
from session_memory.hub import database, objects
from session_memory.hub.access import authenticate
from session_memory.hub.database import Caller, Pool, transaction
from session_memory.hub.endpoints import ENDPOINTS, Answer, Call, Endpoint
from session_memory.hub.failures import RequestError
from session_memory.hub.limits import Rate
from session_memory.hub.objects import Texts

PER_SECOND, BURST = 20.0, 200
"""Requests of one device: the first push of a large store is a burst, and slows down on demand."""
FAILED_PER_SECOND, FAILED_BURST = 0.2, 20
"""Requests without a valid token, from one address."""
PUSHES_AT_ONCE, PUSHES_WAITING = 2, 6
"""Further ones wait: taking a batch is work for a processor, and searches must not stand behind it.
One at a time while a search runs. So many may wait; others are asked to retry, before their
laptops give up."""
SEARCHES_AT_ONCE = min(12, max(4, 2 * (os.cpu_count() or 1)))
"""Further ones wait for their turn: run all at once, each would be slow."""
REST_SECONDS = 0.2
"""How often a waiting push checks whether a search is still running."""
COME_AGAIN_SECONDS = 5
_SPOKEN = f"{LOWEST_WIRE_VERSION}-{WIRE_VERSION}"


class Hub:
    """What requests share: connections, texts, limits and the clock."""

    def __init__(
        self,
        pool: Pool,
        texts: Texts,
        *,
        devices: Rate | None = None,
        strangers: Rate | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.pool = pool
        self.texts = texts
        self.devices = devices or Rate(PER_SECOND, BURST)
        self.strangers = strangers or Rate(FAILED_PER_SECOND, FAILED_BURST)
        self.clock = clock


def make_app(hub: Hub) -> Starlette:
    """The application."""
    routes = [Route("/healthz", _healthz, methods=["GET"])]
    turns = _Turns()
    routes += [
        Route(endpoint.path, _serving(hub, endpoint, turns), methods=[endpoint.method])
        for endpoint in ENDPOINTS
    ]
    handlers = {HTTPException: _no_such_path, Exception: _unexpected}
    return Starlette(routes=routes, exception_handlers=handlers)


async def _healthz(_request: Request) -> Response:
    return PlainTextResponse("ok")


async def _no_such_path(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code = "method_not_allowed" if status == 405 else "not_found"
    return _failed(RequestError(code, "there is nothing here", "see docs/hub.md for what is"))


async def _unexpected(_request: Request, _error: Exception) -> Response:
    """An unexpected error goes to the server's log; the answer does not describe it."""
    return _failed(RequestError("unavailable", "the hub failed", "repeat it later"))


class _Turns:
    """Schedules requests: searches and pushes."""

    def __init__(self) -> None:
        self.searches = CapacityLimiter(SEARCHES_AT_ONCE)
        self.searching = 0
        self.pushes = CapacityLimiter(PUSHES_AT_ONCE)
        self.pushing = 0
        """Including those that wait."""
        self.rested_at = 0.0
        """When the next push may begin while a search runs."""


async def _search(turns: _Turns, hub: Hub, endpoint: Endpoint, call: Call) -> object:
    """Answer a search when it is its turn; meanwhile pushes are taken one at a time."""
    turns.searching += 1
    turns.pushes.total_tokens = 1
    try:
        return await to_thread.run_sync(_answer, hub, endpoint, call, limiter=turns.searches)
    finally:
        turns.searching -= 1
        if not turns.searching:
            turns.pushes.total_tokens = PUSHES_AT_ONCE


async def _push(turns: _Turns, hub: Hub, endpoint: Endpoint, call: Call) -> object:
    """Take a push when it is its turn; refuse it at once where too many wait."""
    if turns.pushing >= PUSHES_AT_ONCE + PUSHES_WAITING:
        await run_in_threadpool(_audit, hub, endpoint, call.caller, 429, Answer(None))
        wait = COME_AGAIN_SECONDS
        raise RequestError("slow_down", "many devices push at once", f"repeat it in {wait} s", wait)
    turns.pushing += 1
    try:
        async with turns.pushes:
            # While there are searches, half of the time is reserved for them.
            while turns.searching and (rest := turns.rested_at - current_time()) > 0:
                await sleep(min(rest, REST_SECONDS))
            start = current_time()
            try:
                return await run_in_threadpool(_answer, hub, endpoint, call)
            finally:
                turns.rested_at = 2 * current_time() - start
    finally:
        turns.pushing -= 1


async def _at_once(_turns: _Turns, hub: Hub, endpoint: Endpoint, call: Call) -> object:
    return await run_in_threadpool(_answer, hub, endpoint, call)


_IN_TURN = {"/v1/push": _push, "/v1/search": _search}


def _serving(hub: Hub, endpoint: Endpoint, turns: _Turns) -> Callable[[Request], object]:
    answering = _IN_TURN.get(endpoint.path, _at_once)

    async def serve(request: Request) -> Response:
        address = request.client.host if request.client else ""
        try:
            _check_version(request)
            # An unknown caller must not make the hub read or unpack megabytes.
            caller = await run_in_threadpool(_caller, hub, endpoint, request, address)
            body = await _body(request)
            call = Call(hub.pool, hub.texts, caller, body, request)
            answer = await answering(turns, hub, endpoint, call)
        except RequestError as error:
            return _failed(error)
        except ClientDisconnect:  # the request was cut off: no client waits for an answer
            return Response(status_code=400)
        return Response(
            msgspec.json.encode(answer),
            media_type="application/json",
            headers={WIRE_HEADER: _SPOKEN, "Cache-Control": "no-store"},
        )

    return serve


def _check_version(request: Request) -> None:
    spoken = request.headers.get(WIRE_HEADER, str(WIRE_VERSION))
    is_known = spoken.isdecimal() and LOWEST_WIRE_VERSION <= int(spoken) <= WIRE_VERSION
    if not is_known:
        older = spoken.isdecimal() and int(spoken) < LOWEST_WIRE_VERSION
        raise RequestError(
            "wire_version",
            f"this hub speaks versions {_SPOKEN}, not {spoken[:20]}",
            "upgrade session-memory on this machine" if older else "ask for the hub's upgrade",
        )


def _caller(hub: Hub, endpoint: Endpoint, request: Request, address: str) -> Caller | None:
    """The caller of a request; a refusal is recorded in the audit too."""
    if endpoint.is_open:
        return None
    now = hub.clock()
    try:
        with _storage_errors_reported(), transaction(hub.pool) as connection:
            caller = authenticate(connection, request.headers.get("Authorization"), now)
    except RequestError as error:
        _refuse_stranger(hub, endpoint, address, error)
        raise
    wait = hub.devices.wait(caller.device)
    if wait:
        _audit(hub, endpoint, caller, 429, Answer(None))
        raise RequestError(
            "slow_down", "too many requests", f"repeat it in {wait} s", retry_after=wait
        )
    return caller


def _refuse_stranger(hub: Hub, endpoint: Endpoint, address: str, error: RequestError) -> None:
    """Note a refusal; from an address with many of them, only a part is noted and answered."""
    if error.status >= 500:
        return
    wait = hub.strangers.wait(address)
    if wait:
        raise RequestError(
            "slow_down", "too many refused requests", f"repeat it in {wait} s", retry_after=wait
        )
    _audit(hub, endpoint, None, error.status, Answer(None))


def _too_large() -> RequestError:
    return RequestError(
        "too_large", f"a request has at most {MAX_PUSH_BYTES} bytes", "send less at once"
    )


async def _body(request: Request) -> bytes:
    """The body, unpacked, as long as it keeps to the limit."""
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding not in ("identity", "gzip"):
        raise RequestError("bad_encoding", f"{encoding[:20]} is not understood", "send it as gzip")
    unpacking = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
    parts: list[bytes] = []
    total = 0
    announced = request.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced[:20]) > MAX_PUSH_BYTES:
        raise _too_large()
    async for received in request.stream():
        part = received
        if unpacking is not None:
            try:
                part = unpacking.decompress(received, MAX_PUSH_BYTES - total + 1)
            except zlib.error:
                raise RequestError("bad_encoding", "the body is damaged gzip") from None
        total += len(part)
        if total > MAX_PUSH_BYTES:
            raise _too_large()
        parts.append(part)
    if unpacking is not None and not unpacking.eof:
        raise RequestError("bad_encoding", "the body ends before its gzip does")
    return b"".join(parts)


def _answer(hub: Hub, endpoint: Endpoint, call: Call) -> object:
    """Answer a request and record it in the audit, also if it fails."""
    try:
        with _storage_errors_reported():
            answer = endpoint.answer(call, hub.clock())
    except RequestError as error:
        if endpoint.is_open:
            _refuse_stranger(hub, endpoint, call.address, error)
        else:
            _audit(hub, endpoint, call.caller, error.status, Answer(None))
        raise
    noted = msgspec.structs.replace(answer, bytes=len(call.body))
    _audit(hub, endpoint, call.caller, 200, noted)
    return answer.value


class _storage_errors_reported:  # noqa: N801  # reads as a statement
    """Answers `unavailable` if database or storage cannot be reached; changes are rolled back."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        away = (*database.TROUBLE, PoolTimeout, *objects.TROUBLE)
        if isinstance(error, away):
            raise RequestError(
                "unavailable", "the hub cannot reach its storage now", "repeat it later"
            ) from error


def _audit(
    hub: Hub, endpoint: Endpoint, caller: Caller | None, status: int, answer: Answer
) -> None:
    team = caller.team_id if caller else answer.team
    try:
        with transaction(hub.pool, team=str(team or "")) as connection:
            connection.execute(
                "INSERT INTO hub.audit (team_id, device_id, action, project, status, items, bytes)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (
                    team,
                    caller.device if caller else answer.device,
                    f"{endpoint.method} {endpoint.path}",
                    answer.project,
                    status,
                    answer.items,
                    answer.bytes,
                ),
            )
    except (*database.TROUBLE, PoolTimeout) as error:
        # A request that cannot be recorded is not answered; repeating it changes nothing.
        raise RequestError("unavailable", "the hub cannot note this request now") from error


def _failed(error: RequestError) -> Response:
    headers = {WIRE_HEADER: _SPOKEN, "Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return Response(
        msgspec.json.encode(error.failure),
        error.status,
        media_type="application/json",
        headers=headers,
    )
