"""People with devices, as tests of the hub speak of them; requests go through the application."""

from __future__ import annotations

import asyncio
import gzip
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette

from session_memory.core.sharing import hashes, wire
from session_memory.hub.admin import Invitation, invite
from session_memory.hub.app import Hub, make_app

Value = TypeVar("Value")
PROJECT = "github.com/acme/shop"


class Response(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    body: bytes
    headers: dict[str, str]

    def value(self, wanted: type[Value]) -> Value:
        assert self.status == 200, (self.status, self.body)
        return msgspec.json.decode(self.body, type=wanted)

    @property
    def code(self) -> str:
        return msgspec.json.decode(self.body, type=wire.Failure).error.code


class Request(msgspec.Struct, frozen=True):
    """One request as it goes over the wire."""

    method: str
    path: str
    token: str | None = None
    body: bytes = b""
    headers: dict[str, str] = {}
    goes_away: bool = False
    """More was to come, but the client is gone."""


def send(hub: Hub | str, request: Request) -> Response:
    """Give a request to the application as its server would, or to a server at an address."""
    if isinstance(hub, str):
        return _send_over_http(hub, request)
    return asyncio.run(give(make_app(hub), request))


async def give(app: Starlette, request: Request) -> Response:
    """Give a request to an application."""
    path, _, query = request.path.partition("?")
    headers = [(name.lower().encode(), value.encode()) for name, value in request.headers.items()]
    if request.token is not None:
        headers.append((b"authorization", f"Bearer {request.token}".encode()))
    scope: dict[str, Any] = {
        "type": "http", "method": request.method, "path": path, "query_string": query.encode(),
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "scheme": "http", "root_path": "", "http_version": "1.1", "raw_path": path.encode(),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    more = request.goes_away
    waiting = [{"type": "http.request", "body": request.body, "more_body": more}]

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def answer(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, answer)
    start = sent[0]
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Response(start["status"], b"".join(m.get("body", b"") for m in sent[1:]), found)


def _send_over_http(address: str, request: Request) -> Response:
    headers = dict(request.headers)
    if request.token is not None:
        headers["Authorization"] = f"Bearer {request.token}"
    data = request.body if request.method == "POST" else None
    made = urllib.request.Request(address + request.path, data, headers, method=request.method)
    try:
        with urllib.request.urlopen(made, timeout=60) as answer:
            return Response(answer.status, answer.read(), dict(answer.headers))
    except urllib.error.HTTPError as error:
        return Response(error.code, error.read(), dict(error.headers))


class Device:
    """A device that has joined; its methods are the requests a laptop makes."""

    def __init__(self, hub: Hub | str, joined: wire.Joined) -> None:
        self.hub = hub
        self.joined = joined
        self.token = joined.token
        self.key = bytes.fromhex(joined.team_key)
        self.generation: dict[str, int] = {}

    def post(
        self, path: str, value: msgspec.Struct | None = None, *, packed: bool = False
    ) -> Response:
        body = msgspec.json.encode(value) if value is not None else b""
        headers = {"Content-Encoding": "gzip"} if packed else {}
        sent = gzip.compress(body) if packed else body
        return send(self.hub, Request("POST", path, self.token, sent, headers))

    def get(self, path: str) -> Response:
        return send(self.hub, Request("GET", path, self.token))

    def share(self, level: wire.Level = "sessions", project: str = PROJECT) -> wire.Sharing:
        shared = self.post("/v1/share", wire.Share(project, level)).value(wire.Sharing)
        self.generation[project] = shared.generation
        return shared

    def item(
        self,
        kind: str,
        name: str,
        text: str = "",
        *,
        rank: int = 1,
        session: str | None = None,
        body: Any = None,
        like: str | None = None,
        seq: int | None = None,
    ) -> wire.Item:
        encoded = msgspec.json.encode(body if body is not None else {"name": name})
        return wire.Item(
            kind=kind,
            key=hashes.item_key(self.key, kind, name),
            hash=hashes.content_hash(self.key, kind, text, encoded),
            rank=rank,
            body=msgspec.Raw(encoded),
            text=text,
            session=self.session_key(session) if session else None,
            likeness=hashes.likeness(self.key, kind, like) if like else None,
            seq=seq,
            at=rank,
        )

    def session_key(self, name: str) -> str:
        return hashes.session_key(self.key, "claude", name)

    def events(self, session: str, *texts: str, rank: int = 1, first: int = 0) -> wire.Item:
        events = tuple(
            wire.EventBody(
                first + n, "user_prompt" if n % 2 == 0 else "assistant_text", "user", text
            )
            for n, text in enumerate(texts)
        )
        body = wire.EventsBody(first, events)
        return self.item("events", f"{session}:{first}", rank=rank, session=session, body=body)

    def batch(self, *items: wire.Item, project: str = PROJECT, **more: Any) -> wire.Push:
        return wire.Push(project, self.generation.get(project, 0), items, **more)

    def push(self, *items: wire.Item, project: str = PROJECT, **more: Any) -> wire.Pushed:
        return self.post("/v1/push", self.batch(*items, project=project, **more)).value(wire.Pushed)

    def pull(self, after: str = "", project: str = PROJECT, limit: int = 200) -> wire.Pulled:
        return self.get(f"/v1/pull?project={project}&after={after}&limit={limit}").value(
            wire.Pulled
        )

    def forget(self, *tombstones: wire.Tombstone, project: str = PROJECT) -> wire.Erased:
        return self.post("/v1/forget", wire.Forget(project, tombstones)).value(wire.Erased)

    def prove(self, *targets: wire.Tombstone, project: str = PROJECT) -> wire.Proof:
        return self.post("/v1/prove", wire.Prove(project, targets)).value(wire.Proof)

    def search(self, query: str, **more: Any) -> list[wire.Hit]:
        return list(
            self.post("/v1/search", wire.Search(query, **more)).value(wire.SearchAnswer).hits
        )


class Team:
    """A team on a hub."""

    def __init__(self, hub: Hub, name: str = "acme") -> None:
        self.hub = hub
        self.name = name

    def invite(self, projects: tuple[str, ...] = ("*",), **more: Any) -> str:
        wanted = Invitation(self.name, projects, **more)
        return invite(self.hub.pool, wanted, datetime.now(UTC)).token

    def device(self, display_name: str, projects: tuple[str, ...] = ("*",), **more: Any) -> Device:
        joined = send(
            self.hub,
            Request("POST", "/v1/join", self.invite(projects, **more),
                    msgspec.json.encode(wire.Join(display_name, "laptop"))),
        )  # fmt: skip
        return Device(self.hub, joined.value(wire.Joined))
