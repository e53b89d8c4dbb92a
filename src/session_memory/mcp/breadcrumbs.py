"""The few lines of text that go with a structured answer, and repeat facts of it."""

from __future__ import annotations

from typing import Any, cast

from session_memory.core.text.safe_text import one_line

Json = dict[str, Any]
NOTICE = "notice"
"""The field of a structured answer that says what its texts are; always the first."""
_WORD_CHARS = 120
_HINT_CHARS = 300

_SCOPE = ("project_key", "scope_mode", "selection_mode", "routing_decision", "session_id")
_SOURCES = (
    "source_session_count",
    "session_count",
    "session_filter_applied",
    "count",
)
_FRESHNESS = ("memory_freshness", "last_captured_turn_at", "memory_age_seconds")
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
    """Scope, sources, freshness, state, warning and next step, as far as an answer has them."""
    facts = _flat(answer)
    notice = f": {answer[NOTICE]}" if NOTICE in answer else ""
    lines = [
        f"session-memory {tool}{notice}{_line(facts, _SCOPE)}",
        _line(facts, _SOURCES),
        _line(facts, _FRESHNESS),
        _line(facts, _STATE),
        _warning(facts),
        _next_step(facts),
    ]
    return [line.strip() for line in lines if line.strip()]


def _flat(answer: Json) -> Json:
    """The fields of an answer and of its parts; the answer's own fields win."""
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


def _line(facts: Json, names: tuple[str, ...]) -> str:
    return "".join(
        f" {name}={_word(facts[name])}" for name in names if name in facts and facts[name] != {}
    )


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        pairs = cast("Json", value).items()
        return ",".join(f"{_word(name)}:{_word(inner)}" for name, inner in pairs)
    return one_line(str(value))[:_WORD_CHARS]


def _warning(facts: Json) -> str:
    code = _object(facts, "scope_warning").get("code")
    no_fetch = facts.get("do_not_fetch_project_wide_pack")
    return (f" scope_warning={_word(code)}" if code else "") + (
        " do_not_fetch_project_wide_pack=true" if no_fetch else ""
    )


def _next_step(facts: Json) -> str:
    """How to narrow, in the answer's own words."""
    steps = _object(facts, "recommended_narrowing").get("next_steps")
    if isinstance(steps, list) and steps:
        return f"next: {_hint(cast('list[object]', steps)[0])}"
    for name in ("recommended_call", "next_action"):
        if facts.get(name):
            return f"next: {_hint(facts[name])}"
    return ""


def _hint(value: object) -> str:
    return one_line(str(value))[:_HINT_CHARS]
