"""When memory is made: asked for as sessions start and end, done by the worker, out of sight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec

from session_memory.adapters.registry import find_agent
from session_memory.clock import Clock
from session_memory.core.jobs import Job
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent, Refused, SessionMemoryError
from session_memory.memory.consolidate import Done, Stage, consolidate
from session_memory.memory.extract import Around, Report, extract
from session_memory.memory.layout import REBUILD, memory_root
from session_memory.memory.lock import manual_owner
from session_memory.memory.log import MemoryLog
from session_memory.memory.session_material import Wanted
from session_memory.model.port import Model
from session_memory.narrowing import is_excluded, read_project_rules
from session_memory.paths import Paths
from session_memory.redact import Redactor, make_redactor
from session_memory.settings import Config
from session_memory.store.memories import Claim
from session_memory.store.port import BackgroundStore, MemoryStore, SessionReader, Store

KIND = "memory.extract"
CONSOLIDATE = "memory.consolidate"
Handler = Callable[[Store, Job, str], None]
OpenModel = Callable[[Store], Model | None]
Touched = Callable[[Store, Collection[str]], None]
"""Takes the places whose traces changed, to have them consolidated."""


def why_not(record: SpoolRecord, config: Config) -> str | None:
    """Why a session's start or end asks for nothing, or None; looks at the record alone."""
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
    """Whether the repository a session runs in asks to be left alone."""
    if cwd is None:
        return False
    for place in (Path(cwd), *Path(cwd).parents):
        rules = read_project_rules(str(place))
        if not rules.enabled or is_excluded(cwd, rules.exclude):
            return True
        if (place / ".git").exists():
            break
    return False


def enqueue(
    store: BackgroundStore,
    records: Iterable[SpoolRecord],
    config: Config,
    now_ms: int,
    paused: Callable[[int], bool] = lambda at: False,
) -> int:
    """Ask for memory because sessions started or ended; returns how many asked."""
    asked = 0
    for record in records:
        if why_not(record, config) or paused(record.at) or is_opted_out(record.cwd):
            continue
        when = "start" if record.kind == "session_start" else "end"
        key = f"{when}:{record.flavor}:{record.session}"
        asked += store.jobs.enqueue(KIND, key, record.at, now_ms)
    return asked


def surroundings(paths: Paths, config: Config, clock: Clock, open_model: OpenModel) -> Around:
    """What a pass needs, from the program's places and settings."""
    log = MemoryLog(paths.logs, clock)

    def redactor(key: bytes) -> Redactor:
        made, warnings = make_redactor(key, config.redact)
        for text in warnings:
            log.warn("redaction_rule", reason=text)
        return made

    return Around(paths.data, log, redactor, open_model)


def staged(around: Around, config: Config, clock: Clock, *, force: bool = False) -> Stage:
    """What a consolidation needs, around what a pass needs."""
    return Stage(around, clock, config.memory.max_traces, force=force)


def handlers(
    paths: Paths,
    config: Config,
    clock: Clock,
    open_model: OpenModel,
    touched: Touched | None = None,
) -> dict[str, Handler]:
    """What the worker calls for the jobs of this package.

    Without `touched` the places whose traces changed are queued to be consolidated.
    """
    around = surroundings(paths, config, clock, open_model)

    def extracting(store: Store, job: Job, token: str) -> None:
        def beat() -> None:
            store.jobs.heartbeat(job, token, clock())

        report = _extract_for(store, job, msgspec.structs.replace(around, alive=beat), config)
        if touched is not None:
            touched(store, sorted(report.touched))
        else:
            due = report.touched | rebuilds(store, paths.data)
            enqueue_consolidation(store, due, clock(), _session_of(store, job))
        with store.jobs.completing(job, token):
            pass  # every trace was committed with its file: only the end of the job is left
        store.jobs.drop(job.id)  # it names a session, and nothing of it is needed any more

    def consolidating(store: Store, job: Job, token: str) -> None:
        if not config.memory.enabled:
            store.jobs.drop(job.id)
            return
        claim = Claim(job.key, _owner(store, job, token), job, token)
        (done,) = consolidate(store, staged(around, config, clock), [claim])
        _raise_for(done)

    return {KIND: extracting, CONSOLIDATE: consolidating}


def enqueue_consolidation(
    store: BackgroundStore, roots: Collection[str], now_ms: int, session_id: int | None = None
) -> int:
    """Ask for the memory of places to be made; returns for how many that was new."""
    return sum(
        store.jobs.enqueue(CONSOLIDATE, root, now_ms, now_ms, session_id) for root in sorted(roots)
    )


def rebuilds(store: MemoryStore, data: Path) -> set[str]:
    """Places whose MEMORY.md lost something it was made of."""
    return {root for root in store.memories.roots() if (memory_root(data, root) / REBUILD).exists()}


def _session_of(store: SessionReader, job: Job) -> int | None:
    """The session on whose behalf a pass ran, if it was captured."""
    _, flavor, native_id = job.key.split(":", 2)
    found = store.own_session(native_id, flavor)
    return found.id if found else None


def _owner(store: SessionReader, job: Job, token: str) -> str:
    """Who holds the lock: the session that asked for it, not the run that does the work."""
    if job.session_id is None:
        return manual_owner(token)
    return store.session(job.session_id).external_id


def _raise_for(done: Done) -> None:
    """A place that was not consolidated goes back into the queue, with the reason."""
    if done.status == "deferred":
        raise BudgetSpent(done.reason)
    if done.status in ("locked", "failed", "lost"):
        raise Refused(done.reason)


def _extract_for(store: Store, job: Job, around: Around, config: Config) -> Report:
    """One pass on behalf of a session; one that was forgotten meanwhile asks for nothing."""
    when, _, name = job.key.partition(":")
    flavor, _, session = name.partition(":")
    if not config.memory.enabled or store.is_forgotten(flavor, session):
        return Report()
    current = frozenset((name,)) if when == "start" else frozenset[str]()
    wanted = Wanted(current=current, limit=config.memory.max_sessions_per_start)
    try:
        return extract(store, around, wanted)
    except SessionMemoryError as error:
        around.log.warn("extract_failed", session=name, reason=error.message)
        raise
