"""Which type of observation comes first where all else is equal: what is open, then the rest."""

from __future__ import annotations

from session_memory.core.schema import ObservationType

_ORDER: tuple[tuple[ObservationType, ...], ...] = (
    ("pending_item",),
    ("blocker",),
    ("project_dod", "mission_dod", "session_dod"),
    ("objective", "constraint", "user_request"),
    ("decision",),
    ("completed_item",),
    ("completion_claim",),
    ("session_summary",),
)
PRECEDENCE: dict[str, int] = {kind: rank for rank, kinds in enumerate(_ORDER) for kind in kinds}
