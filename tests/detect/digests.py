"""Digests and mined sessions in the fewest words."""

from __future__ import annotations

from typing import Any

from session_memory.core.loop.patterns import Mined, Signal, SignalType, pattern_id
from session_memory.core.schema import CommandRun, Cost, Cure, CureKind, Digest, ErrorSeen
from session_memory.testing.store_drafts import START, distilled


def ran(command: str, seq: int, *, ok: bool = True, **fields: Any) -> CommandRun:
    """A command and how it ended."""
    return CommandRun(
        command, exit=0 if ok else 1, is_error=not ok, at=START + seq, seq=seq, **fields
    )


def failed_with(text: str, template: str, seq: int, count: int = 1) -> ErrorSeen:
    """An error as a digest keeps it."""
    return ErrorSeen(template, count, text, seq, "Bash")


def cured(error: str, failed: str, *steps: str, kind: CureKind = "command") -> Cure:
    """A cure as a digest keeps it: the failure at event 2, its steps from event 3 on."""
    seqs = tuple(range(3, 3 + len(steps)))
    return Cure(error, error, 2, failed, kind, steps, seqs, failed, 9)


def digest(**fields: Any) -> Digest:
    """A digest of ten calls that cost a dollar and took ten minutes."""
    values: dict[str, Any] = {
        "outcome": "uncertain",
        "confidence": "low",
        "events": 100,
        "duration_s": 600.0,
        "turns": 2,
        "tools": {"Bash": 10},
        "last_at": START,
        "cost": Cost(output=10, usd=1.0),
        **fields,
    }
    return distilled(**values)


def signal(signal_type: SignalType, locus: str, count: int = 1, **fields: Any) -> Signal:
    """A signal under its own name."""
    name = pattern_id(signal_type, locus, fields.get("about", ""))
    return Signal(name, signal_type, locus, count, **fields)


def mined(session: int, *signals: Signal, flavor: str = "claude", **fields: Any) -> Mined:
    """What one session shows."""
    values: dict[str, Any] = {"counts_as": session, "repo": "shop", "at": START + session, **fields}
    return Mined(
        session=session, flavor=flavor, external_id=f"s{session}", signals=signals, **values
    )
