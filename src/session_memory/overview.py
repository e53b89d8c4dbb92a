"""What is here and what waits for the user: the first screen of command line and page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import msgspec

from session_memory.core.jobs import state_of
from session_memory.core.loop.catalog import Proposal
from session_memory.core.pauses import is_paused
from session_memory.errors import Refused
from session_memory.ingest.last_sweep import LastSweep, read_last_sweep
from session_memory.ingest.pauses import read_pauses
from session_memory.paths import Paths
from session_memory.settings import Curate
from session_memory.store import store_exists
from session_memory.store.damage import known_damage
from session_memory.store.port import Store


class Step(msgspec.Struct, frozen=True):
    """A command, and what it is good for."""

    command: str
    what: str


class Overview(msgspec.Struct, frozen=True):
    """The first screen as data."""

    sessions: int = 0
    agents: dict[str, int] = {}
    projects: int = 0
    last_event_at: int | None = None
    last_sweep_at: int | None = None
    bytes: int = 0
    waits: tuple[Step, ...] = ()
    next: tuple[Step, ...] = ()


BEGIN = (
    Step("session-memory init", "connect the agents found here; shows what changes, asks"),
    Step("session-memory sweep", "or only read their logs; nothing of theirs changes"),
    Step("session-memory help", "what the words mean"),
)
EVERY_DAY = (
    Step("session-memory search WORDS", "find what was said or run"),
    Step("session-memory rules", "what recurs, and is worth telling every agent"),
    Step("session-memory --help", "all commands"),
)


def read_overview(
    paths: Paths,
    now: int,
    open_store: Callable[[], AbstractContextManager[Store]],
    policy: Curate,
    *,
    detect: bool = True,
) -> Overview:
    """What the first screen shows; writes nothing.

    Without `detect`, rules are counted as detection last left them: it reads all evidence.
    """
    if not store_exists(paths.data):
        return Overview(next=BEGIN)
    if (damage := known_damage(str(paths.data))) is not None:
        broken = Step("session-memory store repair", f"the store is damaged: {damage.message}")
        return Overview(waits=(broken,), next=EVERY_DAY)
    last = read_last_sweep(paths.last_sweep)
    with open_store() as store:
        info = store.info()
        failed = sum(state_of(job, now) == "failed" for job in store.jobs.all())
        fresh = _detected(store, paths, now) if detect else []
        undecided = _undecided(fresh, paths, policy, now)
    return Overview(
        sessions=info.sessions,
        agents=info.per_flavor,
        projects=info.projects,
        last_event_at=info.last_event_at,
        last_sweep_at=(last.finished_at or None) if last else None,
        bytes=info.database_bytes + info.segment_bytes,
        waits=(*_waits(paths, undecided, failed, now), *_failed_sweep(last)),
        next=EVERY_DAY if info.sessions else BEGIN,
    )


def _undecided(fresh: list[Proposal], paths: Paths, policy: Curate, now: int) -> int:
    """Rules that await a yes or no: those kept for review, and those that `rules` would add."""
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.review import awaits_decision, gate_now

    catalog = read_catalog(paths.data).asleep(now)
    proposals = {**catalog.proposals, **{proposal.id: proposal for proposal in fresh}}
    catalog = msgspec.structs.replace(catalog, proposals=proposals)
    return sum(
        catalog.status(name) != "candidate" or gate_now(catalog, name, policy).promotes
        for name in {*catalog.patterns, *proposals}
        if awaits_decision(catalog, name, policy)
    )


def _detected(store: Store, paths: Paths, now: int) -> list[Proposal]:
    """What detection would add to the proposals that are kept; nothing where it just ran."""
    from session_memory.curate.freshness import is_current

    if is_current(paths, store):
        return []
    from session_memory.curate.candidates import proposals_of
    from session_memory.detect.cluster import cluster
    from session_memory.detect.rank import rank

    patterns = store.patterns
    candidates = rank(cluster(patterns.evidence, patterns.statuses()), now)
    return proposals_of((each for each in candidates if not each.left_out), patterns.evidence())


def _waits(paths: Paths, undecided: int, failed: int, now: int) -> Iterator[Step]:
    if is_paused(read_pauses(str(paths.data)), now):
        yield Step("session-memory resume", "capture is paused")
    if undecided:
        await_ = "rule awaits" if undecided == 1 else "rules await"
        yield Step("session-memory rules review", f"{undecided} {await_} your decision")
    yield from _notes(paths)
    if failed:
        yield Step("session-memory jobs", f"{failed} background job{'s' * (failed != 1)} failed")


def _notes(paths: Paths) -> Iterator[Step]:
    from session_memory.curate.agent_notes import read_notes, waiting

    review = "session-memory project memory review"
    try:
        notes = len(waiting(read_notes(paths.data)))
    except Refused as refused:  # one bad file hides nothing else that waits
        yield Step(review, refused.message)
        return
    if notes:
        wait = "note of an agent waits" if notes == 1 else "notes of agents wait"
        yield Step(review, f"{notes} {wait} for your decision")


def _failed_sweep(last: LastSweep | None) -> Iterator[Step]:
    if last is None:
        return
    if last.error:
        yield Step("session-memory doctor", f"the last sweep stopped: {last.error}")
    if failed := len(last.report.get("failed", [])) + len(last.report.get("failed_steps", [])):
        problems = "problem" if failed == 1 else "problems"
        yield Step("session-memory status", f"the last sweep met {failed} {problems}")
