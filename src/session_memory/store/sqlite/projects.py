"""Projects that the user merged or renamed, so that each of it can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.core.schema import Project
from session_memory.store.sqlite.connection import Database, rows, value

FAMILY = (
    "WITH RECURSIVE family (id) AS (SELECT ?1 UNION"
    " SELECT m.project_id FROM project_merge m JOIN family f ON m.target_id = f.id)"
)
"""A project, and all that were merged into it."""
_COLUMNS = "id, key, root, remote, worktree_of, domain, source, confidence"


def final(db: Database, project_id: int) -> int:
    """The project that one is part of now."""
    return _final(_targets(db), project_id)


def _targets(db: Database) -> dict[int, int]:
    """Which project each merged one went into: few, if any."""
    return dict(rows(db, "SELECT project_id, target_id FROM project_merge"))


def _final(targets: dict[int, int], project_id: int) -> int:
    seen = {project_id}
    while (target := targets.get(project_id)) is not None and target not in seen:
        project_id = target
        seen.add(project_id)
    return project_id


def all_as_found(db: Database) -> list[Project]:
    """All projects as they were found, by key, whether or not they were merged."""
    return _select(db, "1", ())


def _select(db: Database, which: str, bindings: tuple[str, ...]) -> list[Project]:
    aliases: dict[int, list[str]] = {}
    of_these = f"project_id IN (SELECT id FROM project WHERE {which})" if bindings else "1"
    paths = f"SELECT path, project_id FROM project_alias WHERE {of_these} ORDER BY path"
    for path, project_id in rows(db, paths, bindings):
        aliases.setdefault(project_id, []).append(path)
    selected = f"SELECT {_COLUMNS}, found_key FROM project WHERE {which} ORDER BY key"
    return [
        Project(*row[:8], aliases=tuple(aliases.get(row[0], ())), found_key=row[8])
        for row in rows(db, selected, bindings)
    ]


def merged(db: Database) -> list[Project]:
    """All projects, by key; one that was merged is part of another, its directories as aliases."""
    return _merged(all_as_found(db), _targets(db))


def some(db: Database, ids: Iterable[int]) -> list[Project]:
    """These projects, as `merged` gives them, without reading the others."""
    targets, wanted = _targets(db), set(ids)
    parts = {part for part in targets if _final(targets, part) in wanted}
    listed = msgspec.json.encode(sorted(wanted | parts)).decode()
    which = "id IN (SELECT value FROM json_each(?))"
    return _merged(_select(db, which, (listed,)), targets)


def called(db: Database, key: str) -> Project | None:
    """The project with this key, as `merged` gives it."""
    number = value(db, "SELECT id FROM project WHERE key = ?", (key,))
    named = some(db, [int(number)]) if number is not None else []
    return next((project for project in named if project.key == key), None)


def _merged(everything: list[Project], targets: dict[int, int]) -> list[Project]:
    if not targets:
        return everything
    parts: dict[int, list[Project]] = {}
    for project in everything:
        parts.setdefault(_final(targets, project.id), []).append(project)
    return [
        _joined(project, [part for part in parts[project.id] if part is not project])
        for project in everything
        if project.id in parts
    ]


def _joined(project: Project, parts: list[Project]) -> Project:
    if not parts:
        return project
    paths = {path for part in parts for path in (part.root, *part.aliases) if path}
    return Project(
        project.id,
        project.key,
        project.root,
        project.remote,
        project.worktree_of,
        project.domain,
        project.source,
        project.confidence,
        tuple(sorted({*project.aliases, *paths})),
        project.found_key,
        tuple(part.key for part in parts),
    )


def only_in(db: Database, sessions: str) -> set[int]:
    """Projects, as they were found, of which these sessions (a JSON list) are all there is."""
    place = "coalesce(found_project_id, project_id)"
    these = "(SELECT value FROM json_each(?1))"
    gone = rows(
        db,
        f"SELECT DISTINCT {place} FROM session WHERE id IN {these} AND project_id IS NOT NULL"
        f" EXCEPT SELECT {place} FROM session WHERE id NOT IN {these} AND project_id IS NOT NULL"
        f" EXCEPT SELECT project_id FROM session WHERE id NOT IN {these}"
        " AND project_id IS NOT NULL",
        (sessions,),
    )
    return {int(row[0]) for row in gone}


def merge(db: Database, project_id: int, target_id: int, now_ms: int) -> int:
    """Make one project part of another; returns how many sessions moved."""
    db.execute("INSERT INTO project_merge VALUES (?, ?, ?)", (project_id, target_id, now_ms))
    return _place(db, project_id)


def split(db: Database, project_id: int) -> int:
    """Undo a merge; returns how many sessions moved."""
    db.execute("DELETE FROM project_merge WHERE project_id = ?", (project_id,))
    return _place(db, project_id)


def _place(db: Database, project_id: int) -> int:
    """Put the sessions of a project, and of all that are part of it, where they belong now."""
    place = final(db, project_id)
    members = [row[0] for row in rows(db, f"{FAMILY} SELECT id FROM family", (project_id,))]
    moved = 0
    for member in members:
        sessions = rows(
            db,
            "SELECT id FROM session WHERE coalesce(found_project_id, project_id) = ?"
            " AND project_id != ?",
            (member, place),
        )
        for (session_id,) in sessions:
            put(db, session_id, member, place)
        moved += len(sessions)
    # Counts of where patterns were seen are made again by the next detection.
    db.execute(
        "UPDATE pattern SET repos = '{}' WHERE EXISTS (SELECT 1 FROM json_each(pattern.repos) r"
        " JOIN project p ON p.key = r.key WHERE p.id IN (SELECT value FROM json_each(?)))",
        (f"[{','.join(map(str, [*members, place]))}]",),
    )
    return moved


def put(
    db: Database,
    session_id: int,
    found_id: int,
    place: int,
    resolved: tuple[str | None, dict[str, Any]] | None = None,
) -> None:
    """Write into a session's row which project it is in, and which one was found for it.

    `resolved` is the repository and how the project was found, where that is new.
    """
    root, domain = db.execute("SELECT root, domain FROM project WHERE id = ?", (place,)).fetchone()
    repo, metadata = resolved or (None, {})
    db.execute(
        "UPDATE session SET project_id = ?1, found_project_id = nullif(?2, ?1), domain = ?3,"
        f" metadata = json_patch(metadata, ?4){', repo = ?6' if resolved else ''} WHERE id = ?5",
        (
            place,
            found_id,
            domain,
            msgspec.json.encode({**metadata, "project_root_path": root}).decode(),
            session_id,
            *((repo,) if resolved else ()),
        ),
    )
    db.execute(
        "UPDATE trace SET root = ? WHERE session_id = ? AND passed_over IS NULL AND root != ''",
        (root or "", session_id),
    )


def rename(db: Database, project_id: int, key: str) -> None:
    """Give a project another key; the one that was found is kept."""
    old = value(db, "SELECT key FROM project WHERE id = ?", (project_id,))
    db.execute(
        "UPDATE project SET found_key = nullif(coalesce(found_key, key), ?1), key = ?1"
        " WHERE id = ?2",
        (key, project_id),
    )
    db.execute(
        "UPDATE pattern SET repos = '{}' WHERE EXISTS"
        " (SELECT 1 FROM json_each(pattern.repos) WHERE key = ?)",
        (old,),
    )
