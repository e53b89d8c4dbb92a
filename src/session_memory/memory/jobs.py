"""The background jobs of memory: started by sessions that start or end, done by the worker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec

from session_memory.adapters.registry import find_agent
from session_memory.clock import Clock
from session_memory.core.jobs import Job
from session_memory.core.pauses import Pauses, is_paused
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent, Refused, SessionMemoryError
from session_memory.memory.consolidate import consolidate, manual_owner
from session_memory.memory.context import MemoryContext, OpenModel, open_context
from session_memory.memory.extract import ExtractReport, extract
from session_memory.memory.layout import REBUILD, memory_root
from session_memory.memory.selection import ExtractRequest
from session_memory.narrowing import is_excluded, read_project_rules
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.store.memories import Claim
from session_memory.store.port import BackgroundStore, MemoryStore, SessionReader, Store

EXTRACT = "memory.extract"
CONSOLIDATE = "memory.consolidate"
Handler = Callable[[Store, Job, str], None]


def why_not(record: SpoolRecord, config: Config) -> str | None:
    """Why a session's start or end asks for nothing, or None; judged by the record alone."""
    if record.kind not in ("session_start", "session_end") or not record.session:
        return "neither a start nor an end of a session"
    if not config.memory.enabled:
        return "memory is turned off"
    if record.agent is not None or record.parent is not None:
        return "a sub-agent's session"
    agent = find_agent(record.flavor) if record.transcript is None else None
    if agent is not None and agent.hook.names_transcript:
        return "an ephemeral session"
    return None


def is_opted_out(cwd: str | None) -> bool:
    """Whether the repository a session runs in has opted out."""
    if cwd is None:
        return False
    for directory in (Path(cwd), *Path(cwd).parents):
        rules = read_project_rules(str(directory))
        if not rules.enabled or is_excluded(cwd, rules.exclude):
            return True
        if (directory / ".git").exists():
            break
    return False


def enqueue(
    store: BackgroundStore,
    records: Iterable[SpoolRecord],
    config: Config,
    now_ms: int,
    pauses: Pauses = (),
) -> int:
    """Queue an extraction for sessions that started or ended; returns how many were queued."""
    count = 0
    for record in records:
        if why_not(record, config) or is_paused(pauses, record.at) or is_opted_out(record.cwd):
            continue
        when = "start" if record.kind == "session_start" else "end"
        key = f"{when}:{record.flavor}:{record.session}"
        count += store.jobs.enqueue(EXTRACT, key, record.at, now_ms)
    return count


def handlers(
    paths: Paths, config: Config, clock: Clock, open_model: OpenModel
) -> dict[str, Handler]:
    """What the worker calls for the jobs of memory."""
    context = open_context(paths, config, clock, open_model)

    def extract_job(store: Store, job: Job, token: str) -> None:
        """Extract, then queue the consolidation of project roots whose traces changed."""

        def heartbeat() -> None:
            store.jobs.heartbeat(job, token, clock())

        report = _extract_for(
            store, job, msgspec.structs.replace(context, heartbeat=heartbeat), config
        )
        roots = report.touched | roots_to_rebuild(store, paths.data)
        enqueue_consolidation(store, roots, clock(), _session_of(store, job))
        with store.jobs.completing(job, token):
            pass  # every trace was committed with its file: only the job is left to end
        store.jobs.drop(job.id)  # it names a session, and is not needed any more

    def consolidate_job(store: Store, job: Job, token: str) -> None:
        if not config.memory.enabled:
            store.jobs.drop(job.id)
            return
        claim = Claim(job.key, _lock_owner(store, job, token), job, token)
        (result,) = consolidate(store, context, [claim])
        # A root that was not consolidated goes back into the queue, with the reason.
        if result.status == "deferred":
            raise BudgetSpent(result.reason)
        if result.status in ("locked", "failed", "lost"):
            raise Refused(result.reason)

    return {EXTRACT: extract_job, CONSOLIDATE: consolidate_job}


def enqueue_consolidation(
    store: BackgroundStore, roots: Collection[str], now_ms: int, session_id: int | None = None
) -> int:
    """Queue consolidations of project roots; returns how many were not queued yet."""
    return sum(
        store.jobs.enqueue(CONSOLIDATE, root, now_ms, now_ms, session_id) for root in sorted(roots)
    )


def roots_to_rebuild(store: MemoryStore, data: Path) -> set[str]:
    """Project roots whose MEMORY.md lost something it was made of."""
    return {root for root in store.memories.roots() if (memory_root(data, root) / REBUILD).exists()}


def _session_of(store: SessionReader, job: Job) -> int | None:
    """The session that an extraction was queued for, if it was captured."""
    _, flavor, native_id = job.key.split(":", 2)
    session = store.own_session(native_id, flavor)
    return session.id if session else None


def _lock_owner(store: SessionReader, job: Job, token: str) -> str:
    """Who holds the lock: the session that the job was queued for, not the run that does it."""
    if job.session_id is None:
        return manual_owner(token)
    return store.session(job.session_id).external_id


def _extract_for(store: Store, job: Job, context: MemoryContext, config: Config) -> ExtractReport:
    """Extract on behalf of a session; does nothing if the session was forgotten meanwhile."""
    when, _, name = job.key.partition(":")
    flavor, _, session = name.partition(":")
    if not config.memory.enabled or store.is_forgotten(flavor, session):
        return ExtractReport()
    current = frozenset((name,)) if when == "start" else frozenset[str]()
    request = ExtractRequest(current=current, limit=config.memory.max_sessions_per_start)
    try:
        return extract(store, context, request)
    except SessionMemoryError as error:
        context.log.warn("extract_failed", session=name, reason=error.message)
        raise
