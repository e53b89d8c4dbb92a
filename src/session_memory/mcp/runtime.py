"""The state of a running server: the store, opened at the first call, and cached answers."""

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
from session_memory.mcp.arguments import ToolCall
from session_memory.mcp.callers import Caller
from session_memory.mcp.jsonrpc import to_text
from session_memory.mcp.presence import STORM, Presence
from session_memory.mcp.render import structured
from session_memory.mcp.tools import Profile, ResponseMode
from session_memory.paths import Paths

if TYPE_CHECKING:
    from session_memory.recall.context import RecallContext
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


class _OpenStore(msgspec.Struct, frozen=True):
    """An open store, the context for recall, and the identity of its file."""

    store: Store
    context: RecallContext
    identity: tuple[int, int]


class Runtime:
    """Answers calls. Nothing is opened, created or configured before the first one (RUN-01)."""

    def __init__(
        self,
        options: Options,
        find_paths: Callable[[], Paths],
        clock: Clock,
        settings: Callable[[], RecallSettings] | None = None,
    ) -> None:
        self.options = options
        self._settings = settings
        self._find_paths = find_paths
        self._clock = clock
        self._paths: Paths | None = None
        self._presence: Presence | None = None
        self._opened: _OpenStore | None = None
        self._cache: dict[str, tuple[int, Json]] = {}
        self._started = clock()
        self._hits = self._misses = self._calls = 0

    @property
    def paths(self) -> Paths:
        """The paths of this product, looked up once."""
        if self._paths is None:
            self._paths = self._find_paths()
        return self._paths

    def enter(self) -> None:
        """Count as a server of this store; an error here will show in every call."""
        with suppress(SessionMemoryError):
            self._present().enter()

    def close(self) -> None:
        """Close the store and stop counting as a server."""
        self._close_store()
        if self._presence is not None:
            self._presence.leave()

    def answer(self, call: ToolCall, caller: Caller) -> Json:
        """What a tool answers, as an object."""
        self._calls += 1
        self.enter()
        if call.tool.function is None:
            return self.health(caller)
        opened = self._open()
        if call.tool.records:  # it writes, which a snapshot cannot
            request = self._request(opened, call, caller)
            return structured(call.tool.load()(opened.context, request))
        with opened.store.scopes.snapshot():
            return self._read(opened, call, caller)

    def _read(self, opened: _OpenStore, call: ToolCall, caller: Caller) -> Json:
        function = call.tool.load()
        request = self._request(opened, call, caller)
        if not call.tool.cached:
            return structured(function(opened.context, request))
        # The revision counts every commit of every process, so a stale answer is never found.
        revision = opened.store.scopes.revision()
        key = to_text([call.tool.name, request, revision, self.options.profile])
        now = self._clock()
        cached = self._cache.get(key)
        if cached is not None and 0 <= now - cached[0] < CACHE_MS:
            self._hits += 1
            return cached[1]
        self._misses += 1
        answer = structured(function(opened.context, request))
        self._add_to_cache(key, now, answer)
        return answer

    def _add_to_cache(self, key: str, now: int, answer: Json) -> None:
        self._cache = {
            name: entry for name, entry in self._cache.items() if 0 <= now - entry[0] < CACHE_MS
        }
        if len(self._cache) < CACHE_MOST:
            self._cache[key] = (now, answer)

    def _request(self, opened: _OpenStore, call: ToolCall, caller: Caller) -> Any:
        """The request; about the caller's project where it names neither project nor session."""
        if not call.is_about_caller:
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

    def _open(self) -> _OpenStore:
        """The current store, opened again if its file was replaced."""
        from session_memory.recall.context import recall_context
        from session_memory.store import open_store, store_identity

        opened, data = self._opened, self.paths.data
        # On a disk that cannot be written a store can still be searched.
        read_only = self.options.read_only or (data.exists() and not os.access(data, os.W_OK))
        if opened is not None and opened.identity != store_identity(self.paths.data):
            self._close_store()
            opened = None
        try:
            if opened is None:
                store = open_store(str(self.paths.data), self._clock(), read_only=read_only)
                settings = self._settings() if self._settings else None
                context = recall_context(store, self._clock, read_only=read_only, settings=settings)
                opened = _OpenStore(store, context, store_identity(self.paths.data))
                self._opened = opened
            opened.store.scopes.check_current()
        except StoreTooNew as error:
            raise StoreTooNew(error.message, hint=RESTART) from None
        return opened

    def _close_store(self) -> None:
        if self._opened is not None:
            self._opened.store.close()
            self._opened = None
        self._cache.clear()

    def _present(self) -> Presence:
        if self._presence is None:
            self._presence = Presence(self.paths.state)
        return self._presence

    def health(self, caller: Caller) -> Json:
        """mem_health_runtime; opens no database."""
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
