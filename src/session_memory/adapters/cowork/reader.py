"""Claude Cowork's sessions: transcripts as Claude Code writes them, and a record of each session.

    <org>/<account>/local_<id>.json                                   title and folders
    <org>/<account>/local_<id>/.claude/projects/<slug>/<session>.jsonl  the transcript
    <org>/<account>/local_<id>/audit.jsonl                            the same conversation again

The audit file is read only where there is no transcript. A session that also has a transcript in
Claude Code's own home is left to the reader of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.adapters.claude.reader import parse as parse_transcript
from session_memory.adapters.common import (
    Block,
    Fact,
    Json,
    Normalized,
    SessionPart,
    SourceFile,
    as_list,
    as_text,
    decode_record,
    read_lines,
    walk_files,
)
from session_memory.adapters.cowork import AGENT
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.packed import unpacked_name
from session_memory.adapters.whole_log import Record, side_file, side_object, with_sides

AUDIT = "audit.jsonl"
_PRIVATE = f"{os.sep}.claude{os.sep}projects{os.sep}"
_SKIP_DIRS = frozenset({"uploads", "outputs", "skills-plugin", "memory", "tool-results"})
_SKIP_FILES = frozenset({"history.jsonl", "journal.jsonl"})
_RECORD = "record"
"""The name under which a block carries the session's record."""
_SKILL = "Base directory for this skill:"


def discover(root: str) -> Iterator[SourceFile]:
    """Every transcript, and the audit files of sessions without one."""
    audits: list[SourceFile] = []
    transcribed: set[str] = set()
    elsewhere: frozenset[str] | None = None
    for file in walk_files(root, ".jsonl", skip_dirs=_SKIP_DIRS, skip_files=_SKIP_FILES):
        folder, private, inside = file.path.rpartition(_PRIVATE)
        if private:
            elsewhere = _claude_sessions(root) if elsewhere is None else elsewhere
            transcribed.add(folder)
            session = unpacked_name(inside.split(os.sep)[1]).removesuffix(".jsonl")
            if session not in elsewhere:
                yield with_sides(file, [f"{folder}.json"])
        elif os.path.basename(file.path) == AUDIT:
            audits.append(file)
        elif file.size < 0:
            yield file
    for file in audits:
        folder = os.path.dirname(file.path)
        record = f"{folder}.json"
        if folder not in transcribed:
            elsewhere = _claude_sessions(root) if elsewhere is None else elsewhere
            if as_text(side_object(record).get("cliSessionId")) not in elsewhere:
                yield with_sides(file, [record])


def _claude_sessions(root: str) -> frozenset[str]:
    """Names of the sessions that Claude Code's own home holds.

    On every system the data of the app is below the folder that `.claude` is in.
    """
    folder = os.path.abspath(root)
    while folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        projects = os.path.join(folder, ".claude", "projects")
        if os.path.isdir(projects):
            logs = walk_files(projects, ".jsonl", skip_dirs=_SKIP_DIRS | {"subagents"})
            names = (unpacked_name(os.path.basename(log.path)) for log in logs)
            return frozenset(name.removesuffix(".jsonl") for name in names)
    return frozenset()


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """The lines of a log, each block with the session's record."""
    record = side_file(f"{_session_folder(file.path)}.json")
    for block in read_lines(file.path, offset, line_cap=line_cap):
        block.side_files = {_RECORD: record} if record else {}
        yield block


def _session_folder(path: str) -> str:
    return path.rpartition(_PRIVATE)[0] or os.path.dirname(path)


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block as Claude Code's, then add what the record says."""
    is_audit = os.path.basename(source.path) == AUDIT
    session_record = decode_record(block.side_files.get(_RECORD, b"")) or {}
    skipped: list[str] = []
    if is_audit:
        block, skipped = _as_transcript(block)
    bundle = parse_transcript(source, block, state)
    bundle.records += len(skipped)
    bundle.ignored.update(skipped)
    for part in bundle.sessions:
        _complete(part, session_record, is_audit=is_audit)
    return bundle


# --- the session's record ---


def _complete(part: SessionPart, record: Record, *, is_audit: bool) -> None:
    is_main = part.parent_external_id is None
    folders: list[str] = list(map(as_text, as_list(record.get("userSelectedFolders"))))
    folder = next(filter(None, folders), "")
    part.facts = [fact for fact in part.facts if not _is_worse(fact, folder, is_main=is_main)]
    if folder:
        part.facts.append(Fact("cwd", folder, 0))
    if is_main:
        part.facts.append(Fact("source_kind", "interactive", 0))
        if title := as_text(record.get("title")):
            part.facts.append(Fact("title.custom", title, 0))
    if is_audit:
        part.facts.append(Fact("stand_in", "history", 0))
    # The audit file does not name requests: only by the response alone are its copies the same.
    part.usages = [msgspec.structs.replace(u, key=_response(u.key)) for u in part.usages]
    for event in part.events:
        if event.usage_key:
            event.usage_key = _response(event.usage_key)
        if event.kind == "user_prompt" and event.text.startswith(_SKILL):
            event.kind, event.origin, event.label = "injected", "harness", "skill"


def _is_worse(fact: Fact, folder: str, *, is_main: bool) -> bool:
    """Whether the record knows better, or what is said is of no use outside the app."""
    if fact.name == "cwd":
        place = str(fact.value).replace("\\", "/")
        return bool(folder) or place.startswith("/sessions/") or "/local-agent-mode-" in place
    return fact.name == "source_kind" and is_main


def _response(key: str) -> str:
    return key.partition(":")[0]


# --- the audit file ---

_SILENT = frozenset({"system", "result", "rate_limit_event"})
_RENAMED = {"session_id": "sessionId", "_audit_timestamp": "timestamp"}
_SEALS = ("_audit_hmac", "_audit_prev_hmac")


def _as_transcript(block: Block) -> tuple[Block, list[str]]:
    """The block with its records as a transcript has them, and the kinds that were left out."""
    skipped: list[str] = []
    lines: list[tuple[int, bytes]] = []
    for offset, line in block.lines:
        record = decode_record(line)
        kind = as_text((record or {}).get("type"))
        if record is None:
            lines.append((offset, line))
        elif kind in _SILENT:
            skipped.append(f"audit/{kind}")
        else:
            lines.append((offset, _audit_record(record)))
    tail = block.tail
    if tail and (record := decode_record(tail[1])) is not None:
        tail = (tail[0], _audit_record(record))
    return msgspec.structs.replace(block, lines=lines, tail=tail), skipped


def _audit_record(record: Record) -> bytes:
    line: Record = {
        _RENAMED.get(name, name): value for name, value in record.items() if name not in _SEALS
    }
    if starter := as_text(record.get("parent_tool_use_id")):
        line |= {"isSidechain": True, "agentId": starter}
    if record.get("isSynthetic") is True:
        line["isMeta"] = True
    return compact_json(line).encode()


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read),
    incremental=False,
    writes_again=True,
)
