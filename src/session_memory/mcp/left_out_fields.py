"""What an answer leaves out unless the profile is `full`: what repeats its text, or says nothing.

Every field of an answer costs the caller's model tokens at each call. A pack is read for its text,
which states its state and sources already; a found item for what was said, where and when.
"""

from __future__ import annotations

from typing import Any, cast

Json = dict[str, Any]

_PACK_STATS = (
    "budget",
    "scope_mode",
    "session_filter_applied",
    "source_session_count",
    "multiple_sessions_detected",
    "multiple_lanes_detected",
    "memory_freshness",
    "last_captured_turn_at",
    "memory_age_seconds",
    "scope_warning",
    "recommended_narrowing",
    "do_not_fetch_project_wide_pack",
)
_HIT_DETAILS = frozenset(
    {
        "project_id",
        "project_root_path",
        "project_root_match",
        "last_captured_turn_at",
        "session_filter_applied",
        "producer_version",
        "capture_version_status",
        "capture_version_scope",
        "capture_version_inferred",
        "memory_fingerprint",
        "dedupe_applied",
        "importance",
    }
)
_REPEATS = ("duplicate_",)
_LISTED = frozenset(
    {
        "id",
        "project_id",
        "project_root_path",
        "project_root_match",
        "last_turn_at",
        "label_source",
        "label_quality",
        "first_operational_input_preview",
        "internal_prompt_suppressed",
        "sub_scope_candidates",
        "sub_scope_source",
        "producer_version",
        "capture_version_status",
        "capture_version_scope",
        "capture_version_inferred",
    }
)


def without_left_out(tool: str, answer: Json) -> Json:
    """The same answer without fields that its reader does not need."""
    if tool == "mem_context_pack":
        return _pack(answer)
    if tool == "mem_bootstrap_context" and isinstance(answer.get("context_pack"), dict):
        return {**answer, "context_pack": _pack(cast("Json", answer["context_pack"]))}
    if tool in ("mem_search", "mem_recent"):
        return {**answer, "items": [_lean_hit(item) for item in _items(answer)]}
    if tool == "mem_session_list":
        return {**answer, "items": [_without(item, _LISTED) for item in _items(answer)]}
    return answer


def _items(answer: Json) -> list[Json]:
    return cast("list[Json]", answer["items"])


def _pack(pack: Json) -> Json:
    if "stats" not in pack:  # the caller has the pack already
        return pack
    stats = {name: pack["stats"][name] for name in _PACK_STATS if name in pack["stats"]}
    lean = {name: value for name, value in pack.items() if name != "operational_state"}
    return {**lean, "stats": stats}


def _lean_hit(item: Json) -> Json:
    lean = _without(item, _HIT_DETAILS)
    if lean.get("duplicate_count", 1) == 1:
        lean = {name: lean[name] for name in lean if not name.startswith(_REPEATS)}
    if item["summary"].startswith(item["title"].removesuffix("…")):
        del lean["title"]
    if item["id"] == str(item["turn_id"]):
        del lean["id"]
    return lean


def _without(item: Json, names: frozenset[str]) -> Json:
    """An item without these fields and without empty ones."""
    return {
        name: value
        for name, value in item.items()
        if name not in names and value not in (None, [], False)
    }
