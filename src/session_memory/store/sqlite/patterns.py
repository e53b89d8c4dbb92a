"""Signals mined from digests, and the patterns they add up to, with what was decided on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from session_memory.core.loop.patterns import MINER_VERSION, Candidate, Mined, PatternStatus, Signal
from session_memory.core.schema import CommandRun, Cure, Digest, ErrorSeen
from session_memory.errors import NotFound
from session_memory.store.loop import Failures, Minable
from session_memory.store.port import Finding
from session_memory.store.sqlite.connection import Database, rows, transaction, value


class _Run(CommandRun, frozen=True, gc=False):
    """See core.patterns on `gc`: hundreds of digests are here at a time, each of dozens."""


class _Error(ErrorSeen, frozen=True, gc=False):
    """Likewise."""


class _Digest(Digest, frozen=True, gc=False):
    """Likewise."""

    commands: tuple[_Run, ...] = ()
    errors: tuple[_Error, ...] = ()


class _FailuresOnly(msgspec.Struct, frozen=True, gc=False):
    """The part of a digest that `failures` needs: the rest is not decoded."""

    errors: tuple[_Error, ...] = ()
    cures: tuple[Cure, ...] = ()


_encode = msgspec.json.Encoder().encode

# Sessions of our own and those in which nothing was asked for prove nothing.
_WORTH = "s.source_kind != 'internal' AND s.low_value IS NULL"
_CHUNK = 2000
_CURRENT = (MINER_VERSION,)
# CROSS JOIN: in the order of the list, without sorting texts.
_EVIDENCE = """
SELECT s.id, s.flavor, s.external_id, CASE WHEN p.root IS NULL THEN NULL ELSE p.key END, s.ended_at,
  m.body
