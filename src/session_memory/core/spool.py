"""The spool between hooks and worker: what a record says, and which sessions are due for import.

Protocol. A hook writes each record with one write into a file of its own, `<id>.new` in the state
directory's `spool/`, and renames it to `<id>.json`. So a record is there whole or not at all,
wherever its hook was killed, and any number of hooks lose none: they share no file. Ids begin with
the time in nanoseconds, so names sort by age. Nothing is synced, as that would cost the agent 8 ms:
after a power cut the last files may be empty, and the next sweep finds those sessions anyway.

The worker holds `worker.lock`, lists `*.json`, decodes, plans, imports what is due, and unlinks the
records of an import after its transaction. Killed in between it imports again, which changes
nothing, as ingest is idempotent: so every record takes effect exactly once. Records that wait stay
in their files. It sets damaged files aside, removes `*.new` older than an hour (hooks live for a
second), and looks once more after it let go of the lock: a hook that saw the lock held has left its
record to this worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

VERSION = 1
MINUTE_MS = 60_000
TURN_WINDOW_MS = 10 * MINUTE_MS
"""A session at work is imported at most this often (HOK-09)."""
REPEAT_WINDOW_MS = 60 * MINUTE_MS
"""The same event of the same turn again: Codex reports a turn by hook and by notify, Gemini every
request as a compression. It waits longer, and is not lost."""

Kind = Literal[
    "session_start",
    "session_end",
    "turn_end",
    "subagent_start",
    "subagent_end",
    "compaction",
    "prompt",
    "tool",
    "other",
]
KINDS: dict[str, Kind] = {
    "session_start": "session_start",
    "session_created": "session_start",
    "session_end": "session_end",
    "session_deleted": "session_end",
    "stop": "turn_end",
    "stop_failure": "turn_end",
    "stop_cancelled": "turn_end",
    "agent_stop": "turn_end",
    "after_agent": "turn_end",
    "agent_turn_complete": "turn_end",
    "session_idle": "turn_end",
    "subagent_start": "subagent_start",
    "subagent_stop": "subagent_end",
    "pre_compact": "compaction",
    "pre_compress": "compaction",
    "session_compacted": "compaction",
    "user_prompt_submit": "prompt",
    "user_prompt_submitted": "prompt",
    "before_agent": "prompt",
    "pre_tool_use": "tool",
    "post_tool_use": "tool",
    "post_tool_use_failure": "tool",
    "before_tool": "tool",
    "after_tool": "tool",
}
URGENT: tuple[Kind, ...] = ("session_end", "compaction")
"""What is about to change or vanish is imported now: Gemini deletes logs, compaction drops text."""
IMPORTED: tuple[Kind, ...] = (*URGENT, "turn_end", "subagent_end")
"""Only these call for an import; the others announce a session whose log is still to come."""


class SpoolRecord(msgspec.Struct, frozen=True):
    """One event as a hook recorded it; every text field is checked against an allow-list."""

    id: str
    at: int
    flavor: str
    event: str
    session: str | None = None
    agent: str | None = None
    """The sub-agent the event is about or happened in."""
    parent: str | None = None
    turn: str | None = None
    model: str | None = None
    transcript: str | None = None
    agent_transcript: str | None = None
    cwd: str | None = None
    source: str | None = None
    reason: str | None = None
    trigger: str | None = None
    client: str | None = None
    time: str | int | None = None
    """The client's own time, as it wrote it."""
    ppid: int | None = None
    given: tuple[str, ...] | None = None
    """Sections printed into the session at its start; None where nothing was printed."""
    held: tuple[str, ...] | None = None
    """Sections that this session's trial arm did not get."""
    cut: int = 0
    v: int = VERSION

    @property
    def kind(self) -> Kind:
        """What the event means, whatever the client calls it."""
        kind = KINDS.get(self.event, "other")
        # Gemini 0.61 says this before every request, compressing or not: no reason to hurry.
        return "prompt" if self.event == "pre_compress" and self.trigger != "manual" else kind

    @property
    def key(self) -> str:
        """The session to import; a session without an id is known by its file."""
        return f"{self.flavor}:{self.session or self.transcript}"

    @property
    def repeat_key(self) -> str:
        """Equal for records that report the same event again."""
        return "\n".join((self.key, self.kind, self.agent or "", self.turn or ""))

    @property
    def files(self) -> tuple[str, ...]:
        """The transcripts it names, so that none has to be searched for."""
        return tuple(path for path in (self.transcript, self.agent_transcript) if path)


