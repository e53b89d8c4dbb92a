"""The whole audit: what each agent of a project was told, what is wrong with it, its cost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.core.hashing import blake2b
from session_memory.core.schema import Project
from session_memory.memory.known_session import MAX_SESSIONS, KnownSession
from session_memory.memory.native.compare import Pair, contradictions, duplicates
from session_memory.memory.native.files import NativeFile, Places, Unread, read_files
from session_memory.memory.native.gone import Stale, read_tree, stale
from session_memory.memory.native.statements import Statement, statements_of
from session_memory.memory.working_tree import look_into
from session_memory.store.port import SessionQuery, SessionReader

FindingKind = Literal["contradiction", "stale", "duplicate"]


class Quote(msgspec.Struct, frozen=True):
    """A statement and where it stands."""

    file: str
    line: int
    text: str
    agents: tuple[str, ...]


class Fix(msgspec.Struct, frozen=True):
    """A change of one line of a file of the project; without a new line it is removed."""

    path: str
    """Where the file really is."""
    line: int
    old: str
    new: str | None


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, with every statement it is about."""

    id: str
    kind: FindingKind
    why: str
    quotes: tuple[Quote, ...]
    fix: Fix | None = None
    """The fix, where it is certain."""


class Audit(msgspec.Struct, frozen=True):
    """What the agents of a project were told."""

    project: str
    root: str
    files: tuple[NativeFile, ...]
    unread: tuple[Unread, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    """Redaction rules that could not be used on these texts."""

    def readers(self) -> dict[str, list[NativeFile]]:
        """The files of each agent."""
        by_agent: dict[str, list[NativeFile]] = {}
        for file in self.files:
            for agent in file.agents:
                by_agent.setdefault(agent, []).append(file)
        return by_agent

    def tokens(self, agent: str) -> int:
        """About how many tokens every session of an agent starts with."""
        return sum(file.tokens for file in self.readers().get(agent, []) if file.always)


def audit_of(
    store: SessionReader,
    project: Project,
    agents: Iterable[Agent],
    places: Places,
    redact: Callable[[str], str],
) -> Audit:
    """Read every file and compare what they say with each other, the disk and the sessions."""
    files, unread = read_files(agents, places, redact)
    statements = [statement for file in files for statement in statements_of(file)]
    here = os.path.isdir(places.root)
    sessions = _sessions(store, project)
    tree = read_tree(places.root) if here else None
    findings = [
        *(_contradiction(pair) for pair in contradictions(statements)),
        *(
            _stale(statement)
            for statement in stale(statements, tree, look_into(places.root), sessions)
        ),
        *(_duplicate(pair) for pair in duplicates(statements)),
    ]
    unique = {finding.id: finding for finding in findings}
    return Audit(project.key, places.root, tuple(files), tuple(unread), tuple(unique.values()))


def _sessions(store: SessionReader, project: Project) -> list[KnownSession]:
    query = SessionQuery(project=project.key, include_subagents=False, limit=MAX_SESSIONS)
    roots = tuple(root for root in (project.root, *project.aliases) if root)
    sessions = [
        KnownSession(
            session.id, session.external_id, session.ended_at or 0, digest, roots, session.branch
        )
        for session in store.sessions(query)
        if (digest := store.digest(session.id)) is not None
    ]
    return sorted(sessions, key=lambda session: -session.at)


def _quote(statement: Statement) -> Quote:
    return Quote(statement.file.name, statement.line, statement.text, statement.file.agents)


def _finding(
    kind: FindingKind, why: str, statements: tuple[Statement, ...], fix: Fix | None
) -> Finding:
    quotes = tuple(map(_quote, statements))
    # Not the line's number: what was seen once keeps its id when lines are added above it.
    key = "\0".join((kind, *(f"{quote.file}\0{quote.text}" for quote in quotes)))
    name = f"nm-{blake2b(key.encode(), digest_size=4).hexdigest()}"
    return Finding(name, kind, why, quotes, fix)


def _contradiction(pair: Pair) -> Finding:
    return _finding("contradiction", pair.why, (pair.first, pair.second), None)


def _duplicate(pair: Pair) -> Finding:
    return _finding("duplicate", pair.why, (pair.first, pair.second), _removal(pair.second))


def _stale(stale: Stale) -> Finding:
    statement = stale.statement
    fix = None
    if stale.instead and _is_changeable(statement.file):
        old = statement.file.text.splitlines()[statement.line - 1]
        if old.count(stale.names) == 1:
            fix = Fix(
                statement.file.path, statement.line, old, old.replace(stale.names, stale.instead)
            )
    return _finding("stale", f"{stale.names}: {stale.why}", (statement,), fix)


def _removal(statement: Statement) -> Fix | None:
    if not statement.is_item or not _is_changeable(statement.file):
        return None
    return Fix(
        statement.file.path,
        statement.line,
        statement.file.text.splitlines()[statement.line - 1],
        None,
    )


def _is_changeable(file: NativeFile) -> bool:
    """A file of the project: an agent's own home is never written to. And none with secrets."""
    return file.scope == "project" and file.clean
