"""The state of a running server: the store, opened at the first call, and cached answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from session_memory import __version__
from session_memory.clock import Clock, iso
from session_memory.core.project.former_keys import key_hint
from session_memory.core.text.safe_text import one_line, safe
from session_memory.errors import NotFound, Refused, SessionMemoryError, StoreTooNew
from session_memory.mcp.arguments import ToolCall
from session_memory.mcp.callers import Caller
from session_memory.mcp.jsonrpc import to_text
from session_memory.mcp.offered_calls import only_offered
from session_memory.mcp.presence import STORM, Presence
from session_memory.mcp.render import structured
from session_memory.mcp.tools import Profile, ResponseMode, tools_of
from session_memory.paths import Paths

if TYPE_CHECKING:
    from session_memory.core.schema import Project
    from session_memory.curate.take_notes import Writer
    from session_memory.mcp.prompt_texts import PromptContext
    from session_memory.recall.context import RecallContext
    from session_memory.recall.requests import SearchRequest
    from session_memory.settings import Config
    from session_memory.store.port import Store

Json = dict[str, Any]
CACHE_MS = 15_000
CACHE_MOST = 64
_ONE_PROJECT = (
    'this server answers for {!r} alone; --all-projects, or recall.scope = "all", opens it'
)
RESTART = "the store was upgraded while this server ran: restart the session-memory server"


def log_line(text: str) -> None:
    """One line of the server's log, which clients show to their users."""
    print(f"session-memory mcp: {safe(text)}", file=sys.stderr, flush=True)


class Options(msgspec.Struct, frozen=True):
    """How a server was started."""

    profile: Profile = "standard"
    read_only: bool = False
    response_mode: ResponseMode | None = None
    idle_seconds: int = 300
    project: str | None = None
    """The project it answers for; by default the one of the caller's directory."""
    all_projects: bool = False


class _OpenStore(msgspec.Struct, frozen=True):
    """An open store, the context for recall, and the identity of its file."""

    store: Store
    context: RecallContext
    identity: tuple[int, int]
    all_projects: bool
    """Whether answers may be about any project, wherever the caller works."""


