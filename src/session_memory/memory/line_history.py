"""The lines of a MEMORY.md over time: what each consolidation added, changed and retired, and why.

A consolidation without a model reads what the last one wrote (`.lines.json` next to MEMORY.md) and
changes it. A line that is no longer shown is retired with the reason; `project memory why` and
`project memory show --all` say it. The file is made of sessions: forgetting one removes it, as it
does MEMORY.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.forget import FORGOTTEN
from session_memory.memory.known_session import KnownSession
from session_memory.memory.layout import LINES
from session_memory.memory.statements import Statement

MAX_RETIRED = 100
MAX_LEFT_OUT = 200
_MAX_BYTES = 1024 * 1024
_WITHOUT_REASON = {
    "wish": "the user has said otherwise since",
    "open": "a later session went on",
}
_NO_LONGER = "the sessions no longer show it"


class Line(msgspec.Struct, frozen=True):
    """One line, as it last stood in MEMORY.md."""

    key: str
    text: str
    threads: tuple[str, ...]
    events: tuple[int, ...] = ()
    since: str = ""
    """The day it was added."""
    retired: str = ""
    """The day it was removed; "" while it is in MEMORY.md."""
    reason: str = ""
    """Why it is not in MEMORY.md."""


class LineHistory(msgspec.Struct, frozen=True):
    """The lines of a MEMORY.md: present ones, removed ones, and those never included."""

    lines: tuple[Line, ...] = ()
    retired: tuple[Line, ...] = ()
    """Newest first."""
    left_out: tuple[Line, ...] = ()
    threads: tuple[str, ...] = ()
    """Every session it was made of."""
    digests: str = ""
    """Identifies the digests it was made of."""


class Changes(msgspec.Struct, frozen=True):
    """What one consolidation did to the lines."""

    created: int = 0
    updated: int = 0
    retired: int = 0


def digests_of(sessions: Iterable[KnownSession]) -> str:
    """Identifies what a memory was made of besides its traces."""
    made_of = hashlib.sha256()
    for session in sessions:
        digest = session.digest
        made_of.update(f"{session.id} {digest.version} {digest.source_fingerprint}\n".encode())
    return made_of.hexdigest()[:16]


def next_history(
    before: LineHistory,
    statements: Sequence[Statement],
    left_out: Sequence[Statement],
    sessions: Sequence[KnownSession],
    today: str,
) -> tuple[LineHistory, Changes]:
    """The history after a consolidation, and what it changed."""
    old = {line.key: line for line in before.lines}
    lines: dict[str, Line] = {}
    for statement in statements:
        key = statement.key or statement.text
        since = old[key].since if key in old else today
        lines[key] = Line(key, statement.text, statement.threads, statement.events, since)
    reasons = {statement.key: statement.note for statement in left_out}
    newly_retired = [
        msgspec.structs.replace(line, retired=today, reason=_reason(line.key, reasons))
        for line in before.lines
        if line.key not in lines
    ]
    retired_before = [line for line in before.retired if line.key not in lines]
    retired = [line for line in (*newly_retired, *retired_before) if FORGOTTEN not in line.text]
    retired_keys = {line.key for line in retired}
    omitted = [
        Line(excluded.key, excluded.text, excluded.threads, excluded.events, reason=excluded.note)
        for excluded in left_out
        if excluded.key not in retired_keys
    ]
    history = LineHistory(
        tuple(lines.values()),
        tuple(retired[:MAX_RETIRED]),
        tuple(omitted[:MAX_LEFT_OUT]),
        tuple(session.thread for session in sessions),
        digests_of(sessions),
    )
    updated = sum(key in old and old[key].text != line.text for key, line in lines.items())
    return history, Changes(len(lines.keys() - old.keys()), updated, len(newly_retired))


def _reason(key: str, reasons: dict[str, str]) -> str:
    return reasons.get(key) or _WITHOUT_REASON.get(key.partition(" ")[0], _NO_LONGER)


def read_history(folder: Path) -> LineHistory:
    """The history next to a MEMORY.md; an empty one if it is missing or damaged."""
    path = folder / LINES
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
        return LineHistory()
    try:
        return msgspec.json.decode(path.read_bytes(), type=LineHistory)
    except (msgspec.DecodeError, msgspec.ValidationError, OSError):
        return LineHistory()


def write_history(folder: Path, history: LineHistory, redact: Callable[[str], str]) -> None:
    """Write the history; its texts are redacted as those of MEMORY.md are."""

    def redacted(lines: Iterable[Line]) -> tuple[Line, ...]:
        return tuple(
            msgspec.structs.replace(
                line, key=redact(line.key), text=redact(line.text), reason=redact(line.reason)
            )
            for line in lines
        )

    clean = msgspec.structs.replace(
        history,
        lines=redacted(history.lines),
        retired=redacted(history.retired),
        left_out=redacted(history.left_out),
    )
    replace_file(folder / LINES, msgspec.json.format(msgspec.json.encode(clean), indent=1))
