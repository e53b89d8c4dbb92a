"""What of a shared project may leave now: read from the store and the files next to it.

A project's own file may forbid; what it forbids after it was shared is taken back by the next push.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from session_memory import __version__
from session_memory.core.digest import title_of
from session_memory.core.hashing import blake2b
from session_memory.core.pauses import Pauses
from session_memory.core.schema import Digest, Project, Session
from session_memory.core.sharing.wire import LEVELS, Level
from session_memory.curate.catalog import read_catalog
from session_memory.ingest.pauses import read_pauses
from session_memory.ingest.rules_version import rules_version
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.memory.sections import compact
from session_memory.narrowing import is_excluded, read_project_rules
from session_memory.plain_files import UnfitFile, read_plain
from session_memory.redact import make_redactor
from session_memory.settings import Config
from session_memory.store.port import ObservationQuery, SessionQuery, Store
from session_memory.store.values import UsageRow
from session_memory.team.border import Border
from session_memory.team.items import Draft, Drafts, lasting, rules_of, said_outside
from session_memory.team.ledger import Entry
from session_memory.team.membership import SharedProject

_MEMORY_BYTES = 256 * 1024


class Machine(msgspec.Struct, frozen=True):
    """Everything of this machine that sharing reads."""

    store: Store
    data: Path
    config: Config
    home: str


class Group(msgspec.Struct, frozen=True):
    """What one session, or the project itself, has to share."""

    session: str | None
    stamp: str
    """A hash of what the items are made of; '' where that is not known."""
    make: Callable[[], Iterator[Draft]]
    keeps: Callable[[Entry], bool] = lambda _entry: False
    """Selects items that stay on the hub although they cannot be made any more."""


class Outgoing(msgspec.Struct, frozen=True):
    """All groups of a project, made when they are asked for."""

    level: Level | None
    """None: nothing may leave."""
    groups: Iterator[Group]
    warnings: tuple[str, ...] = ()
    waits: str = ""
    """Why nothing can be decided now; nothing is sent or taken back."""


def gather(machine: Machine, share: SharedProject, team_key: bytes) -> Outgoing:
    """What a project has to share, one session at a time."""
    project = next((each for each in machine.store.projects() if each.key == share.key), None)
    roots = _roots(project)
    level: Level | None = share.level
    excluded = machine.config.sources.exclude_paths
    warnings: list[str] = []
    for root in roots:
        rules = read_project_rules(root)
        if rules.unreadable:
            return Outgoing(None, iter(()), waits=rules.unreadable)
        excluded += rules.exclude
        if lower := _lower(level, rules.team if rules.enabled else "none"):
            allowed = lower[0] or "nothing"
            warnings.append(f"{rules.file} allows {allowed} to leave: {share.project}")
            level = lower[0]
    redactor = make_redactor(machine.store.tag_key, machine.config.redact, warnings.append)
    pauses = read_pauses(str(machine.data))
    rules_now = rules_version(machine.config.redact)
    collector = _Collector(
        machine,
        Drafts(team_key, Border(redactor, roots, machine.home)),
        level,
        pauses,
        _Stamps(team_key, (rules_now, level, roots, machine.home, pauses)),
    )
    return Outgoing(level, collector.groups(share.key, roots, excluded), tuple(warnings))


class _Collector(msgspec.Struct, frozen=True):
    """Reads the store for one project."""

    machine: Machine
    drafts: Drafts
    level: Level | None
    pauses: Pauses
    stamps: _Stamps

    def groups(self, key: str, roots: list[str], excluded: tuple[str, ...]) -> Iterator[Group]:
        """The project's own items first, then its sessions, oldest first."""
        yield Group(None, "", lambda: self._of_project(key, roots))
        store = self.machine.store
        costs = {row.session_id: row for row in store.usage("session")}
        # Also those that lost every event to forgetting: what they had shared must go.
        sessions = store.sessions(SessionQuery(project=key, include_empty=True))
        for session in sorted(sessions, key=lambda each: each.id):
            name = self.drafts.session_key(session)
            digest = store.digest(session.id)
            hidden = session.cwd is not None and is_excluded(session.cwd, excluded)
            if hidden or not session.is_work or digest is None:
                yield Group(name, "", lambda: iter(()))
                continue
            yield self._of_session(session, digest, costs.get(session.id))

    def _has(self, level: Level) -> bool:
        return self.level is not None and LEVELS.index(self.level) >= LEVELS.index(level)

    def _of_project(self, key: str, roots: list[str]) -> Iterator[Draft]:
        rules = rules_of(read_catalog(self.machine.data).patterns.values(), key)
        if self._has("numbers"):
            ids = {rule.id for rule in rules}
            for effect in self.machine.store.effects.all():
                if effect.pattern_id in ids:
                    yield self.drafts.effect(effect)
        if self._has("lessons"):
            yield from (self.drafts.rule(rule) for rule in rules)
            for line in _memory_lines(self.machine.data, roots):
                yield self.drafts.memory(line)

    def _of_session(self, session: Session, digest: Digest, cost: UsageRow | None) -> Group:
        store, drafts = self.machine.store, self.drafts
        observations = list(
            lasting(store.observations(ObservationQuery(session=session.id)), self.pauses)
        )
        # Of a session that lost raw text to the byte budget, the hub may have more than is here.
        whole = session.state != "raw_evicted" and digest.events <= len(
            store.event_places(session.id)
        )

        def make() -> Iterator[Draft]:
            if self._has("numbers") and cost is not None:
                yield drafts.usage(session, cost)
            if self._has("lessons"):
                yield drafts.session(session, title_of(session))
                yield drafts.digest(session, digest)
                yield from (drafts.observation(session, each) for each in observations)
                yield from (drafts.cure(session, cure) for cure in digest.cures)
            if self._has("sessions") and whole:
                events = said_outside(store.events(session.id, texts=True), self.pauses)
                yield from drafts.events(session, events)

        keeps = _goes if whole or not self._has("sessions") else _are_events
        stamp = self.stamps.of(session, digest, observations, cost, whole)
        return Group(drafts.session_key(session), stamp, make, keeps)


