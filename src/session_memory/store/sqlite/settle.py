"""What follows from the rows once a read is done: session fields, forks, whose usage counts.

Everything here is a function of what is stored, not of the order it came in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.core.facts import RankedFact, settle
from session_memory.core.ownership import (
    Relative,
    UsageClaim,
    decide_usage,
    find_owner,
    find_parent,
)
from session_memory.core.project.identity import Holder, Resolution, unique_key
from session_memory.core.project.path_shape import same_place
from session_memory.store.sqlite import lost_events, projects, stand_ins
from session_memory.store.sqlite.connection import Database, Row, for_each, rows, value
from session_memory.store.sqlite.exchange import drop_twin_events, drop_twin_responses
from session_memory.store.sqlite.ids import SEQ_BITS, event_range
from session_memory.store.sqlite.statements import fullness
from session_memory.store.values import Whereabouts

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode
_OF_PLACES = frozenset({"git_root", "mentions", "remote", "root_hash"})
_VALUE_COLUMNS = (
    "at, model, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, stated_usd,"
    " usd, price_table, mode"
)


def settle_sessions(db: Database, sessions: set[int]) -> set[int]:
    """Derive the session rows from the facts of all their files.

    Returns the sessions whose place among their relatives moved: what they share with others must
    be decided again, because they opened at another time, or from another one, than it seemed.
    """
    drop_twin_events(db, sessions)
    settled: dict[int, dict[str, Any]] = {}
    for session_id, stated in _stated(db, sessions).items():
        stated = stand_ins.choose_files(db, session_id, stated)
        settled[session_id] = settle(
            [RankedFact(path, pos, name, _decode(text)) for _, path, pos, name, text in stated]
        )
    before = for_each(
        db, "SELECT id, opened_at, forked_from, event_count FROM session WHERE id = ?", sessions
    )
    _update_sessions(db, settled)
    lost_events.unmark_restored(db, sessions)
    # Without committed events it is new: its writer noted what it shares.
    return {
        session_id
        for session_id, opened_at, forked_from, stored in before
        if stored
        and (
            opened_at != settled[session_id].get("opened_at")
            or forked_from != settled[session_id].get("forked_from", forked_from)
        )
    }


def _stated(db: Database, sessions: set[int]) -> dict[int, list[Row]]:
    """What the files of each session state about it."""
    stated: dict[int, list[Row]] = {session_id: [] for session_id in sessions}
    for session_id, *row in for_each(
        db,
        "SELECT f.session_id, f.source_id, s.path, f.pos, f.name, f.value FROM fact f"
        " JOIN source s ON s.id = f.source_id WHERE f.session_id = ?",
        sessions,
    ):
        stated[session_id].append(tuple(row))
    return stated


_UPDATE = """
UPDATE session SET parent_external_id = coalesce(?, parent_external_id),
  forked_from = coalesce(?, forked_from), cwd = ?, branch = ?, commit_id = ?, models = ?,
  client_version = ?, source_kind = ?, opened_at = ?, started_at = ?, ended_at = ?, title = ?,
  label = ?, metadata = json_patch(metadata, ?), parser_version = (SELECT
    coalesce(max(o.parser_version), 0) FROM session_source l JOIN source o
    ON o.id = l.source_id WHERE l.session_id = session.id) WHERE id = ?