class Runtime:
    """Answers calls. Nothing is opened, created or configured before the first one (RUN-01)."""

    def __init__(
        self,
        options: Options,
        find_paths: Callable[[], Paths],
        clock: Clock,
        config: Callable[[], Config] | None = None,
        wrap_store: Callable[[Store], Store] | None = None,
    ) -> None:
        """`wrap_store` returns what answers in place of the store: the hub that it is a copy of."""
        self.options = options
        self._config = config
        self._wrap_store = wrap_store
        self._find_paths = find_paths
        self._clock = clock
        self._paths: Paths | None = None
        self._presence: Presence | None = None
        self._opened: _OpenStore | None = None
        self._cache: dict[str, tuple[int, Json]] = {}
        self._logged: set[str] = set()
        self._own_lookup: tuple[str, str, Project | None] | None = None
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
        if call.tool.mutates:
            writer, request = self._writer(opened, caller), call.request()
            return structured(call.tool.load()(writer, request), call.tool.name)
        if call.tool.records:  # it writes, which a snapshot cannot
            request = self._request(opened, call, caller)
            return self._structured(call, opened, request)
        with opened.store.scopes.snapshot():
            answer = self._read(opened, call, caller)
        if call.arguments.get("scope") == "team":
            return {**answer, **self._of_team(self._request(opened, call, caller))}
        return answer

    def _of_team(self, request: SearchRequest) -> Json:
        """What others shared, where the user opened that to agents."""
        from session_memory.mcp.team_items import team_items

        if self._config is None or not self._config().team.mcp:
            raise Refused(
                "the team is closed to agents", hint="the user can open it: team.mcp = true"
            )
        return structured({"team": team_items(self.paths.data, request)})

    def prompt_context(self, caller: Caller, argument: str) -> PromptContext:
        """What a prompt is made from."""
        from session_memory.mcp.prompt_texts import PromptContext

        self._calls += 1
        self.enter()
        opened = self._open()
        project = self._project_of(opened, caller)
        only = None if opened.all_projects else project.key
        return PromptContext(opened.store, self.paths.data, project, argument, only)

    def _writer(self, opened: _OpenStore, caller: Caller) -> Writer:
        """Which agent writes, and about which project."""
        from session_memory.curate.agent_notes import UNKNOWN
        from session_memory.curate.take_notes import Writer
        from session_memory.redact import Redactor, make_redactor, render

        key = opened.store.tag_key
        redactor = (
            make_redactor(key, self._config().redact, self._log_once)
            if self._config
            else Redactor(key)
        )
        project = self._project_of(opened, caller)
        return Writer(
            store=opened.store,
            flavor=caller.flavor or "an unknown agent",
            session=caller.external_session_id or UNKNOWN,
            project=project,
            only=None if opened.all_projects else project.key,
            data=self.paths.data,
            clock=self._clock,
            redact=lambda text: render(redactor.redact_text(text)),
        )

    def _log_once(self, text: str) -> None:
        """Log what is the same at every call."""
        if text not in self._logged:
            self._logged.add(text)
            log_line(text)

    def _project_of(self, opened: _OpenStore, caller: Caller) -> Project:
        project = self._own_project(opened, caller.directory)
        if project is None:
            hint = "this directory belongs to no captured project: sweep first, or use --project"
            raise NotFound("Project not found", hint=hint)
        return project

    def _read(self, opened: _OpenStore, call: ToolCall, caller: Caller) -> Json:
        request = self._request(opened, call, caller)
        if not call.tool.cached:
            return self._structured(call, opened, request)
        # The revision counts every commit of every process, so a stale answer is never found.
        revision = opened.store.scopes.revision()
        key = to_text([call.tool.name, request, revision, self.options.profile])
        now = self._clock()
        cached = self._cache.get(key)
        if cached is not None and 0 <= now - cached[0] < CACHE_MS:
            self._hits += 1
            return cached[1]
        self._misses += 1
        answer = self._structured(call, opened, request)
        self._add_to_cache(key, now, answer)
        return answer

    def _structured(self, call: ToolCall, opened: _OpenStore, request: Any) -> Json:
        """The answer; every field of it only in the profile `full`."""
        answer = call.tool.load()(opened.context, request)
        fields = structured(answer, None if self.options.profile == "full" else call.tool.name)
        if self.options.profile != "agent":  # the other profiles promise every tool name
            return fields
        return only_offered(fields, {tool.name for tool in tools_of("agent")})

    def _add_to_cache(self, key: str, now: int, answer: Json) -> None:
        self._cache = {
            name: entry for name, entry in self._cache.items() if 0 <= now - entry[0] < CACHE_MS
        }
        if len(self._cache) < CACHE_MOST:
            self._cache[key] = (now, answer)

    def _request(self, opened: _OpenStore, call: ToolCall, caller: Caller) -> Any:
        """The request, about the one project this server answers for, where there is one."""
        own = None if opened.all_projects else self._own_project(opened, caller.directory)
        named = call.arguments.get("project_key")
        if own is not None:
            if named not in (None, own.key):
                raise NotFound("Project not found", hint=_ONE_PROJECT.format(one_line(own.key)))
            return call.request(own.key)
        if not call.is_about_caller:
            return call.request()
        here = self._project_at(opened, caller.directory)
        if here is None:
            raise NotFound(
                "Project not found",
                hint="this directory belongs to no captured project: give project_key,"
                " or use mem_search, which looks through all",
            )
        return call.request(here.key)

    def _own_project(self, opened: _OpenStore, directory: str) -> Project | None:
        """The project this server answers for alone; None where the directory belongs to none."""
        if self.options.project is None:
            return self._project_at(opened, directory)
        projects = opened.store.projects()
        for project in projects:
            if project.key == self.options.project:
                return project
        listed = "`session-memory project list` names the known ones"
        hint = key_hint(projects, self.options.project, listed)
        named = one_line(self.options.project)
        raise NotFound(
            "Project not found", hint=f"the server was started with --project {named!r}; {hint}"
        )

    def _project_at(self, opened: _OpenStore, directory: str) -> Project | None:
        """The project of a directory, looked up again when anything was stored."""
        from session_memory.core.project.directory import project_at

        revision = opened.store.scopes.revision()
        if self._own_lookup is None or self._own_lookup[:2] != (directory, revision):
            self._own_lookup = (directory, revision, project_at(opened.store.projects(), directory))
        return self._own_lookup[2]

    def _open(self) -> _OpenStore:
        """The current store, opened again if its file was replaced."""
        from session_memory.recall.context import RecallContext
        from session_memory.store import open_store, store_identity

        opened, data = self._opened, self.paths.data
        # On a disk that cannot be written a store can still be searched.
        read_only = self.options.read_only or (data.exists() and not os.access(data, os.W_OK))
        if opened is not None and opened.identity != store_identity(self.paths.data):
            self._close_store()
            opened = None
        try:
            if opened is None:
                store = open_store(str(data), self._clock(), read_only=read_only)
                store = self._wrap_store(store) if self._wrap_store else store
                vault = self._config().journal.vault if self._config else ""
                context = RecallContext(store, self._clock, read_only, data, vault)
                opened = _OpenStore(store, context, store_identity(data), self._is_open_to_all())
                self._opened = opened
            opened.store.scopes.check_current()
        except StoreTooNew as error:
            raise StoreTooNew(error.message, hint=RESTART) from None
        return opened

    def _is_open_to_all(self) -> bool:
        if self.options.project is not None or self.options.all_projects:
            return self.options.all_projects
        return self._config is not None and self._config().recall.scope == "all"

    def _close_store(self) -> None:
        if self._opened is not None:
            self._opened.store.close()
            self._opened = None
        self._own_lookup = None
        self._cache.clear()

    def _present(self) -> Presence:
        if self._presence is None:
            self._presence = Presence(self.paths.state)
        return self._presence

    def _scope(self) -> str:
        if self.options.project is not None:
            return one_line(self.options.project)
        is_open = self.options.all_projects or (self._opened and self._opened.all_projects)
        return "all projects" if is_open else "the project of the caller's directory"

    def health(self, caller: Caller) -> Json:
        """mem_health_runtime; opens no database."""
        count = self._present().count()
        now = self._clock()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "profile": self.options.profile,
            "read_only": self.options.read_only,
            "scope": self._scope(),
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
