"""The table of endpoints: path, method, and the function that answers it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec
from starlette.requests import Request

from session_memory import __version__
from session_memory.core.sharing.wire import (
    Done,
    Forget,
    Join,
    Missing,
    Prove,
    Push,
    Search,
    Share,
    Sync,
    Unshare,
)
from session_memory.hub import access, forget, pull, push, queries
from session_memory.hub.access import project_of
from session_memory.hub.database import Caller, Pool, as_caller, as_member, transaction
from session_memory.hub.failures import RequestError
from session_memory.hub.journal import Entry, journalled
from session_memory.hub.objects import Texts

Decoded = TypeVar("Decoded")
DEFAULT_PAGE = 200


class Call:
    """One request on its way to its answer."""

    def __init__(
        self, pool: Pool, texts: Texts, caller: Caller | None, body: bytes, request: Request
    ) -> None:
        self.pool = pool
        self.texts = texts
        self.caller = caller
        self.body = body
        self._request = request

    @property
    def authenticated(self) -> Caller:
        """The caller of an endpoint that needs a token."""
        assert self.caller is not None
        return self.caller

    @property
    def address(self) -> str:
        """Where it comes from."""
        return self._request.client.host if self._request.client else ""

    @property
    def authorization(self) -> str | None:
        """The header with the token."""
        return self._request.headers.get("Authorization")

    def decoded(self, wanted: type[Decoded]) -> Decoded:
        """The body as a value of the wire."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=wanted)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError(
                "bad_request", f"the body is not understood: {error}"[:300]
            ) from None

    def text(self, name: str) -> str:
        """A parameter of the address; empty where it is not given."""
        return self._request.query_params.get(name, "")

    def number(self, name: str) -> int | None:
        """A parameter that is a number."""
        text = self.text(name)
        if not text:
            return None
        if not text.lstrip("-").isdecimal() or len(text) > 18:
            raise RequestError("bad_request", f"{name} must be a number")
        return int(text)

    def part(self, name: str) -> str:
        """A part of the path."""
        return str(self._request.path_params[name])


class Answer(msgspec.Struct, frozen=True):
    """The value to send back, and the counts for the audit."""

    value: object
    project: str | None = None
    items: int = 0
    team: int | None = None
    device: str | None = None
    bytes: int = 0


class Endpoint(msgspec.Struct, frozen=True):
    """One path."""

    method: str
    path: str
    answer: Callable[[Call, datetime], Answer]
    is_open: bool = False
    """No device token is needed: joining uses an invite."""


def _join(call: Call, now: datetime) -> Answer:
    request = call.decoded(Join)
    with transaction(call.pool) as connection:
        joined = access.join(connection, call.authorization, request, now)
        row = connection.execute("SELECT id FROM hub.team").fetchone()
    return Answer(joined, team=row[0] if row else None, device=joined.device)


def _whoami(call: Call, _now: datetime) -> Answer:
    with as_caller(call.pool, call.authenticated) as connection:
        return Answer(access.who_am_i(connection, call.authenticated, __version__))


def _rotate(call: Call, now: datetime) -> Answer:
    with as_caller(call.pool, call.authenticated) as connection:
        return Answer(access.rotate(connection, call.authenticated, now))


def _leave(call: Call, now: datetime) -> Answer:
    with as_caller(call.pool, call.authenticated) as connection:
        entry = Entry(call.authenticated.team_id, revoked=call.authenticated.device)
        journalled(connection, call.texts, entry)
        access.leave(connection, call.authenticated, now)
    return Answer(Done())


def _share(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Share)
    with as_caller(call.pool, call.authenticated) as connection:
        number = access.project_or_new(connection, call.authenticated, request.project)
    projects = {**call.authenticated.projects, request.project: number}
    caller = msgspec.structs.replace(call.authenticated, projects=projects)
    wanted = (request.project, request.level)
    return Answer(forget.share(call.pool, call.texts, caller, number, wanted), request.project)


def _unshare(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Unshare)
    number = project_of(call.authenticated, request.project)
    erased = forget.unshare(call.pool, call.texts, call.authenticated, number, request.project)
    return Answer(erased, request.project, erased.items)