"""


def _update_sessions(db: Database, settled: dict[int, dict[str, Any]]) -> None:
    noted = _noted(db, settled)
    db.executemany(
        _UPDATE,
        [
            _fields(session_id, facts, noted.get(session_id, {}))
            for session_id, facts in settled.items()
        ],
    )


def _fields(session_id: int, settled: dict[str, Any], noted: dict[str, str]) -> Row:
    """The values of `_UPDATE`."""
    get = settled.get
    title = get("title.custom") or get("title.ai") or get("title.summary")
    extra = {k: settled[k] for k in ("entrypoint", "pr") if k in settled}
    extra["from_parent"] = True if get("stand_in") == "parent" else None  # None takes it out
    extra["time_source"] = get("time_source")
    if "client_version" in settled:
        extra["producer_version_last_seen"] = settled["client_version"]
        extra["producer_version_first_seen"] = settled.get("client_version.first")
    extra.update(noted)
    return (
        get("parent"),
        get("forked_from"),
        get("cwd"),
        get("branch"),
        get("commit"),
        _encode(get("model", [])).decode(),
        get("client_version"),
        get("source_kind", "interactive"),
        get("opened_at"),
        get("started_at", get("opened_at")),  # a fork may have nothing of its own yet
        get("ended_at", get("opened_at")),
        title,
        get("label"),
        _encode(extra).decode(),
        session_id,
    )


_OWN_FINGERPRINTS = (
    "SELECT fingerprint FROM event WHERE id BETWEEN ? AND ?"
    " UNION ALL SELECT fingerprint FROM evicted_event WHERE session_id = ?"
)


def shared_fingerprints(db: Database, sessions: set[int]) -> set[int]:
    """Fingerprints of these sessions that others hold too, here or evicted."""
    shared: set[int] = set()
    for session_id in sessions:
        selected = db.execute(
            f"SELECT o.fingerprint FROM ({_OWN_FINGERPRINTS}) o WHERE EXISTS (SELECT 1 FROM event e"
            " WHERE e.fingerprint = o.fingerprint AND e.id >> 24 != ?) OR EXISTS (SELECT 1"
            " FROM evicted_event k WHERE k.fingerprint = o.fingerprint AND k.session_id != ?)",
            (*event_range(session_id), session_id, session_id, session_id),
        )
        shared.update(row[0] for row in selected)
    return shared


def usage_keys(db: Database, sessions: set[int]) -> set[int]:
    """Keys of every API response of these sessions."""
    selected = db.execute(
        "SELECT key FROM usage WHERE session_id IN (SELECT value FROM json_each(?))",
        (_encode(sorted(sessions)).decode(),),
    )
    return {row[0] for row in selected}


class _Relatives:
    """Sessions that share something, read once each, and who owns what a group of them shares."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._sessions: dict[int, Relative] = {}
        self._owners: dict[frozenset[int], int] = {}

    def __getitem__(self, session_id: int) -> Relative:
        session = self._sessions.get(session_id)
        if session is None:
            row = self._db.execute(
                "SELECT id, flavor, external_id, opened_at, (SELECT min(value) FROM fact"
                " WHERE session_id = session.id AND name = 'forked_from') FROM session"
                " WHERE id = ?",
                (session_id,),
            ).fetchone()
            session = Relative(*row[:4], forked_from=_decode(row[4]) if row[4] else None)
            self._sessions[session_id] = session
        return session

    def owner(self, sessions: frozenset[int]) -> int:
        """The owner of what all of these hold: many events are shared by the same sessions."""
        owner = self._owners.get(sessions)
        if owner is None:
            owner = find_owner([self[session_id] for session_id in sessions]).id
            self._owners[sessions] = owner
        return owner


def settle_forks(db: Database, fingerprints: set[int]) -> set[int]:
    """Flag events copied from another session as inherited; returns sessions whose flags moved."""
    if not fingerprints:
        return set()
    wanted = _encode(sorted(fingerprints)).decode()
    holders: dict[int, list[tuple[int, int | None, int]]] = {}
    for fingerprint, event_id, inherited in db.execute(
        "SELECT e.fingerprint, e.id, e.inherited FROM json_each(?) j"
        " CROSS JOIN event e ON e.fingerprint = j.value",
        (wanted,),
    ):
        holders.setdefault(fingerprint, []).append((event_id >> SEQ_BITS, event_id, inherited))
    for fingerprint, session_id, inherited in db.execute(
        "SELECT k.fingerprint, k.session_id, k.inherited FROM json_each(?) j"
        " CROSS JOIN evicted_event k ON k.fingerprint = j.value",
        (wanted,),
    ):
        holders.setdefault(fingerprint, []).append((session_id, None, inherited))
    relatives = _Relatives(db)
    changed: set[int] = set()
    involved: set[int] = set()
    for fingerprint, copies in holders.items():
        owner = relatives.owner(frozenset(session_id for session_id, _, _ in copies))
        for session_id, event_id, inherited in copies:
            involved.add(session_id)
            if inherited == (session_id != owner):
                continue
            changed.add(session_id)
            if event_id is None:
                db.execute(
                    "UPDATE evicted_event SET inherited = ? WHERE fingerprint = ?"
                    " AND session_id = ?",
                    (session_id != owner, fingerprint, session_id),
                )
            else:
                db.execute(
                    "UPDATE event SET inherited = ? WHERE id = ?", (session_id != owner, event_id)
                )
    for session_id in involved:
        _settle_parent(db, relatives, session_id)
    return changed