FROM json_each(?) j CROSS JOIN mined m ON m.session_id = j.value
CROSS JOIN session s ON s.id = j.value LEFT JOIN project p ON p.id = s.project_id
"""


class SqlitePatterns:
    """See store.patterns.Patterns."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def unmined(self, among: Collection[int] | None = None) -> list[int]:
        """Sessions, of these or of all, whose digest is new, changed, or from another miner."""
        only = "" if among is None else " AND d.session_id IN (SELECT value FROM json_each(?2))"
        selected = rows(
            self._db,
            "SELECT d.session_id FROM digest d JOIN session s ON s.id = d.session_id"
            " LEFT JOIN mined m ON m.session_id = d.session_id"
            f" WHERE (m.version IS NULL OR m.version != ?1) AND {_WORTH}{only}"
            " ORDER BY d.session_id",
            (MINER_VERSION, *([] if among is None else [_encode(list(among)).decode()])),
        )
        return [row[0] for row in selected]

    def minable(self, sessions: list[int]) -> Iterator[Iterator[Minable]]:
        """The digests of these sessions, many at a time, each read when it is needed."""
        read = msgspec.json.Decoder(_Digest).decode  # made here: 2 ms that most commands save
        for start in range(0, len(sessions), _CHUNK):
            wanted = _encode(sessions[start : start + _CHUNK]).decode()
            yield (
                Minable(row[0], read(row[1]), row[2], tuple(filter(None, row[3:])))
                for row in self._db.execute(
                    "SELECT d.session_id, d.body, CASE WHEN p.root IS NULL THEN NULL ELSE p.key"
                    " END, s.cwd, p.root, p.worktree_of FROM json_each(?) j"
                    " JOIN digest d ON d.session_id = j.value JOIN session s ON s.id = j.value"
                    " LEFT JOIN project p ON p.id = s.project_id",
                    (wanted,),
                )
            )

    def save_signals(self, by_session: Iterable[tuple[int, tuple[Signal, ...]]]) -> None:
        """Replace the signals of sessions; one that was forgotten meanwhile stays out."""
        bodies = [
            (session, MINER_VERSION, _encode(signals).decode()) for session, signals in by_session
        ]
        with transaction(self._db):
            self._db.executemany(
                "INSERT INTO mined SELECT ?1, ?2, ?3 WHERE EXISTS"
                " (SELECT 1 FROM digest WHERE session_id = ?1) ON CONFLICT DO UPDATE SET"
                " version = excluded.version, body = excluded.body",
                bodies,
            )

    def evidence(self, since: int | None = None, repo: str | None = None) -> Iterator[Mined]:
        """Every mined session worth it, the one captured last first, with its sub-agents."""
        parents, read = self._parents(), msgspec.json.Decoder(tuple[Signal, ...]).decode
        where, bindings = [_WORTH], list[Any]()
        for condition, wanted in (("s.ended_at >= ?", since), ("p.key = ?", repo)):
            if wanted is not None:
                where.append(condition)
                bindings.append(wanted)
        sessions = rows(
            self._db,
            "SELECT s.id FROM mined m JOIN session s ON s.id = m.session_id"
            f" LEFT JOIN project p ON p.id = s.project_id WHERE {' AND '.join(where)}",
            bindings,
        )
        ordered = sorted(((_owner(parents, row[0]), row[0]) for row in sessions), reverse=True)
        for start in range(0, len(ordered), _CHUNK):
            chunk = _encode([number for _, number in ordered[start : start + _CHUNK]]).decode()
            for row in self._db.execute(_EVIDENCE, (chunk,)):
                owner = _owner(parents, row[0])
                yield Mined(row[0], owner, row[1], row[2], row[3], row[4], read(row[5]))

    def evidence_stamp(self) -> str:
        """Changes with what `evidence` gives; no text is read for it."""
        figures = self._db.execute(
            "SELECT count(*), max(session_id), sum(octet_length(body)) FROM mined"
        ).fetchone()
        return "-".join(str(figure or 0) for figure in figures)

    def failures(self, about: str = "") -> Iterator[Failures]:
        """The errors and cures of every session worth it, the newest first."""
        del about  # all of them are here
        parents, read = self._parents(), msgspec.json.Decoder(_FailuresOnly).decode
        for row in self._db.execute(
            "SELECT d.body, s.id, s.flavor, s.external_id, s.ended_at, s.cwd, p.root,"
            " p.worktree_of FROM digest d JOIN session s ON s.id = d.session_id"
            f" LEFT JOIN project p ON p.id = s.project_id WHERE {_WORTH}"
            " ORDER BY s.ended_at DESC, s.id DESC"
        ):
            failures = read(row[0])
            if failures.errors or failures.cures:
                flavor, external_id, at = row[2:5]
                roots: tuple[str, ...] = tuple(filter(None, row[5:]))
                owner = _owner(parents, row[1])
                yield Failures(
                    owner, flavor, external_id, at, roots, failures.errors, failures.cures
                )

    def _parents(self) -> dict[int, int]:
        return dict(
            rows(
                self._db,
                "SELECT s.id, p.id FROM session s JOIN session p ON p.flavor = s.flavor"
                " AND p.external_id = s.parent_external_id WHERE p.id != s.id",
            )
        )

    def statuses(self) -> dict[str, PatternStatus]:
        """The patterns known, and what was decided on each."""
        return dict(rows(self._db, "SELECT id, status FROM pattern"))

    def decide(self, pattern: str, status: PatternStatus, now_ms: int) -> None:
        """Note a decision; detection never takes it back."""
        with transaction(self._db):
            changed = rows(
                self._db,
                "UPDATE pattern SET status = ?, updated_at = ? WHERE id = ? RETURNING 1",
                (status, now_ms, pattern),
            )
        if not changed:
            raise NotFound(f"no pattern {pattern}", hint="run `session-memory rules detect` first")

    def restore(self, decided: Iterable[tuple[str, str, str, PatternStatus]], now_ms: int) -> int:
        """Take over decisions (id, kind, type, status) from files; returns how many changed.

        A pattern without a row gets one, without words or figures: detection adds them.
        """
        with transaction(self._db):
            return sum(len(rows(self._db, _RESTORE, (*decision, now_ms))) for decision in decided)

    def save_candidates(self, candidates: Iterable[Candidate], now_ms: int) -> None:
        """Renew the figures of every pattern found; undecided ones without evidence go."""
        by_id = {candidate.id: candidate for candidate in candidates}
        with transaction(self._db):
            self._db.executemany(_UPSERT, [_row(candidate, now_ms) for candidate in by_id.values()])
            gone = [(name,) for name in self.statuses() if name not in by_id]
            self._db.executemany("DELETE FROM pattern WHERE id = ? AND status = 'candidate'", gone)
            self._db.executemany(
                "UPDATE pattern SET frequency = 0, sessions = 0 WHERE id = ?", gone
            )


