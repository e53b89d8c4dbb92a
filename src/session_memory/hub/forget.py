"""What members take back: forgetting, unsharing, sharing less; proofs; what a restore repeats."""

from __future__ import annotations

from session_memory.core.sharing.wire import (
    FOREVER,
    LEVEL_OF,
    LEVELS,
    MAX_ITEMS,
    Erased,
    Forget,
    Level,
    Proof,
    Prove,
    Sharing,
)
from session_memory.hub.database import (
    Caller,
    Connection,
    Part,
    Pool,
    as_member,
    limit,
    transaction,
)
from session_memory.hub.erase import (
    Erasing,
    apply_tombstones,
    check_tombstones,
    erase_items,
    finish,
)
from session_memory.hub.failures import RequestError
from session_memory.hub.journal import Entry, decode, journalled, keep_forgotten
from session_memory.hub.objects import Texts


def forget(pool: Pool, texts: Texts, caller: Caller, project: int, request: Forget) -> Erased:
    """Delete items or sessions of the caller's member for good."""
    if len(request.tombstones) > MAX_ITEMS:
        raise RequestError("too_large", f"at most {MAX_ITEMS} can be forgotten at once")
    check_tombstones(request.tombstones)
    with as_member(pool, caller, project) as part:
        part.lock()
        keep_forgotten(part, texts, request.project, request.tombstones)
        erased = apply_tombstones(part, request.tombstones)
    complete = finish(pool, texts, erased.pending)
    return Erased(len(erased.gone), complete)


def share(
    pool: Pool, texts: Texts, caller: Caller, project: int, key_and_level: tuple[str, Level]
) -> Sharing:
    """Share a project at a level; what is above a lower one is deleted."""
    key, level = key_and_level
    with as_member(pool, caller, project) as part:
        part.lock()
        row = part.execute(
            "SELECT level, generation FROM hub.sharing WHERE project_id = %s AND member_id = %s",
            (project, caller.member),
        ).fetchone()
        if row is not None and row[0] == level:
            return Sharing(key, level, row[1])
        generation = (row[1] if row else 0) + 1
        _set_sharing(part, level, generation)
        kept_kinds = [
            kind for kind in LEVEL_OF if LEVELS.index(LEVEL_OF[kind]) <= LEVELS.index(level)
        ]
        erased = erase_items(
            part.connection,
            "i.project_id = %s AND i.member_id = %s AND i.kind <> ALL(%s)",
            (project, caller.member, kept_kinds),
        )
        if erased.gone:
            _announce(part)
    finish(pool, texts, erased.pending)
    return Sharing(key, level, generation)


def _announce(part: Part) -> None:
    """Make others drop everything of this member and pull the rest again."""
    part.execute(
        "INSERT INTO hub.tombstone (team_id, project_id, member_id, target, key, rank)"
        " VALUES (%s, %s, %s, 'member', '', %s) ON CONFLICT (project_id, member_id, target, key)"
        " DO UPDATE SET changed = excluded.changed, rank = excluded.rank",
        (part.team, part.project, part.member, FOREVER),
    )
    part.execute(
        "UPDATE hub.item SET changed = pg_current_xact_id()::text::bigint"
        " WHERE project_id = %s AND member_id = %s",
        (part.project, part.member),
    )


def unshare(pool: Pool, texts: Texts, caller: Caller, project: int, key: str) -> Erased:
    """Delete everything of the caller's member in a project."""
    with as_member(pool, caller, project) as part:
        part.lock()
        row = part.execute(
            "SELECT level, generation FROM hub.sharing WHERE project_id = %s AND member_id = %s",
            (project, caller.member),
        ).fetchone()
        if row is None or row[0] is None:
            return Erased(0, complete=True)
        generation = row[1] + 1
        entry = Entry(caller.team_id, caller.member, key, unshared=generation)
        journalled(part.connection, texts, entry)
        erased = _end_sharing(part, generation)
    complete = finish(pool, texts, erased.pending)
    return Erased(len(erased.gone), complete)


def _end_sharing(part: Part, generation: int) -> Erasing:
    _set_sharing(part, None, generation)
    erased = erase_items(
        part.connection, "i.project_id = %s AND i.member_id = %s", (part.project, part.member)
    )
    part.execute(
        "DELETE FROM hub.session WHERE project_id = %s AND member_id = %s",
        (part.project, part.member),
    )
    _announce(part)
    return erased


def _set_sharing(part: Part, level: Level | None, generation: int) -> None:
    part.execute(
        "INSERT INTO hub.sharing (team_id, project_id, member_id, level, generation)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (project_id, member_id)"
        " DO UPDATE SET level = excluded.level, generation = excluded.generation",
        (part.team, part.project, part.member, level, generation),
    )


