"""The Parquet tables: their columns, and rows made of what a store exports. See docs/scale.md."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from session_memory.core.loop.effects import Effect
from session_memory.fleet.records import ExportedSession, encode, mining_hash
from session_memory.store.values import UsageRow

Row = dict[str, Any]
_TIME = pa.timestamp("ms", tz="UTC")
_NAMES: list[pa.Field] = [
    pa.field("number", pa.int64()),
    pa.field("owner", pa.int64()),
    pa.field("flavor", pa.string()),
    pa.field("external_id", pa.string()),
    pa.field("project", pa.string()),
    pa.field("repo", pa.string()),
    pa.field("ended_at", _TIME),
    pa.field("is_evidence", pa.bool_()),
]
SESSIONS = pa.schema(
    [
        *_NAMES,
        pa.field("roots", pa.list_(pa.string())),
        pa.field("domain", pa.string()),
        pa.field("title", pa.string()),
        pa.field("started_at", _TIME),
        pa.field("events", pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("usd", pa.float64()),
        pa.field("low_value", pa.string()),
        pa.field("session", pa.string()),
        pa.field("injections", pa.string()),
    ]
)
DIGESTS = pa.schema(
    [
        *_NAMES,
        pa.field("roots", pa.list_(pa.string())),
        pa.field("digest_version", pa.int32()),
        pa.field("digest_hash", pa.string()),
        pa.field("digest", pa.string()),
    ]
)
SIGNALS = pa.schema(
    [
        *_NAMES,
        pa.field("digest_version", pa.int32()),
        pa.field("digest_hash", pa.string()),
        pa.field("miner_version", pa.int32()),
        pa.field("signals", pa.string()),
        pa.field("keys", pa.list_(pa.uint32())),
    ]
)
EVENTS = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("owner", pa.int64()),
        pa.field("events", pa.list_(pa.large_string())),
        pa.field("evicted", pa.string()),
        pa.field("lost", pa.int64()),
    ]
)
USAGE = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("models", pa.list_(pa.string())),
        pa.field("responses", pa.int64()),
        pa.field("input", pa.int64()),
        pa.field("output", pa.int64()),
        pa.field("cache_read", pa.int64()),
        pa.field("cache_write", pa.int64()),
        pa.field("reasoning", pa.int64()),
        pa.field("usd", pa.float64()),
        pa.field("unpriced_tokens", pa.int64()),
    ]
)
EFFECTS = pa.schema(
    [
        pa.field("pattern", pa.string()),
        pa.field("version", pa.int32()),
        pa.field("method", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("measured_at", _TIME),
        pa.field("effect", pa.string()),
    ]
)
PATTERNS = pa.schema([pa.field("pattern", pa.string()), pa.field("status", pa.string())])
NAMES = [field.name for field in _NAMES]


def names_row(exported: ExportedSession) -> Row:
    """What every table about sessions says of one."""
    session = exported.session
    return {
        "number": session.id,
        "owner": exported.owner,
        "flavor": session.flavor,
        "external_id": session.external_id,
        "project": session.project_key,
        "repo": exported.repo,
        "ended_at": session.ended_at,
        "is_evidence": session.is_work,
    }


def session_row(exported: ExportedSession) -> Row:
    """A row of `sessions`."""
    session = exported.session
    return {
        **names_row(exported),
        "roots": exported.roots,
        "domain": session.domain,
        "title": session.title,
        "started_at": session.started_at,
        "events": session.event_count,
        "outcome": exported.digest.outcome if exported.digest is not None else None,
        "usd": session.cost.usd,
        "low_value": session.low_value,
        "session": encode(session).decode(),
        "injections": encode(exported.injections).decode(),
    }


def digest_rows(sessions: Iterable[ExportedSession]) -> Iterator[Row]:
    """Rows of `digests`: sessions without a digest have none."""
    for exported in sessions:
        if exported.digest is not None:
            body = encode(exported.digest)
            yield {
                **names_row(exported),
                "roots": exported.roots,
                "digest_version": exported.digest.version,
                "digest_hash": mining_hash(body, exported.repo, exported.roots),
                "digest": body.decode(),
            }


def event_rows(sessions: Iterable[ExportedSession]) -> Iterator[Row]:
    """Rows of `events`, one for each session whose raw text is there."""
    for exported in sessions:
        if exported.raw is not None:
            evicted = exported.raw.evicted
            yield {
                "number": exported.session.id,
                "owner": exported.owner,
                "events": [encode(event).decode() for event in exported.raw.events],
                "evicted": None if evicted is None else encode(evicted).decode(),
                "lost": exported.raw.lost,
            }


def usage_rows(usage: Iterable[UsageRow]) -> Iterator[Row]:
    """Rows of `usage`, one for each session."""
    for row in usage:
        cost = row.cost
        yield {
            "number": row.session_id,
            "models": row.models,
            "responses": row.responses,
            "input": cost.input,
            "output": cost.output,
            "cache_read": cost.cache_read,
            "cache_write": cost.cache_write_5m + cost.cache_write_1h,
            "reasoning": cost.reasoning,
            "usd": cost.usd,
            "unpriced_tokens": row.unpriced_tokens,
        }


def effect_rows(effects: Iterable[Effect]) -> Iterator[Row]:
    """Rows of `effects`."""
    for effect in effects:
        yield {
            "pattern": effect.pattern_id,
            "version": effect.version,
            "method": effect.method,
            "verdict": effect.verdict,
            "measured_at": effect.measured_at,
            "effect": encode(effect).decode(),
        }