def _settle_parent(db: Database, relatives: _Relatives, session_id: int) -> None:
    """Note whom a session was forked from, unless its log says so itself."""
    if relatives[session_id].forked_from is not None:
        return
    owners = [
        relatives[row[0]]
        for row in rows(
            db,
            "SELECT b.id >> 24 FROM event a JOIN event b"
            " ON b.fingerprint = a.fingerprint AND b.id >> 24 != ?1 AND b.inherited = 0"
            " WHERE a.id BETWEEN ?2 AND ?3 AND a.inherited = 1"
            " UNION SELECT k.session_id FROM event a JOIN evicted_event k"
            " ON k.fingerprint = a.fingerprint AND k.session_id != ?1 AND k.inherited = 0"
            " WHERE a.id BETWEEN ?2 AND ?3 AND a.inherited = 1",
            (session_id, *event_range(session_id)),
        )
    ]
    if owners:
        parent = find_parent(owners).external_id
        db.execute("UPDATE session SET forked_from = ? WHERE id = ?", (parent, session_id))
    elif not value(
        db,
        "SELECT 1 FROM event WHERE id BETWEEN ? AND ? AND inherited = 1",
        event_range(session_id),
    ) and not value(
        db, "SELECT 1 FROM evicted_event WHERE session_id = ? AND inherited = 1", (session_id,)
    ):
        db.execute("UPDATE session SET forked_from = NULL WHERE id = ?", (session_id,))


# Most responses are in one session only, and are counted there.
_UNDECIDED = """
SELECT u.key FROM json_each(?) j CROSS JOIN usage u ON u.key = j.value WHERE NOT u.counted
  OR EXISTS (SELECT 1 FROM usage o WHERE o.key = u.key AND o.session_id != u.session_id)
"""


def settle_usage(db: Database, keys: set[int]) -> None:
    """Count each response once, in the session that owns it, and with one set of figures."""
    if not keys:
        return
    drop_twin_responses(db, keys)
    undecided = {row[0] for row in db.execute(_UNDECIDED, (_encode(sorted(keys)).decode(),))}
    groups: dict[int, list[Row]] = {}
    for row in db.execute(
        f"SELECT u.key, u.session_id, u.counted, u.sidechain, {fullness('u')} FROM json_each(?) j"
        " CROSS JOIN usage u ON u.key = j.value",
        (_encode(sorted(undecided)).decode(),),
    ):
        groups.setdefault(row[0], []).append(row)
    relatives = _Relatives(db)
    for key, group in groups.items():
        if len(group) == 1:
            if not group[0][2]:
                db.execute("UPDATE usage SET counted = 1 WHERE key = ?", (key,))
            continue
        claims = [UsageClaim(relatives[row[1]], bool(row[3]), row[4:-1]) for row in group]
        decision = decide_usage(claims)
        db.execute(
            "UPDATE usage SET counted = (session_id = ?) WHERE key = ?", (decision.owner.id, key)
        )
        if any(claim.figures != decision.fullest.figures for claim in claims):
            db.execute(
                f"UPDATE usage SET ({_VALUE_COLUMNS}) = (SELECT {_VALUE_COLUMNS} FROM usage"
                " WHERE key = ?1 AND session_id = ?2) WHERE key = ?1 AND session_id != ?2",
                (key, decision.fullest.session.id),
            )


def _noted(db: Database, sessions: Iterable[int]) -> dict[int, dict[str, str]]:
    """What hooks recorded of sessions, except what their logs say themselves."""
    noted: dict[int, dict[str, str]] = {}
    if value(db, "SELECT 1 FROM session_note LIMIT 1") is None:
        return noted
    for session_id, name, text in for_each(
        db,
        "SELECT s.id, 'hook_' || n.name, n.value FROM session_note n JOIN session s"
        " ON s.flavor = n.flavor AND s.external_id = n.external_id WHERE s.id = ?"
        " AND n.name != 'cwd'",
        sessions,
    ):
        noted.setdefault(session_id, {})[name] = text
    return noted


def whereabouts(db: Database, session_id: int) -> Whereabouts:
    """What logs say about the place a settled session ran in."""
    stated: dict[str, str] = {}
    facts = rows(
        db,
        # All of its few facts: a table of the wanted names, made for each session, costs more.
        "SELECT s.path, f.pos, f.name, f.value FROM fact f JOIN source s ON s.id = f.source_id"
        " WHERE f.session_id = ?",
        (session_id,),
    )
    for _, _, name, text in sorted(fact for fact in facts if fact[2] in _OF_PLACES):
        stated.setdefault(name, _decode(text))
    return Whereabouts(
        value(db, "SELECT cwd FROM session WHERE id = ?", (session_id,)),
        stated.get("mentions", ""),
        stated.get("git_root", ""),
        stated.get("remote", ""),
        stated.get("root_hash", ""),
    )


