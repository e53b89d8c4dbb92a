"""Memory, journal and the learning loop as the worker runs them.

Which jobs hook events cause, which function does each, and what sessions are given at their start.
The three features do not import each other; they are joined here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from session_memory.clock import Clock
from session_memory.core.jobs import Job
from session_memory.core.loop.injection import Section
from session_memory.core.loop.trials import under_trial
from session_memory.core.schema import Project
from session_memory.core.spool import SpoolRecord
from session_memory.ingest.pauses import read_pauses
from session_memory.journal import jobs as journal
from session_memory.journal.sections import open_items
from session_memory.journal.sections import sections_for as journal_sections
from session_memory.measure.restarts import SECTION as RECOVERY
from session_memory.memory import jobs as memory
from session_memory.memory.sections import sections_for as memory_sections
from session_memory.model.open import open_model
from session_memory.model.port import Model
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.store.port import BackgroundStore, CaptureStore, SessionQuery, Store
from session_memory.store.trial_files import read_trials
from session_memory.worker.briefings import Briefings
from session_memory.worker.guard_table import refresh_guards
from session_memory.worker.injection_pages import REMOTE, SHARED, drop_marks, write_pages
from session_memory.worker.lessons import pattern_sections
from session_memory.worker.recovery_files import RecoveryContext
from session_memory.worker.recovery_files import prepare as prepare_recovery

Handler = Callable[[Store, Job, str], None]
Failed = Callable[[str, Exception], None]
"""Called with the key of a project whose page could not be made, and the reason."""


class WorkerFeatures(msgspec.Struct, frozen=True):
    """Everything the worker does besides importing."""

    paths: Paths
    config: Config
    environ: Mapping[str, str]
    clock: Clock
    run: str
    """Identifies this run: some spending caps apply to each run."""

    def handlers(self) -> dict[str, Handler]:
        """The function for each kind of job."""
        return {
            **memory.handlers(self.paths, self.config, self.clock, self.model),
            **journal.handlers(self.paths, self.config, self.clock, self.model),
        }

    def model(self, store: BackgroundStore) -> Model | None:
        """The model the user turned on, inside its budget; None by default."""
        return open_model(self.config.model, self.environ, store.spend, self.clock, self.run)

    def enqueue(self, store: Store, records: Sequence[SpoolRecord], now_ms: int) -> int:
        """Queue the jobs that these records call for; doing it again changes nothing."""
        pauses = read_pauses(str(self.paths.data))
        queued = memory.enqueue(store, records, self.config, now_ms, pauses)
        return queued + journal.enqueue(store, records, self.config.journal, now_ms)

    def recover(self, store: Store, records: Sequence[SpoolRecord], now_ms: int) -> int:
        """Prepare what sessions that compact are told; returns for how many."""
        if not (self.config.memory.enabled and self.config.memory.recovery):
            return 0
        on_trial = RECOVERY in under_trial(read_trials(self.paths.data))
        trial = RECOVERY if on_trial else None
        return prepare_recovery(store, records, RecoveryContext(self.paths.state, now_ms, trial))

    def refresh(self, store: Store, now_ms: int, failed: Failed = lambda _key, _error: None) -> int:
        """Write the page of every directory a session can start in; returns how many.

        A project that fails has no page, and stops no other.
        """
        for _ in range(2):  # once more where text was forgotten while its lines were read
            briefings = Briefings(store, self.paths, self.config, now_ms)
            pages = self._pages(store, briefings, now_ms, failed)
            if briefings.save():
                break
        else:
            pages = {}  # the next run writes them
        written = write_pages(self.paths.state, pages, now_ms)
        drop_marks(self.paths.state, now_ms)
        refresh_guards(store, self.paths, self.config, now_ms)  # last: its file may be damaged
        return written

    def _gives_journal(self) -> bool:
        journal = self.config.journal
        return journal.enabled and journal.at_start and not journal.vault

    def _memory(self, briefings: Briefings, project: Project, root: str) -> tuple[Section, ...]:
        """What a model wrote, where one is turned on and has written; else what rules find."""
        if not self.config.memory.enabled:
            return ()
        written: tuple[Section, ...] = ()
        if self.config.model.provider != "none":
            written = memory_sections(self.paths.data, root)
        return written or memory_sections(self.paths.data, root, briefings.lines(project))

    def _pages(
        self, store: Store, briefings: Briefings, now_ms: int, failed: Failed
    ) -> dict[str, tuple[Section, ...]]:
        """Sections for sessions by the directory they start in, most useful first."""
        patterns = pattern_sections(store, self.paths.data, self.config)
        pages: dict[str, tuple[Section, ...]] = {}
        for project in store.projects():
            if project.root is None:
                continue
            try:
                sections = patterns(project.root) + self._memory(briefings, project, project.root)
                if self._gives_journal():
                    work = open_items(store, project.key)
                    sections += journal_sections(self.paths.data, project.root, now_ms, work)
            except Exception as error:
                if store.is_unusable_after(error):
                    raise
                failed(project.key, error)
                continue
            for directory in (project.root, *project.aliases):
                pages[directory] = sections
            if self.config.identity.share_worktrees:
                pages[f"{SHARED}{project.root}"] = sections
        if self.config.identity.share_worktrees:
            pages |= {f"{REMOTE}{remote}": pages[root] for remote, root in _remotes(store, pages)}
        return pages


def _remotes(
    store: CaptureStore, pages: Mapping[str, tuple[Section, ...]]
) -> Iterator[tuple[str, str]]:
    """Each remote with the root whose page its other clones are given: the one last worked in.

    Parts of a repository have its remote, too; what is known of a part is not meant for a clone.
    """
    clones: dict[str, list[Project]] = {}
    for project in store.projects():
        if project.root and project.remote and pages.get(project.root) and _is_whole(project.root):
            clones.setdefault(project.remote, []).append(project)
    for remote, projects in clones.items():
        latest = max(projects, key=lambda project: (_last_used(store, project.key), project.key))
        yield remote, latest.root or ""


def _is_whole(root: str) -> bool:
    """Whether a root is a checkout or a bare repository."""
    return any(os.path.exists(os.path.join(root, name)) for name in (".git", "HEAD"))


def _last_used(store: CaptureStore, key: str) -> int:
    newest = store.sessions(SessionQuery(project=key, limit=1))
    return max((session.ended_at or 0 for session in newest), default=0)
