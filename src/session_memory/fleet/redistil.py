"""Every session distilled again from its events, after the distiller or a parser got better."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.core.text.reason import reason_of
from session_memory.distil.sessions import Before, distil_events
from session_memory.fleet.dataset import TABLES, Damaged, Dataset
from session_memory.fleet.port import Engine
from session_memory.fleet.records import ExportedSession, InjectionRecord
from session_memory.fleet.tables import DIGESTS, SESSIONS, digest_rows, session_row

_session = msgspec.json.Decoder(Session).decode
_digest = msgspec.json.Decoder(Digest).decode
_event = msgspec.json.Decoder(SessionEvent).decode
_injections = msgspec.json.Decoder(tuple[InjectionRecord, ...]).decode
_DISTILLED = ("sessions", "digests")


class RedistilledPart(msgspec.Struct, frozen=True):
    """What became of one part."""

    sessions: int = 0
    distilled: int = 0
    changed: int = 0
    """Those whose digest is not what it was."""
    without_events: int = 0
    """Sessions whose raw text is not there: their digests stay as they are."""
    damaged: tuple[str, ...] = ()


def redistil_all(engine: Engine, source: str, to: str, *, everything: bool) -> RedistilledPart:
    """Distil again what another version distilled, or everything; `to` is a complete export."""
    dataset, target = Dataset(source), Dataset(to)
    dataset.check("events")
    calls = [(source, to, part, everything) for part in dataset.parts("sessions")]
    parts: list[RedistilledPart] = list(engine.map("distilling", _redistil, calls))
    for table in set(TABLES) - {*_DISTILLED, "signals"}:
        for part in dataset.parts(table):
            target.write(table, part, dataset.read(table, part))
    return RedistilledPart(
        sum(part.sessions for part in parts),
        sum(part.distilled for part in parts),
        sum(part.changed for part in parts),
        sum(part.without_events for part in parts),
        tuple(sorted(text for part in parts for text in part.damaged)),
    )


def _redistil(source: str, to: str, part: str, everything: bool) -> RedistilledPart:
    dataset = Dataset(source)
    try:
        sessions = dataset.read("sessions", part)
        digests = dataset.read("digests", part, ["number", "digest"])
    except Damaged as error:
        return RedistilledPart(damaged=(str(error),))
    events: dict[int, dict[str, Any]] = {}
    damaged: list[str] = []
    try:
        rows: pa.Table = dataset.read("events", part)
        events = {row["number"]: row for row in rows.to_pylist()}
    except (Damaged, FileNotFoundError) as error:
        damaged.append(str(error))
    bodies = dict(zip(digests["number"].to_pylist(), digests["digest"].to_pylist(), strict=True))
    made: list[ExportedSession] = []
    distilled = changed = without = 0
    for row in sessions.to_pylist():
        body = bodies.get(row["number"])
        session = ExportedSession(
            _session(row["session"]),
            row["owner"],
            None if body is None else _digest(body),
            row["repo"],
            tuple(row["roots"]),
            _injections(row["injections"]),
        )
        raw = events.get(row["number"])
        if raw is None:
            without += 1
        elif everything or session.digest is None or session.digest.version != DIGEST_VERSION:
            before = session.digest
            try:
                session = redistilled(session, raw)
            except Exception as error:  # noqa: BLE001 - one bad session never stops the others
                damaged.append(f"session {row['number']}: {reason_of(error)}")
            else:
                distilled += 1
                changed += session.digest != before
        made.append(session)
    target = Dataset(to)
    target.write_rows("sessions", part, SESSIONS, map(session_row, made))
    target.write_rows("digests", part, DIGESTS, digest_rows(made))
    return RedistilledPart(len(made), distilled, changed, without, tuple(damaged))


def redistilled(exported: ExportedSession, raw: dict[str, Any]) -> ExportedSession:
    """A session with the digest that its events give now."""
    evicted = raw["evicted"]
    lost = bool(raw["lost"])
    before = Before(
        None if evicted is None else _digest(evicted), exported.digest if lost else None, lost
    )
    made = distil_events(exported.session, map(_event, raw["events"]), before)
    if made.digest is None:
        return exported
    session = msgspec.structs.replace(exported.session, low_value=made.low_value)
    return msgspec.structs.replace(exported, session=session, digest=made.digest)
