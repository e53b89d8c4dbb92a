"""The vault's journal: what was forgotten, unshared and revoked, outside of the database.

Each decision is written here before it is committed, so a database that is restored from a backup
learns what it must not show.
"""

from __future__ import annotations

import secrets
import time

import msgspec

from session_memory.core.sharing.wire import FOREVER, Tombstone
from session_memory.hub.database import Connection, Part
from session_memory.hub.objects import Texts


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decision."""

    team: int
    member: str = ""
    project: str = ""
    tombstones: tuple[Tombstone, ...] = ()
    unshared: int | None = None
    """The generation that ended sharing."""
    revoked: str | None = None
    """A device, or an invite."""


decode = msgspec.json.Decoder(Entry).decode


def journalled(connection: Connection, texts: Texts, entry: Entry) -> None:
    """Write a decision into the journal, and note that this database knows it."""
    name = f"{time.time_ns() // 1_000_000:015d}-{secrets.token_hex(8)}"
    texts.write_journal(name, msgspec.json.encode(entry))
    connection.execute("INSERT INTO hub.journal (name) VALUES (%s)", (name,))


def keep_forgotten(
    part: Part, texts: Texts, project: str, tombstones: tuple[Tombstone, ...]
) -> None:
    """Journal what is forgotten for good; repeating a request adds nothing."""
    forever = [each for each in tombstones if each.rank == FOREVER]
    rows = part.execute(
        "SELECT target, key FROM hub.tombstone WHERE project_id = %s AND member_id = %s"
        " AND key = ANY(%s) AND rank = %s",
        (part.project, part.member, [each.key for each in forever], FOREVER),
    ).fetchall()
    present = {(str(target), str(key)) for target, key in rows}
    new = tuple(each for each in forever if (each.target, each.key) not in present)
    if new:
        journalled(part.connection, texts, Entry(part.team, part.member, project, new))
