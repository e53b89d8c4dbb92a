"""The few lines of text beside a structured answer; each fact in them stands there as well."""

from __future__ import annotations

from typing import Any, cast

from session_memory.core.text.safe_text import one_line

Json = dict[str, Any]
MAX_LINES = 6
_WORD_CHARS = 120
_HINT_CHARS = 300

_SCOPE = ("project_key", "scope_mode", "selection_mode", "routing_decision", "session_id")
_SOURCES = (
    "source_session_count",
    "session_count",
    "session_filter_applied",
    "count",
    "event_count",
)
_FRESH = ("memory_freshness", "last_captured_turn_at", "memory_age_seconds")
_STATE = (
    "done",
    "primary_reason",
    "has_open_work",
    "has_changes",
    "baseline_source",
    "pending_count",
    "blocker_count",
    "not_modified",
    "left_out",
)


def breadcrumbs(tool: str, answer: Json) -> list[str]:
    """Scope, sources, freshness, state, warning and the next step, as far as an answer has them."""
    seen = _flat(answer)
    lines = [
        f"session-memory {tool}{_facts(seen, _SCOPE)}",
        _facts(seen, _SOURCES),
        _facts(seen, _FRESH),
        _facts(seen, _STATE),
        _warning(seen),
        _next(seen),
    ]
    return [line.strip() for line in lines if line.strip()]


def _flat(answer: Json) -> Json:
    """An answer with what its inner parts say about scope; the outer word counts."""
    pack = _object(answer, "context_pack")
    inner = (
        _object(answer, "scope_resolution"),
        _object(answer, "project"),
        _object(answer, "completion_check"),
        _object(answer, "session_filter"),
        _object(answer, "scope_guard"),
        _object(pack, "stats"),
        _object(answer, "stats"),
    )
    flat: Json = {}
    for part in (*inner, answer):
        flat |= {name: value for name, value in part.items() if value is not None}
    return flat


def _object(answer: Json, name: str) -> Json:
    value: object = answer.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def _facts(seen: Json, names: tuple[str, ...]) -> str:
    return "".join(
        f" {name}={_word(seen[name])}" for name in names if seen.get(name) != {} and name in seen
    )


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        pairs = cast("Json", value).items()
        return ",".join(f"{_word(name)}:{_word(one)}" for name, one in pairs)
    return one_line(str(value))[:_WORD_CHARS]


def _warning(seen: Json) -> str:
    code = _object(seen, "scope_warning").get("code")
    fetch = "" if not seen.get("do_not_fetch_project_wide_pack") else _NO_FETCH
    return (f" scope_warning={_word(code)}" if code else "") + fetch


_NO_FETCH = " do_not_fetch_project_wide_pack=true"


def _next(seen: Json) -> str:
    """How to narrow, in the answer's own words."""
    steps = _object(seen, "recommended_narrowing").get("next_steps")
    if isinstance(steps, list) and steps:
        return f"next: {_hint(cast('list[object]', steps)[0])}"
    for name in ("recommended_call", "next_action"):
        if seen.get(name):
            return f"next: {_hint(seen[name])}"
    return ""


def _hint(value: object) -> str:
    return one_line(str(value))[:_HINT_CHARS]
