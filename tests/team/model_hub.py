"""A hub in memory that keeps the promises of core/sharing/wire.py, with a network that can break.

Tests of the laptop use it where thousands of pushes are needed; tests/e2e runs the real one.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from session_memory.core.sharing import wire

TEAM_KEY = "5a" * 32


class Cut(Exception):
    """The connection breaks here."""


class Owned(msgspec.Struct):
    """What one member has in one project."""

    level: str | None = None
    generation: int = 0
    items: dict[str, wire.Item] = {}
    buried: dict[tuple[str, str], int] = {}


class ModelHub:
    """State and rules."""

    def __init__(self) -> None:
        self.tokens: dict[str, tuple[str, str]] = {}  # to member and device
        self.names: dict[str, str] = {}
        self.owned: dict[tuple[str, str], Owned] = {}  # by project and member
        self.manifests: dict[tuple[str, str], str] = {}  # by device and project
        self.changes: list[tuple[str, str, Any]] = []  # project, member, item key or Deleted
        self.requests: list[tuple[str, int]] = []
        self.cut_before: set[int] = set()
        """Numbers of requests that never arrive."""
        self.cut_after: set[int] = set()
        """Numbers of requests that are done and whose answer never arrives."""
        self.down = False
        self.lock = threading.Lock()

    def content(self) -> dict[str, Any]:
        """Everything that others could see, without the order in which it came."""
        return {
            f"{project} {self.names[member]}": sorted(
                (i.kind, i.key, i.hash, i.rank, bytes(i.body), i.text) for i in o.items.values()
            )
            for (project, member), o in sorted(self.owned.items())
            if o.items
        }

    def words(self) -> bytes:
        """Every byte that is kept, to look for words in."""
        return msgspec.json.encode([list(o.items.values()) for o in self.owned.values()])

    # --- endpoints ---

    def join(self, token: str, body: bytes) -> Any:
        request = msgspec.json.decode(body, type=wire.Join)
        if not token.startswith("invite-"):
            raise Problem(401, "token_unknown", "no such invite")
        member = token.removeprefix("invite-")
        device = f"device-{len(self.tokens)}"
        self.tokens[f"token-{device}"] = (member, device)
        self.names[member] = request.display_name
        return wire.Joined(f"token-{device}", device, member, "acme", TEAM_KEY, ("*",))

    def whoami(self, member: str, device: str) -> Any:
        sharing = tuple(
            wire.Sharing(project, o.level, o.generation)  # type: ignore[arg-type]
            for (project, owner), o in self.owned.items()
            if owner == member
        )
        name = self.names[member]
        return wire.WhoAmI(device, member, name, "acme", ("*",), sharing)

    def of(self, project: str, member: str) -> Owned:
        return self.owned.setdefault((project, member), Owned())

    def share(self, member: str, request: wire.Share) -> Any:
        mine = self.of(request.project, member)
        mine.level, mine.generation = request.level, mine.generation + 1
        for key, item in list(mine.items.items()):
            if self._above(item, request.level):
                self._bury(request.project, member, ("item", key), item.rank)
        return wire.Sharing(request.project, request.level, mine.generation)

    @staticmethod
    def _above(item: wire.Item, level: str | None) -> bool:
        order = ("numbers", "lessons", "sessions")
        return level is None or order.index(wire.LEVEL_OF[item.kind]) > order.index(level)

    def unshare(self, member: str, request: wire.Unshare) -> Any:
        mine = self.of(request.project, member)
        count = len(mine.items)
        mine.level, mine.generation, mine.items = None, mine.generation + 1, {}
        self.changes.append((request.project, member, wire.Deleted("member", "", member)))
        return wire.Erased(count, True)

    def sync(self, device: str, member: str, request: wire.Sync) -> Any:
        self._check(member, request.project, request.generation)
        same = self.manifests.get((device, request.project)) == request.manifest
        return wire.SyncState(same, str(len(self.changes)))

    def _check(self, member: str, project: str, generation: int) -> Owned:
        mine = self.of(project, member)
        if mine.level is None or mine.generation != generation:
            raise Problem(409, "not_shared", "not shared at this generation")
        return mine

    def missing(self, member: str, request: wire.Missing) -> Any:
        have = self.of(request.project, member).items
        lacking = [k for k, h in request.items if k not in have or have[k].hash != h]
        return wire.Lacking(tuple(lacking))

    def push(self, device: str, member: str, request: wire.Push) -> Any:
        mine = self._check(member, request.project, request.generation)
        erased = sum(
            self._bury(request.project, member, (each.target, each.key), each.rank)
            for each in request.tombstones
        )
        taken = present = 0
        refused: list[wire.Refused] = []
        for item in request.items:
            known = mine.items.get(item.key)
            if self._above(item, mine.level):
                refused.append(wire.Refused(item.key, "above_level"))
            elif self._is_buried(mine, item):
                refused.append(wire.Refused(item.key, "forgotten"))
            elif known and (known.rank, known.hash) >= (item.rank, item.hash):
                present += 1
            else:
                mine.items[item.key] = item
                self.changes.append((request.project, member, item.key))
                taken += 1
        if request.manifest is not None and not refused:
            self.manifests[device, request.project] = request.manifest
        return wire.Pushed(taken, present, tuple(refused), erased)

    @staticmethod
    def _is_buried(mine: Owned, item: wire.Item) -> bool:
        ranks = (
            mine.buried.get(("item", item.key)),
            mine.buried.get(("session", item.session or "")),
        )
        return any(rank is not None and item.rank <= rank for rank in ranks)

    def _bury(self, project: str, member: str, target: tuple[str, str], rank: int) -> int:
        mine = self.of(project, member)
        mine.buried[target] = max(rank, mine.buried.get(target, 0))
        gone = [k for k, item in mine.items.items() if self._is_buried(mine, item)]
        for key in gone:
            del mine.items[key]
        deleted = wire.Deleted(target[0], target[1], member, rank)  # type: ignore[arg-type]
        self.changes.append((project, member, deleted))
        return len(gone)

    def forget(self, member: str, request: wire.Forget) -> Any:
        gone = sum(
            self._bury(request.project, member, (each.target, each.key), each.rank)
            for each in request.tombstones
        )
        return wire.Erased(gone, True)

    def prove(self, member: str, request: wire.Prove) -> Any:
        mine = self.of(request.project, member)
        named = {(each.target, each.key) for each in request.targets}
        rows = [i for i in mine.items.values() if {("item", i.key), ("session", i.session)} & named]
        return wire.Proof(len(rows), 0, 0, 0, all(target in mine.buried for target in named))

    def pull(self, member: str, query: dict[str, str]) -> Any:
        project, limit = query["project"], int(query.get("limit", "500"))
        start = int(query.get("after") or 0)
        if start > len(self.changes):
            start, restart = 0, True
        else:
            restart = False
        items: list[wire.SharedItem] = []
        deleted: list[wire.Deleted] = []
        at = start
        for where, owner, change in self.changes[start:]:
            at += 1
            if where == project and owner != member:
                if isinstance(change, wire.Deleted):
                    deleted.append(change)
                else:
                    item = self.of(project, owner).items.get(change)
                    if item is not None and wire.LEVEL_OF[item.kind] == "lessons":
                        items.append(wire.SharedItem(item, project, owner, self.names[owner]))
            if len(items) + len(deleted) >= limit:
                break
        # `deleted` is applied first: an item that came again after it is in `items`.
        return wire.Pulled(tuple(items), tuple(deleted), str(at), at < len(self.changes), restart)

    def search(self, member: str, request: wire.Search) -> Any:
        words = request.query.lower().split()
        hits: list[wire.Hit] = []
        for (project, owner), mine in self.owned.items():
            if request.others_only and owner == member:
                continue
            if request.projects and project not in request.projects:
                continue
            for item in mine.items.values():
                if request.kinds and item.kind not in request.kinds:
                    continue
                if request.session is not None and item.session != request.session:
                    continue
                for event, text in _said(item):
                    score = sum(word in text.lower() for word in words)
                    if score:
                        seq, at = (event.seq, event.at) if event else (None, item.at)
                        hits.append(
                            wire.Hit(item.kind, item.key, project, owner, self.names[owner], score,
                                     text, item.session, seq, at, 1, item.body, event)
                        )  # fmt: skip
        hits.sort(key=lambda hit: (-hit.score, hit.key, hit.seq or 0))
        best = tuple(hits[: request.limit])
        named = {hit.session for hit in best}
        lines = (self._lines(project, owner) for project, owner in self.owned)
        return wire.SearchAnswer(
            best, tuple(one for each in lines for one in each if one.key in named)
        )

    def _lines(self, project: str, owner: str) -> list[wire.SessionLine]:
        items = self.owned[project, owner].items.values()
        return [self._line(project, owner, item) for item in items if item.kind == "session"]

    def rules(self, query: dict[str, str]) -> Any:
        return wire.Rules(
            tuple(
                wire.SharedItem(item, project, owner, self.names[owner])
                for (project, owner), mine in self.owned.items()
                if query.get("project") in (None, project)
                for item in mine.items.values()
                if item.kind == "rule"
            )
        )

    def numbers(self, query: dict[str, str]) -> Any:
        items = tuple(
            wire.SharedItem(item, project, owner, self.names[owner])
            for (project, owner), mine in self.owned.items()
            if project == query["project"]
            for item in mine.items.values()
            if item.kind in ("usage", "effect")
        )
        return wire.Numbers(items)

    def sessions(self, query: dict[str, str]) -> Any:
        found = [
            self._line(project, owner, item)
            for (project, owner), mine in self.owned.items()
            if project == query["project"]
            for item in mine.items.values()
            if item.kind == "session"
        ]
        found.sort(key=lambda line: -(line.body.started_at or 0))
        start, limit = int(query.get("after") or 0), int(query["limit"])
        more = str(start + limit) if start + limit < len(found) else None
        return wire.SessionPage(tuple(found[start : start + limit]), more)

    def _line(self, project: str, owner: str, item: wire.Item) -> wire.SessionLine:
        body = msgspec.json.decode(item.body, type=wire.SessionBody)
        return wire.SessionLine(item.session or "", project, owner, self.names[owner], body)

    def session(self, key: str) -> Any:
        for (project, owner), mine in self.owned.items():
            items = [each for each in mine.items.values() if (each.session or "").startswith(key)]
            head = next((item for item in items if item.kind == "session"), None)
            if head is None:
                continue
            runs = [
                msgspec.json.decode(item.body, type=wire.EventsBody)
                for item in items
                if item.kind == "events"
            ]
            runs.sort(key=lambda run: run.first)
            name = self.names[owner]
            shared = tuple(wire.SharedItem(item, project, owner, name) for item in items)
            events = tuple(event for run in runs for event in run.events)
            return wire.SessionText(self._line(project, owner, head), shared, events)
        raise Problem(404, "not_found", "no such session")

    # --- the way in ---

    def answer(self, method: str, path: str, token: str, body: bytes) -> Any:
        url = urlsplit(path)
        query = dict(parse_qsl(url.query))
        if url.path == "/v1/join":
            return self.join(token, body)
        if token not in self.tokens:
            raise Problem(401, "token_revoked", "this token has ended")
        member, device = self.tokens[token]
        read = msgspec.json.decode
        match method, url.path:
            case "GET", "/v1/whoami":
                return self.whoami(member, device)
            case "POST", "/v1/leave":
                del self.tokens[token]
                return wire.Done()
            case "POST", "/v1/share":
                return self.share(member, read(body, type=wire.Share))
            case "POST", "/v1/unshare":
                return self.unshare(member, read(body, type=wire.Unshare))
            case "POST", "/v1/sync":
                return self.sync(device, member, read(body, type=wire.Sync))
            case "POST", "/v1/missing":
                return self.missing(member, read(body, type=wire.Missing))
            case "POST", "/v1/push":
                return self.push(device, member, read(body, type=wire.Push))
            case "GET", "/v1/pull":
                return self.pull(member, query)
            case "POST", "/v1/forget":
                return self.forget(member, read(body, type=wire.Forget))
            case "POST", "/v1/prove":
                return self.prove(member, read(body, type=wire.Prove))
            case "POST", "/v1/search":
                return self.search(member, read(body, type=wire.Search))
            case "GET", "/v1/sessions":
                return self.sessions(query)
            case "GET", where if where.startswith("/v1/session/"):
                return self.session(where.removeprefix("/v1/session/"))
            case "GET", "/v1/rules":
                return self.rules(query)
            case "GET", "/v1/numbers":
                return self.numbers(query)
            case _:
                raise Problem(404, "not_found", "no such path")

    def serve(self, method: str, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        """One request, as the network lets it through."""
        with self.lock:
            number = len(self.requests)
            self.requests.append((f"{method} {urlsplit(path).path}", len(body)))
            if number in self.cut_before:
                raise Cut
            if self.down:
                return 503, _failure("unavailable", "the hub is down")
            try:
                data = msgspec.json.encode(self.answer(method, path, token, body))
            except Problem as problem:
                return problem.status, _failure(problem.code, problem.message)
            if number in self.cut_after:
                raise Cut
            return 200, data


class Problem(Exception):
    """An answer that is not 2xx."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def _said(item: wire.Item) -> list[tuple[wire.EventBody | None, str]]:
    """What is found of an item: its text, or each of its events."""
    if item.kind != "events":
        return [(None, item.text)]
    events = msgspec.json.decode(item.body, type=wire.EventsBody).events
    return [(event, event.command or event.text) for event in events]


def _failure(code: str, message: str) -> bytes:
    return msgspec.json.encode(wire.Failure(wire.FailureDetail(code, message)))


@contextmanager
def served(hub: ModelHub) -> Iterator[str]:
    """The hub on a free port of this machine; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits 40 ms between its head and its body

        def do_GET(self) -> None:
            self._do("GET")

        def do_POST(self) -> None:
            self._do("POST")

        def _do(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            try:
                status, data = hub.serve(method, self.path, token, body)
            except Cut:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