class Unreadable(msgspec.Struct, frozen=True):
    """A file that is no record: damaged ones are set aside, newer ones left for a newer worker."""

    reason: Literal["damaged", "newer"]


class _Version(msgspec.Struct):
    v: int


def decode(data: bytes) -> SpoolRecord | Unreadable:
    """What a spool file says; never raises, as the file may be anything."""
    try:
        if msgspec.json.decode(data, type=_Version).v > VERSION:
            return Unreadable("newer")
        record = msgspec.json.decode(data, type=SpoolRecord)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Unreadable("damaged")
    return record if record.session or record.transcript else Unreadable("damaged")


class ImportRequest(msgspec.Struct, frozen=True):
    """One session to import for any number of records."""

    key: str
    flavor: str
    session: str | None
    files: tuple[str, ...]
    """Transcripts the payloads named, newest first; empty where none did."""
    cwd: str | None
    ended: bool
    record_ids: tuple[str, ...]
    """Files to unlink after the import."""
    repeat_keys: tuple[str, ...]
    """To remember as served at the time of the import, together with `key`."""
    due_at: int


class SpoolPlan(msgspec.Struct, frozen=True):
    """What to do with the records in the spool; each is in one of these."""

    due: tuple[ImportRequest, ...]
    waiting: tuple[ImportRequest, ...]
    """Their records stay in the spool until `due_at`: suppressed for now, not lost."""
    notes: tuple[SpoolRecord, ...]
    """Records that ask for no import (starts, prompts, tools): to be noted and unlinked."""


def plan_imports(records: Iterable[SpoolRecord], served: Mapping[str, int], now: int) -> SpoolPlan:
    """Group records by session and decide which to import now.

    `served` maps keys and repeat keys to the time of their last import. The clock may have been set
    back since: a time in the future does not count, or a session would wait until it comes.
    """
    groups: dict[str, list[SpoolRecord]] = {}
    notes: list[SpoolRecord] = []
    for record in sorted({record.id: record for record in records}.values(), key=lambda r: r.id):
        if record.kind in IMPORTED:
            groups.setdefault(record.key, []).append(record)
        else:
            notes.append(record)
    requests = [_request(group, served, now) for group in groups.values()]
    return SpoolPlan(
        due=tuple(request for request in requests if request.due_at <= now),
        waiting=tuple(request for request in requests if request.due_at > now),
        notes=tuple(notes),
    )


def _request(group: list[SpoolRecord], served: Mapping[str, int], now: int) -> ImportRequest:
    newest = group[-1]
    latest_first = group[::-1]
    return ImportRequest(
        key=newest.key,
        flavor=newest.flavor,
        session=newest.session,
        files=tuple(dict.fromkeys(path for record in latest_first for path in record.files)),
        cwd=next((record.cwd for record in latest_first if record.cwd), None),
        ended=any(record.kind == "session_end" for record in group),
        record_ids=tuple(record.id for record in group),
        repeat_keys=tuple(dict.fromkeys(record.repeat_key for record in group)),
        due_at=min(_due_at(record, served, now) for record in group),
    )


def _due_at(record: SpoolRecord, served: Mapping[str, int], now: int) -> int:
    """When this record alone would have its session imported."""
    noted = min(record.at, now)
    if record.kind in URGENT:
        return noted
    ends = [noted]
    for key, window in ((record.key, TURN_WINDOW_MS), (record.repeat_key, REPEAT_WINDOW_MS)):
        last = served.get(key)
        if last is not None and last <= now:
            ends.append(last + window)
    return max(ends)
