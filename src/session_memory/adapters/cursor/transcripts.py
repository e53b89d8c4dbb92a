"""Transcripts of Cursor's agent: who said what, and which tools were called with what.

    projects/<slug>/agent-transcripts/<id>/<id>.jsonl, <id>.jsonl or, older, <id>.txt
    projects/<slug>/agent-transcripts/<id>/subagents/<id>.jsonl

They hold no results, ids, models or tokens; newer ones a time with each prompt. So they stand in
for a session that Cursor's databases do not hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import (
    Json,
    Normalized,
    RawEvent,
    SourceFile,
    as_object,
    as_text,
    walk_files,
)
from session_memory.adapters.cursor.text import CursorEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.packed import unpacked_name
from session_memory.adapters.whole_log import Line, Record, Records
from session_memory.core.schema import ToolClass
from session_memory.plain_files import read_plain

FOLDER = "agent-transcripts"
SLUG = "folder"
"""The name under which a block carries the folder that the slug stands for."""
_SEPARATORS = re.compile(r"[^A-Za-z0-9]")
_LISTED_MAX = 20_000
_PATHS_MAX = 2000


def discover(root: str) -> Iterator[SourceFile]:
    """Every transcript; of one in both forms, that in lines."""
    projects = os.path.join(root, "projects")
    try:
        folders = sorted(entry.path for entry in os.scandir(projects))
    except OSError:
        return
    for folder in folders:
        place = os.path.join(folder, FOLDER)
        if not os.path.isdir(place):
            continue
        logs = {_stem(file.path): file for file in walk_files(place, ".jsonl")}
        yield from logs.values()
        for file in walk_files(place, ".txt"):
            if _stem(file.path) not in logs:
                yield file


def is_message(record: Record) -> bool:
    """Whether an object is a line of a transcript, and not a piece of one."""
    return as_text(record.get("role")) != "" and "message" in record


def is_line(record: Record) -> bool:
    """Whether a whole line says what it is."""
    return is_message(record) or as_text(record.get("type")) != ""


def emit(source: SourceFile, records: Records, bundle: Normalized, sides: dict[str, bytes]) -> None:
    """Read a whole transcript."""
    name, parent = _names(source.path)
    part = PartBuilder(name, parent)
    part.begin()
    part.note("stand_in", "excerpt", 0)
    if source.path.endswith(".txt"):
        part.note("entrypoint", "plain text transcript", 0)
    emitter = TranscriptEmitter(part, bundle)
    for _, record in records:
        emitter.emit(record)
    folder = _mentioned_folder(source.path, emitter.paths) or sides.get(SLUG, b"").decode()
    if folder:
        part.note("cwd", folder, 0)
    emitter.finish(source.mtime_ns // 1_000_000 or None)


def _names(path: str) -> tuple[str, str | None]:
    """(session, its parent), from the path alone."""
    parts = path.replace("\\", "/").split("/")
    stem = _stem(parts[-1])
    if len(parts) > 2 and parts[-2] == "subagents":
        return stem, parts[-3]
    return (parts[-2] if stem == "transcript" and len(parts) > 1 else stem), None


def _stem(path: str) -> str:
    return os.path.splitext(unpacked_name(path))[0]


class TranscriptEmitter(CursorEmitter):
    """Turns the lines of one transcript into events."""

    paths: tuple[str, ...] = ()
    """Absolute paths that tools were given."""

    def emit(self, record: Record) -> None:
        """Take in one line."""
        role, kind = as_text(record.get("role")), as_text(record.get("type"))
        content = as_object(record.get("message")).get("content")
        if role in ("user", "assistant"):
            self.emit_blocks(role, content)
        elif kind == "turn_ended":
            self._end_turn(record)
        else:
            self.unknown(f"line/{role or kind}", record)

    def call(
        self, name: str, given: Json, call_id: str, tool_class: ToolClass | None = None
    ) -> RawEvent:
        """A tool call; paths in its input may identify the project."""
        if len(self.paths) < _PATHS_MAX:
            named = map(as_text, as_object(given).values())
            self.paths += tuple(v for v in named if os.path.isabs(v) and "\n" not in v)
        return super().call(name, given, call_id, tool_class)

    def _end_turn(self, record: Record) -> None:
        status, error = as_text(record.get("status")), record.get("error")
        if status == "error":
            text = error if isinstance(error, str) else compact_json(error)
            self.fail(text if error else "", "turn_failed")
        elif status == "aborted":
            self.interrupt("the turn was aborted")
        else:
            self.ignore("turn_ended")


# --- the folder ---


def slug_of(path: str) -> str:
    """The name of a folder's transcripts: its path without marks."""
    return _SEPARATORS.sub("-", path).strip("-")


def _slug(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    return parts[parts.index(FOLDER) - 1] if FOLDER in parts[1:] else ""


def _mentioned_folder(path: str, mentioned: tuple[str, ...]) -> str:
    """The one folder above paths that tools were given whose name is the slug."""
    slug, folders = slug_of(_slug(path)), set[str]()
    for file in mentioned if slug else ():
        folder = file.rstrip("/\\")
        while len(folder) > 1 and folder != os.path.dirname(folder):
            if slug_of(folder) == slug:
                folders.add(folder)
            folder = os.path.dirname(folder)
    return folders.pop() if len(folders) == 1 else ""


def existing_folder(path: str) -> dict[str, bytes]:
    """The one folder on this disk whose name is the slug of a transcript."""
    slug = slug_of(_slug(path))
    if not slug or os.name != "posix":
        return {}
    folders: list[str] = []
    left = _LISTED_MAX
    stack = [("/", slug)]
    while stack and len(folders) < 2 and left > 0:
        folder, rest = stack.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            name = slug_of(entry.name)
            if name and (rest == name or rest.startswith(f"{name}-")) and entry.is_dir():
                if rest == name:
                    folders.append(entry.path)
                else:
                    stack.append((entry.path, rest[len(name) :].lstrip("-")))
    return {SLUG: os.fsencode(folders[0])} if len(folders) == 1 and left > 0 else {}


# --- the older form ---

_PART = re.compile(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")


def text_lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """A transcript of plain text as the lines of a newer one."""
    role, kind, name = "", "text", ""
    body: list[str] = []
    for line in [*read_plain(file.path, cap).decode("utf-8", "replace").splitlines(), "user:"]:
        part = _PART.fullmatch(line)
        if part is None and line not in ("user:", "assistant:"):
            body.append(line[2:] if kind != "text" else line)
            continue
        if role and (text := "\n".join(body).strip("\n")) + name:
            yield _text_record(role, kind, name, text)
        body, name = [], ""
        if part is None:
            role, kind = line.removesuffix(":"), "text"
        else:
            kind, name = part[1], part[2]


def _text_record(role: str, kind: str, name: str, text: str) -> bytes:
    block: Record = {"type": "text", "text": text}
    if kind == "Thinking":
        block = {"type": "thinking", "thinking": text or name}
    elif kind == "Tool call":
        block = {"type": "tool_use", "name": name, "input": _given(text)}
    elif kind == "Tool result":
        block = {"type": "tool_result", "content": text or name}
    return compact_json({"role": role, "message": {"content": [block]}}).encode()


def _given(text: str) -> Json:
    """Arguments, as lines of `key=value` or as JSON in a text."""
    pairs = [line.partition("=") for line in text.splitlines()]
    if text.lstrip()[:1] == "{" or not all(mark and key.strip() for key, mark, _ in pairs):
        return text
    return {key.strip(): value for key, _, value in pairs}
