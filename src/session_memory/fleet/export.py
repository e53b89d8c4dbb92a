"""From a store to Parquet: every session in its part, a part at a time."""

# pyarrow has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from session_memory.core.schema import Session
from session_memory.fleet.dataset import TABLES, Dataset
from session_memory.fleet.parts import mine_part
from session_memory.fleet.records import Exported, ExportedSession, RawEvents, part_name
from session_memory.fleet.tables import (
    DIGESTS,
    EFFECTS,
    EVENTS,
    PATTERNS,
    SESSIONS,
    USAGE,
    digest_rows,
    effect_rows,
    event_rows,
    session_row,
    usage_rows,
)
from session_memory.store.port import SessionQuery, Store

_ONE_FILE = "all"
_LEVELS = 16  # of sub-agents; a damaged log may name a circle


class Written(msgspec.Struct):
    """What an export holds."""

    sessions: int = 0
    digests: int = 0
    parts: int = 0
    bytes: int = 0


def write_dataset(
    to: Dataset,
    sessions: Iterable[ExportedSession],
    others: Exported,
    *,
    events: bool = False,
    signals: bool = True,
) -> Written:
    """Write everything; sessions come ordered by owner, the newest first, then by number.

    Files of an earlier export that have no successor are deleted: what was forgotten goes.
    """
    done, current_files = Written(), set[tuple[str, str]]()
    for part, members in groupby(sessions, lambda session: part_name(session.owner)):
        family = list(members)
        done.parts += 1
        done.sessions += len(family)
        done.digests += sum(session.digest is not None for session in family)
        done.bytes += to.write_rows("sessions", part, SESSIONS, map(session_row, family))
        done.bytes += to.write_rows("digests", part, DIGESTS, digest_rows(family))
        current_files |= {("sessions", part), ("digests", part)}
        if events:
            done.bytes += to.write_rows("events", part, EVENTS, event_rows(family))
            current_files.add(("events", part))
        if signals:
            done.bytes += mine_part(to, to, part).written
        # Signals of an earlier run stay too: what changed is mined by the next run.
        current_files.add(("signals", part))
    statuses = [{"pattern": name, "status": status} for name, status in others.statuses]
    for table, schema, rows in (
        ("patterns", PATTERNS, statuses),
        ("usage", USAGE, usage_rows(others.usage)),
        ("effects", EFFECTS, effect_rows(others.effects)),
    ):
        done.bytes += to.write_rows(table, _ONE_FILE, schema, rows)
        current_files.add((table, _ONE_FILE))
    for table in TABLES:
        for part in to.parts(table):
            if (table, part) not in current_files:
                to.delete(table, part)
    return done


def export_store(store: Store, to: Dataset, *, events: bool, signals: bool = True) -> Written:
    """Write the local store."""
    others = Exported(
        sorted(store.patterns.statuses().items()),
        store.usage("session"),
        store.effects.all(),
    )
    rows = exported_sessions(store, events=events)
    return write_dataset(to, rows, others, events=events, signals=signals)


def exported_sessions(store: Store, *, events: bool) -> Iterator[ExportedSession]:
    """Every session of a store, in the order of an export."""
    everyone = {session.id: session for session in store.sessions(SessionQuery())}
    ordered = sorted(
        ((_owner(everyone, each), each.id) for each in everyone.values()), reverse=True
    )
    for _, family in groupby(ordered, lambda pair: part_name(pair[0])):
        owners = {number: owner for owner, number in family}
        mined = {
            row.session: row for chunk in store.patterns.minable(list(owners)) for row in chunk
        }
        for number, owner in owners.items():
            session, row = everyone[number], mined.get(number)
            yield ExportedSession(
                session=session,
                owner=owner,
                digest=None if row is None else store.digest(number),
                repo=None if row is None else row.repo,
                roots=() if row is None else row.roots,
                injections=tuple(
                    (injection.at, injection.given, injection.held)
                    for injection in store.live.injections(session.flavor, session.external_id)
                ),
                raw=_raw(store, number) if events else None,
            )


def _raw(store: Store, number: int) -> RawEvents | None:
    events = tuple(store.events_to_distil(number, 0))
    evicted, lost = store.evicted_digest(number), store.lost_events(number)
    return RawEvents(events, evicted, lost) if events or evicted is not None else None


def _owner(everyone: dict[int, Session], session: Session) -> int:
    for _ in range(_LEVELS):
        parent = None if session.parent_id is None else everyone.get(session.parent_id)
        if parent is None:
            break
        session = parent
    return session.id