def prove(pool: Pool, texts: Texts, caller: Caller, project: int, request: Prove) -> Proof:
    """Count what is left of targets, by their keys and by the numbers that were deleted."""
    if len(request.targets) > MAX_ITEMS:
        raise RequestError("too_large", f"at most {MAX_ITEMS} can be asked for at once")
    targets = {(each.target, each.key) for each in request.targets}
    with as_member(pool, caller, project) as part:
        keys = [key for _, key in targets]
        tombstones = [
            row
            for row in part.execute(
                "SELECT target, key, items, vault_keys FROM hub.tombstone"
                " WHERE project_id = %s AND member_id = %s AND key = ANY(%s)",
                (project, caller.member, keys),
            ).fetchall()
            if (row[0], row[1]) in targets
        ]
        items = sorted({number for row in tombstones for number in row[2]})
        vault_keys = sorted({name for row in tombstones for name in row[3]})
        rows = part.execute(
            "SELECT (SELECT count(*) FROM hub.item i"
            "  LEFT JOIN hub.session s ON s.number = i.session"
            "  WHERE i.project_id = %(project)s AND i.member_id = %(member)s"
            "  AND (i.id = ANY(%(items)s) OR i.key = ANY(%(item_keys)s)"
            "   OR s.key = ANY(%(session_keys)s))),"
            " (SELECT count(*) FROM hub.posting WHERE item_id = ANY(%(items)s))"
            " + (SELECT count(*) FROM hub.run WHERE item_id = ANY(%(items)s))"
            " + (SELECT count(*) FROM hub.word_order WHERE item_id = ANY(%(items)s)),"
            " (SELECT count(*) FROM hub.erasure WHERE name = ANY(%(vault_keys)s))",
            {
                "project": project,
                "member": caller.member,
                "items": items,
                "item_keys": [key for target, key in targets if target == "item"],
                "session_keys": [key for target, key in targets if target == "session"],
                "vault_keys": vault_keys,
            },
        ).fetchone()
        assert rows is not None
    return Proof(
        rows=rows[0],
        index_entries=rows[1],
        stored_texts=rows[2],
        data_keys=sum(texts.has_key(name) for name in vault_keys),
        refused={(row[0], row[1]) for row in tombstones} == targets,
    )


def replay(pool: Pool, texts: Texts) -> int:
    """Apply decisions of the journal that this database does not know; return how many.

    There are some after a restore, or where an instance ended between writing the journal and
    committing. Laptops pull and push everything again then.
    """
    with transaction(pool) as connection:
        applied = {row[0] for row in connection.execute("SELECT name FROM hub.journal").fetchall()}
    new = [name for name in texts.journal() if name not in applied]
    for name in new:
        entry = decode(texts.journal_entry(name))
        finish(pool, texts, _repeat(pool, name, entry).pending)
    if new:
        with transaction(pool) as connection:
            connection.execute("UPDATE hub.state SET epoch = gen_random_uuid()::text")
            teams = {decode(texts.journal_entry(name)).team for name in new}
            for team in sorted(teams):
                limit(connection, team=str(team))
                _limit_to_all_projects(connection, team)
                connection.execute("DELETE FROM hub.manifest")
    return len(new)


def _limit_to_all_projects(connection: Connection, team: int, member: str = "") -> dict[str, int]:
    limit(connection, team=str(team), member=member)
    rows = connection.execute("SELECT key, id FROM hub.project").fetchall()
    projects = {str(key): int(number) for key, number in rows}
    numbers = ",".join(map(str, sorted(projects.values())))
    limit(connection, team=str(team), member=member, projects=numbers)
    return projects


def _repeat(pool: Pool, name: str, entry: Entry) -> Erasing:
    """Apply one decision again. What it was about may not be in an older backup at all."""
    erased = Erasing()
    with transaction(pool) as connection:
        projects = _limit_to_all_projects(connection, entry.team, entry.member)
        if entry.revoked:
            for table in ("device", "invite"):
                connection.execute(
                    f"UPDATE hub.{table} SET revoked_at = coalesce(revoked_at, now())"
                    " WHERE id = %s",
                    (entry.revoked,),
                )
        member = connection.execute(
            "SELECT 1 FROM hub.member WHERE id = %s", (entry.member,)
        ).fetchone()
        if member is not None and entry.project in projects:
            caller = Caller(entry.team, "", "", entry.member, projects)
            part = Part(connection, caller, projects[entry.project])
            part.lock()
            if entry.tombstones:
                erased = apply_tombstones(part, entry.tombstones)
            if entry.unshared is not None and _is_older(part, entry.unshared):
                erased = _end_sharing(part, entry.unshared)
        connection.execute("INSERT INTO hub.journal VALUES (%s) ON CONFLICT DO NOTHING", (name,))
    return erased


def _is_older(part: Part, generation: int) -> bool:
    row = part.execute(
        "SELECT generation FROM hub.sharing WHERE project_id = %s AND member_id = %s",
        (part.project, part.member),
    ).fetchone()
    return row is not None and row[0] < generation
