"""What a running server holds: the store, opened at the first question, and recent answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory import __version__
from session_memory.clock import Clock, iso
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound, SessionMemoryError, StoreTooNew
from session_memory.mcp.arguments import Asked
from session_memory.mcp.callers import Caller
from session_memory.mcp.jsonrpc import to_text
from session_memory.mcp.presence import STORM, Presence
from session_memory.mcp.render import structured
from session_memory.mcp.tools import Profile, ResponseMode
from session_memory.paths import Paths

if TYPE_CHECKING:
    from session_memory.recall.facade import Recall
    from session_memory.settings import Recall as RecallSettings
    from session_memory.store.port import Store

Json = dict[str, Any]
CACHE_MS = 15_000
CACHE_MOST = 64
RESTART = "the store was upgraded while this server ran: restart the session-memory server"


class Options(msgspec.Struct, frozen=True):
    """How a server was started."""

    profile: Profile = "standard"
    read_only: bool = False
    response_mode: ResponseMode | None = None
    idle_seconds: int = 300


class _Opened(msgspec.Struct, frozen=True):
    """A store, what answers from it, and which store it is."""

    store: Store
    recall: Recall
    identity: tuple[int, int]


class Runtime:
    """Answers calls. Nothing is opened, made or configured before the first one (RUN-01)."""

    def __init__(
        self,
        options: Options,
        places: Callable[[], Paths],
        clock: Clock,
        settings: Callable[[], RecallSettings] | None = None,
    ) -> None:
        self.options = options
        self._settings = settings
        self._places = places
        self._clock = clock
        self._found: Paths | None = None
        self._presence: Presence | None = None
        self._opened: _Opened | None = None
        self._cache: dict[str, tuple[int, Json]] = {}
        self._started = clock()
        self._hits = self._misses = self._calls = 0

    @property
    def paths(self) -> Paths:
        """Our places, found once."""
        if self._found is None:
            self._found = self._places()
        return self._found

    def enter(self) -> None:
        """Be counted among the servers of this store; what stands in the way, every call tells."""
        with suppress(SessionMemoryError):
            self._present().enter()

    def close(self) -> None:
        """Let go of everything."""
        self._let_go()
        if self._presence is not None:
            self._presence.leave()

    def answer(self, call: Asked, caller: Caller) -> Json:
        """What a tool says, as an object."""
        self._calls += 1
        self.enter()
        if call.tool.ask is None:
            return self.health(caller)
        opened = self._open()
        if call.tool.records:  # it writes, and a snapshot cannot
            return structured(call.tool.ask(opened.recall, self._request(opened, call, caller)))
        with opened.store.scopes.snapshot():
            return self._read(opened, call, caller)

    def _read(self, opened: _Opened, call: Asked, caller: Caller) -> Json:
        ask = call.tool.ask
        assert ask is not None  # answer() gave those without to health()
        request = self._request(opened, call, caller)
        if not call.tool.cached:
            return structured(ask(opened.recall, request))
        # The revision counts every commit of every process, so nothing stale is ever found.
        key = to_text([call.tool.name, request, opened.recall.revision(), self.options.profile])
        now = self._clock()
        kept = self._cache.get(key)
        if kept is not None and 0 <= now - kept[0] < CACHE_MS:
            self._hits += 1
            return kept[1]
        self._misses += 1
        told = structured(ask(opened.recall, request))
        self._keep(key, now, told)
        return told

    def _keep(self, key: str, now: int, told: Json) -> None:
        self._cache = {
            name: kept for name, kept in self._cache.items() if 0 <= now - kept[0] < CACHE_MS
        }
        if len(self._cache) < CACHE_MOST:
            self._cache[key] = (now, told)

    def _request(self, opened: _Opened, call: Asked, caller: Caller) -> Any:
        """The request; where it names neither project nor session, about the caller's place."""
        if not call.wants_place:
            return call.request()
        from session_memory.core.project.directory import project_at

        project = project_at(opened.store.projects(), caller.directory)
        if project is None:
            raise NotFound(
                "Project not found",
                hint="this directory belongs to no captured project: give project_key,"
                " or use mem_search, which looks through all",
            )
        return call.request(project.key)

    def _open(self) -> _Opened:
        """The store as it is now: opened late, again when its file was replaced."""
        from session_memory.recall.facade import Recall
        from session_memory.store import open_store, store_identity

        opened, only_read = self._opened, self.options.read_only
        identity = store_identity(self.paths.data)
        if opened is not None and opened.identity != identity:
            self._let_go()
            opened = None
        try:
            if opened is None:
                store = open_store(str(self.paths.data), self._clock(), read_only=only_read)
                settings = self._settings() if self._settings else None
                recall = Recall(store, self._clock, read_only=only_read, settings=settings)
                opened = self._opened = _Opened(store, recall, store_identity(self.paths.data))
            opened.store.scopes.check_current()
        except StoreTooNew as error:
            raise StoreTooNew(error.message, hint=RESTART) from None
        return opened

    def _let_go(self) -> None:
        if self._opened is not None:
            self._opened.store.close()
            self._opened = None
        self._cache.clear()

    def _present(self) -> Presence:
        if self._presence is None:
            self._presence = Presence(self.paths.state)
        return self._presence

    def health(self, caller: Caller) -> Json:
        """mem_health_runtime; looks at no database."""
        count = self._present().count()
        now = self._clock()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "profile": self.options.profile,
            "read_only": self.options.read_only,
            "response_mode": self.options.response_mode or "by client",
            "lazy_initialized": self._opened is not None,
            "calls": self._calls,
            "cache": {
                "hits": self._hits,
                "misses": self._misses,
                "entries": len(self._cache),
                "seconds": CACHE_MS // 1000,
            },
            "same_db_process_count": count,
            "spawn_storm_warning": count >= STORM,
            "started_at": iso(self._started),
            "uptime_seconds": max(0, now - self._started) // 1000,
            "idle_timeout_seconds": self.options.idle_seconds,
            "exit_reason": None,
            "caller": {
                "client": caller.client,
                "external_session_id": caller.external_session_id,
                "directory": one_line(caller.directory),
            },
        }
