"""The last step of a sweep: bring raw text back under its caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from session_memory.core.retention.explain import explain_pass
from session_memory.core.retention.plan import DAY_MS, EvictionPlan, plan_eviction
from session_memory.ingest.report import PassLine, RetentionLine
from session_memory.settings import Retention

if TYPE_CHECKING:
    from session_memory.store.port import RetentionStore


def make_plan(store: RetentionStore, policy: Retention, now_ms: int) -> EvictionPlan:
    """What would be evicted now. Sessions are only listed when a limit is exceeded."""
    usage = store.raw_usage()
    caps = (policy.raw_soft_cap_bytes, policy.raw_hard_cap_bytes)
    over = any(cap is not None and usage.raw_bytes > cap for cap in caps)
    if not over and policy.raw_max_age_days is not None:
        oldest = store.oldest_analyzed()
        over = oldest is not None and oldest < now_ms - policy.raw_max_age_days * DAY_MS
    return plan_eviction(usage, store.raw_sessions() if over else [], policy, now_ms)


def expected_plan(store: RetentionStore, policy: Retention, now_ms: int) -> EvictionPlan:
    """What would be evicted once the digests that are missing now have been made."""
    sessions = [msgspec.structs.replace(session, analyzed=True) for session in store.raw_sessions()]
    return plan_eviction(store.raw_usage(), sessions, policy, now_ms)


def apply_plan(store: RetentionStore, plan: EvictionPlan, now_ms: int) -> RetentionLine:
    """Carry a plan out and measure what is left."""
    freed = store.evict(list(plan.evictions), now_ms) if plan.evictions else 0
    usage = store.raw_usage() if plan.evictions else plan.usage_before
    return RetentionLine(
        freed=freed,
        final_usage=usage.raw_bytes,
        **plan.counts,
        evicted=[
            PassLine(reason, plan.counts[reason], size, explain_pass(reason, plan.policy))
            for reason, size in plan.sizes.items()
        ],
        data_loss=[eviction.external_id for eviction in plan.data_loss],
        data_loss_bytes=sum(eviction.bytes for eviction in plan.data_loss),
        alerts=list(plan.alerts),
    )