def _goes(_entry: Entry) -> bool:
    return False


def _are_events(entry: Entry) -> bool:
    return entry.kind == "events"


def _roots(project: Project | None) -> list[str]:
    if project is None:
        return []
    named = (project.root, project.worktree_of, *project.aliases)
    return list(dict.fromkeys(path for path in named if path))


def _lower(level: Level | None, allowed: str) -> tuple[Level | None] | None:
    """The level that remains if less is allowed than was decided; None if all of it is."""
    if level is None:
        return None
    if allowed not in LEVELS:
        return (None,)
    return (allowed,) if LEVELS.index(allowed) < LEVELS.index(level) else None


def _memory_lines(data: Path, roots: list[str]) -> Iterator[str]:
    """The lines of the project's MEMORY.md, each once."""
    seen: set[str] = set()
    for root in roots:
        try:
            page = read_plain(str(memory_root(data, root) / MEMORY), _MEMORY_BYTES, follow=False)
        except (OSError, UnfitFile):
            continue
        for line in compact(page.decode("utf-8", "replace")).splitlines():
            statement = line.strip().removeprefix("- ").strip()
            if line.strip().startswith("- ") and statement and statement not in seen:
                seen.add(statement)
                yield statement


class _Stamps(msgspec.Struct, frozen=True):
    """Hashes of what items are made of; keyed, as they are kept in a file."""

    key: bytes
    always: tuple[object, ...]
    """What every item depends on."""

    def of(self, *parts: object) -> str:
        """A hash of all of these."""
        values = [__version__, *(msgspec.to_builtins(part) for part in (*self.always, *parts))]
        return blake2b(msgspec.json.encode(values), digest_size=16, key=self.key).hexdigest()
