"""Why a session gives up its raw text, in a sentence for a person."""

from __future__ import annotations

from typing import assert_never

from session_memory.core.retention.plan import Eviction, Reason
from session_memory.core.text.human_bytes import human_bytes
from session_memory.settings import Retention


def explain(eviction: Eviction, policy: Retention) -> str:
    """One sentence for a person: which session, how much, and why this one."""
    name = f"session {eviction.session_id} ({eviction.external_id})"
    head = f"{name} gives up {human_bytes(eviction.bytes)} of raw text: "
    why = explain_pass(eviction.reason, policy)
    if eviction.data_loss:
        return f"{head}{why}, and no session with a digest is left; it has NO digest (data_loss)"
    return f"{head}{why}" + ("" if eviction.reason == "age" else "; it is the oldest one left")


def explain_pass(reason: Reason, policy: Retention) -> str:
    """Why a pass takes anything at all, with the limit that asks for it."""
    match reason:
        case "age":
            return f"captured more than {policy.raw_max_age_days} days ago (raw_max_age_days)"
        case "soft":
            return (
                f"above the soft cap, {human_bytes(policy.raw_soft_cap_bytes)} (raw_soft_cap_bytes)"
            )
        case "hard":
            return (
                f"above the hard cap, {human_bytes(policy.raw_hard_cap_bytes)} (raw_hard_cap_bytes)"
            )
        case _:
            assert_never(reason)