def check(db: Database) -> Iterator[Finding]:
    """Signals of a session without a digest, and bodies that cannot be read back."""
    orphans = value(
        db,
        "SELECT count(*) FROM mined m WHERE NOT EXISTS"
        " (SELECT 1 FROM digest d WHERE d.session_id = m.session_id)",
    )
    if orphans:
        yield Finding("mined_without_digest", f"{orphans} found")
    signals = msgspec.json.Decoder(tuple[Signal, ...]).decode
    counts = msgspec.json.Decoder(dict[str, int]).decode
    for number, body in rows(db, "SELECT session_id, body FROM mined WHERE version = ?", _CURRENT):
        if not _reads(signals, body):
            yield Finding("mined", f"the signals of session {number} cannot be read")
    for name, flavors, repos in rows(db, "SELECT id, flavors, repos FROM pattern"):
        if not (_reads(counts, flavors) and _reads(counts, repos)):
            yield Finding("pattern", f"the figures of pattern {name} cannot be read")


def _reads(decode: Callable[[str], object], text: str) -> bool:
    try:
        decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError):
        return False
    return True


def _owner(parents: Mapping[int, int], session: int) -> int:
    """The session at the top of a tree of sub-agents."""
    for _ in range(16):  # a damaged log may name a circle
        parent = parents.get(session)
        if parent is None:
            break
        session = parent
    return session


_COLUMNS = (
    "id, kind, type, locus, about, status, frequency, sessions, cross_flavor, flavors,"
    " repos, usd, minutes, value, first_seen, last_seen, detected_at, updated_at"
)
_LASTING = ("id", "kind", "type", "status", "detected_at")
_RENEWED = [name for name in _COLUMNS.split(", ") if name not in _LASTING]
# The status is not among them: what was decided stays decided.
_UPSERT = (
    f"INSERT INTO pattern ({_COLUMNS}) VALUES ({', '.join('?' * 18)}) ON CONFLICT (id) DO UPDATE"
    f" SET {', '.join(f'{name} = excluded.{name}' for name in _RENEWED)}"
)


_RESTORE = (
    f"INSERT INTO pattern ({_COLUMNS}) VALUES (?1, ?2, ?3, '', '', ?4, 0, 0, 0, '{{}}', '{{}}',"
    " NULL, 0, 0, NULL, NULL, ?5, ?5) ON CONFLICT (id) DO UPDATE SET status = excluded.status,"
    " updated_at = excluded.updated_at WHERE status != excluded.status RETURNING 1"
)


def _row(candidate: Candidate, now_ms: int) -> tuple[Any, ...]:
    return (
        *(
            candidate.id,
            candidate.kind,
            candidate.type,
            candidate.locus,
            candidate.about,
            candidate.status,
        ),
        *(candidate.frequency, candidate.sessions, int(candidate.cross_flavor)),
        *(
            _encode(candidate.flavors).decode(),
            _encode(candidate.repos).decode(),
            candidate.usd,
            candidate.minutes,
        ),
        *(candidate.value, candidate.first_seen, candidate.last_seen, now_ms, now_ms),
    )