def assign_project(
    db: Database, session_id: int, cwd: str, resolution: Resolution | None, domain: str
) -> None:
    """Give a session its project; a working directory resolved once keeps its project (IDN-07)."""
    alias = db.execute(
        "SELECT project_id, repo, source, confidence, warnings FROM project_alias WHERE path = ?",
        (cwd,),
    ).fetchone()
    if alias is None:
        if resolution is None:
            return
        project_id = _project(db, resolution, domain)
        warnings = _encode(resolution.warnings).decode()
        alias = (
            project_id,
            resolution.repo,
            resolution.source,
            resolution.confidence,
            warnings,
        )
        # What a prompt mentioned holds for that session only, and a guess may be bettered later.
        if resolution.confidence != "low" and not resolution.source.startswith("mentioned"):
            lasting = [w for w in resolution.warnings if not w.startswith("mentioned")]
            stored = (*alias[:4], _encode(lasting).decode())
            db.execute("INSERT INTO project_alias VALUES (?, ?, ?, ?, ?, ?)", (cwd, *stored))
            for guessed in _guessed(db, cwd):
                _write_place(db, guessed, stored)
    elif resolution is not None:
        mentioned = [w for w in resolution.warnings if w.startswith("mentioned")]
        alias = (*alias[:4], _encode([*_decode(alias[4]), *mentioned]).decode())
    _write_place(db, session_id, alias)


def _guessed(db: Database, cwd: str) -> list[int]:
    """Sessions whose directory was taken for a project of its own for lack of evidence."""
    sql = "SELECT id FROM project WHERE root = ? AND confidence = 'low'"
    project_id = value(db, sql, (cwd,))
    if project_id is None:
        return []
    selected = rows(
        db,
        "SELECT id FROM session WHERE project_id = ? AND cwd = ?"
        " AND metadata ->> 'project_resolution_confidence' = 'low' ORDER BY id",
        (projects.final(db, project_id), cwd),
    )
    return [row[0] for row in selected]


def _write_place(
    db: Database, session_id: int, alias: tuple[int, str | None, str, str, str]
) -> None:
    """Write a session's project and how it was found."""
    project_id, repo, source, confidence, warnings = alias
    metadata = {
        "project_resolution_source": source,
        "project_resolution_confidence": confidence,
        "project_resolution_warnings": _decode(warnings),
    }
    projects.put(db, session_id, project_id, projects.final(db, project_id), (repo, metadata))


def _project(db: Database, resolution: Resolution, domain: str) -> int:
    """The id of the resolved project, made if there is none of this root or given name."""
    root = resolution.root
    at_root = _project_at(db, root)
    if resolution.source in ("explicit", "payload"):
        key = resolution.key  # the name a user or client gave decides, whatever root it has
        root = None if at_root is not None else root
    elif at_root is not None:
        if resolution.remote is not None:
            db.execute(
                "UPDATE project SET remote = ? WHERE id = ? AND remote IS NULL",
                (resolution.remote, at_root),
            )
        return at_root
    else:
        key = unique_key(resolution.key, root, lambda key: _holder(db, key))
    held = _holder(db, key)
    if held is not None:
        return held.id
    db.execute(
        "INSERT INTO project (key, root, remote, worktree_of, domain, source, confidence)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            key,
            root,
            resolution.remote,
            resolution.worktree_of,
            domain,
            resolution.source,
            resolution.confidence,
        ),
    )
    return db.last_insert_rowid()


def _holder(db: Database, key: str) -> Holder | None:
    row = db.execute("SELECT id, root FROM project WHERE key = ?", (key,)).fetchone()
    return Holder(*row) if row else None


def _project_at(db: Database, root: str | None) -> int | None:
    """The project of a root, however its path is spelled."""
    if root is None:
        return None
    project_id = value(db, "SELECT id FROM project WHERE root = ?", (root,))
    if project_id is not None:
        return int(project_id)
    # Only a root that is new in this spelling comes here, so looking at all of them costs little.
    stored_roots = rows(db, "SELECT id, root FROM project WHERE root IS NOT NULL ORDER BY id")
    return next((int(held) for held, place in stored_roots if same_place(place, root)), None)
