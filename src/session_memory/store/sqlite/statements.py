"""What files state about sessions and responses, merged in any order to the same result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from session_memory.core.facts import FACT_RULES, Fact
from session_memory.store.port import EventDraft, UsageDraft
from session_memory.store.sqlite.connection import Database, insert_rows

INSERT_EVENT = "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,?,?,?,?,?)"
"""Every column in its order, of which new events are neither inherited nor superseded.

It has no names because apsw hashes a statement again for each row.
"""
INSERT_SOURCE = """
INSERT OR IGNORE INTO source (flavor, path, device, inode, size, mtime_ns, ctime_ns, head_hash,
  tail_hash, read_to, state, parser_version) VALUES (?, ?, 0, 0, -1, 0, 0, x'', x'', 0, '{}', 0)
"""
INSERT_DIGEST = """
INSERT INTO digest (outcome, source_fingerprint, body, session_id) VALUES (?, ?, ?, ?)
"""
UPDATE_DIGEST = """
UPDATE digest SET outcome = ?, source_fingerprint = ?, body = ? WHERE session_id = ?
"""
_ADD_FACT = "INSERT INTO fact (session_id, name, source_id, slot, value, pos)"
_OR_RESTATE = """
ON CONFLICT (session_id, name, source_id, slot)
DO UPDATE SET value = excluded.value, pos = excluded.pos WHERE """
_FACT_WINS = {
    "first": "excluded.pos < pos",
    "last": "excluded.pos >= pos",
    "min": "CAST(excluded.value AS INTEGER) < CAST(value AS INTEGER)",
    "max": "CAST(excluded.value AS INTEGER) > CAST(value AS INTEGER)",
    "set": "excluded.pos < pos",
}
_USAGE_COLUMNS = (
    "key, session_id, counted, sidechain, at, model, input, output, cache_read, cache_write_5m,"
    " cache_write_1h, reasoning, stated_usd, usd, price_table, mode"
)
_FULLNESS = (
    "{0}.output, {0}.input, {0}.cache_read, {0}.cache_write_5m, {0}.cache_write_1h, {0}.model,"
    " {0}.reasoning, coalesce({0}.stated_usd, -1), -coalesce({0}.at, 1 << 62), -{0}.sidechain,"
    " {0}.mode"
)
_encode = msgspec.json.Encoder().encode


SESSION_GREW = """
UPDATE session SET next_seq = ?1, event_count = event_count + ?2, raw_events = raw_events + ?2,
  index_bytes = index_bytes + ?3, raw_captured_at = ?4, place = ?5 WHERE id = ?6
"""


def fullness(table: str) -> str:
    """What orders several statements about one response; the greatest is the one to believe.

    Every column takes part: where two could tie, the order of arrival would decide.
    """
    return _FULLNESS.format(table)


_ADD_USAGE = f"INSERT INTO usage ({_USAGE_COLUMNS})"
_OR_MERGE = (
    "ON CONFLICT (key, session_id) DO UPDATE SET at = excluded.at,"
    " model = excluded.model, input = excluded.input, output = excluded.output,"
    " cache_read = excluded.cache_read, cache_write_5m = excluded.cache_write_5m,"
    " cache_write_1h = excluded.cache_write_1h, reasoning = excluded.reasoning,"
    " stated_usd = excluded.stated_usd, usd = excluded.usd,"
    " price_table = excluded.price_table, sidechain = excluded.sidechain,"
    " mode = excluded.mode"
    # streaming writes a placeholder first: the fullest figures are the final ones
    f" WHERE ({fullness('excluded')}) > ({fullness('usage')})"
)


StatedFact = tuple[int, int, Fact]
"""A session, the source that states something about it, and what."""


def add_facts(db: Database, facts: Iterable[StatedFact]) -> None:
    """Keep each file's winner of each name."""
    by_rule: dict[str, list[tuple[int, str, int, str, str, int]]] = {}
    for session_id, source_id, fact in facts:
        rule = FACT_RULES.get(fact.name, "last")
        encoded = _encode(fact.value).decode()
        slot = encoded if rule == "set" else ""
        row = (session_id, fact.name, source_id, slot, encoded, fact.pos)
        by_rule.setdefault(rule, []).append(row)
    for rule, values in by_rule.items():
        insert_rows(db, _ADD_FACT, values, _OR_RESTATE + _FACT_WINS[rule])


def add_usage(db: Database, usages: Iterable[tuple[int, UsageDraft]]) -> None:
    """Keep the fullest statement of each session's responses, among equals the earliest."""
    insert_rows(db, _ADD_USAGE, [_usage_row(*usage) for usage in usages], _OR_MERGE)


def _usage_row(session_id: int, usage: UsageDraft) -> tuple[Any, ...]:
    return (
        usage.key,
        session_id,
        1,
        usage.sidechain,
        usage.at,
        usage.model,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.reasoning,
        usage.stated_usd,
        usage.usd,
        usage.price_table,
        usage.mode,
    )


def event_row(
    event_id: int, source_id: int, draft: EventDraft, indexed: int, place: tuple[int, int]
) -> tuple[Any, ...]:
    """The values of `INSERT_EVENT`; `place` is the segment and where its text ends so far."""
    body = draft.body
    return (
        event_id,
        source_id,
        draft.pos,
        draft.at,
        draft.kind,
        draft.origin,
        draft.tool,
        draft.tool_class,
        draft.call_id,
        draft.is_error,
        draft.exit_code,
        _encode(draft.files).decode() if draft.files else None,
        draft.command,
        draft.usage_key,
        draft.fingerprint,
        indexed,
        draft.label,
        place[0] if body else None,
        place[1] if body else 0,
        len(body),
    )