def _sync(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Sync)
    number = project_of(call.authenticated, request.project)
    with as_member(call.pool, call.authenticated, number) as part:
        return Answer(push.sync(part, request), request.project)


def _missing(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Missing)
    number = project_of(call.authenticated, request.project)
    with as_member(call.pool, call.authenticated, number) as part:
        return Answer(push.missing(part, request), request.project, len(request.items))


def _push(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Push)
    number = project_of(call.authenticated, request.project)
    pushed = push.push(call.pool, call.texts, call.authenticated, number, request)
    return Answer(pushed, request.project, pushed.taken)


def _pull(call: Call, _now: datetime) -> Answer:
    project = call.text("project")
    number = project_of(call.authenticated, project)
    limit = call.number("limit")
    with as_caller(call.pool, call.authenticated) as connection:
        page = pull.pull(
            connection, call.authenticated, number, call.text("after"),
            DEFAULT_PAGE if limit is None else limit,
        )  # fmt: skip
    return Answer(page, project, len(page.items))


def _forget(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Forget)
    number = project_of(call.authenticated, request.project)
    erased = forget.forget(call.pool, call.texts, call.authenticated, number, request)
    return Answer(erased, request.project, erased.items)


def _prove(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Prove)
    number = project_of(call.authenticated, request.project)
    proof = forget.prove(call.pool, call.texts, call.authenticated, number, request)
    return Answer(proof, request.project, len(request.targets))


def _search(call: Call, _now: datetime) -> Answer:
    request = call.decoded(Search)
    answer = queries.search(call.pool, call.texts, call.authenticated, request)
    return Answer(answer, ",".join(request.projects)[:300] or None, len(answer.hits))


def _projects(call: Call) -> tuple[str | None, list[int]]:
    """The project that is asked about, or all that the caller may see."""
    project = call.text("project")
    if project:
        return project, [project_of(call.authenticated, project)]
    return None, sorted(call.authenticated.projects.values())


def _sessions(call: Call, _now: datetime) -> Answer:
    project, numbers = _projects(call)
    limit = call.number("limit")
    with as_caller(call.pool, call.authenticated) as connection:
        page = queries.sessions(
            connection, numbers, call.text("after"), DEFAULT_PAGE if limit is None else limit
        )
    return Answer(page, project, len(page.sessions))


def _session(call: Call, _now: datetime) -> Answer:
    text = queries.session(call.pool, call.texts, call.authenticated, call.part("key"))
    return Answer(text, text.line.project, len(text.events))


def _numbers(call: Call, _now: datetime) -> Answer:
    project, numbers = _projects(call)
    with as_caller(call.pool, call.authenticated) as connection:
        since, until = call.number("since"), call.number("until")
        answer = queries.numbers(connection, numbers, since, until)
    return Answer(answer, project, len(answer.items))


def _rules(call: Call, _now: datetime) -> Answer:
    project, numbers = _projects(call)
    with as_caller(call.pool, call.authenticated) as connection:
        answer = queries.rules(connection, numbers)
    return Answer(answer, project, len(answer.items))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/v1/join", _join, is_open=True),
    Endpoint("GET", "/v1/whoami", _whoami),
    Endpoint("POST", "/v1/rotate", _rotate),
    Endpoint("POST", "/v1/leave", _leave),
    Endpoint("POST", "/v1/share", _share),
    Endpoint("POST", "/v1/unshare", _unshare),
    Endpoint("POST", "/v1/sync", _sync),
    Endpoint("POST", "/v1/missing", _missing),
    Endpoint("POST", "/v1/push", _push),
    Endpoint("GET", "/v1/pull", _pull),
    Endpoint("POST", "/v1/forget", _forget),
    Endpoint("POST", "/v1/prove", _prove),
    Endpoint("POST", "/v1/search", _search),
    Endpoint("GET", "/v1/sessions", _sessions),
    Endpoint("GET", "/v1/session/{key}", _session),
    Endpoint("GET", "/v1/numbers", _numbers),
    Endpoint("GET", "/v1/rules", _rules),
)
