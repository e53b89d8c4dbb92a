"""Copilot Chat's sessions: finds them and reads them.

    workspaceStorage/<hash>/workspace.json                the folder that was open
    workspaceStorage/<hash>/chatSessions/<id>.jsonl       a log of changes, since VS Code 1.109
    workspaceStorage/<hash>/chatSessions/<id>.json        the document itself, before

After an upgrade both files of a chat stay; then the log counts. Of the further copies of a chat
(the extension's transcripts and traces) none is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters.common import (
    Block,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    walk_files,
)
from session_memory.adapters.copilot_chat import AGENT
from session_memory.adapters.copilot_chat.replay import is_change, replay
from session_memory.adapters.copilot_chat.requests import ChatEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.vscode_places import uri_of, workspace_path
from session_memory.adapters.whole_log import (
    Line,
    Record,
    Records,
    array_lines,
    document_lines,
    line_log_adapter,
    made_lines_adapter,
    side_file,
    with_sides,
)

CHATS = "chatSessions"
WORKSPACE = "workspace.json"
_NO_FOLDER = ("emptyWindowChatSessions", "transferredChatSessions")


def discover(root: str) -> Iterator[SourceFile]:
    """Every chat of an editor, or of a folder with exported chats."""
    for folder in _chat_folders(root):
        workspace = os.path.join(os.path.dirname(folder), WORKSPACE)
        logs = {file.path: file for file in walk_files(folder, ".jsonl")}
        yield from (with_sides(file, [workspace]) for file in logs.values())
        for file in walk_files(folder, ".json"):
            if f"{file.path}l" not in logs and file.path not in logs:
                yield with_sides(file, [workspace])


def _chat_folders(root: str) -> list[str]:
    """Folders that hold chats; nothing else of an editor's storage is looked at."""
    name = os.path.basename(os.path.normpath(root))
    if name in (CHATS, *_NO_FOLDER):
        return [root]
    storage = os.path.join(root, "workspaceStorage")
    storage = storage if os.path.isdir(storage) else root
    places = [os.path.join(root, "globalStorage", inside) for inside in _NO_FOLDER]
    places += [os.path.join(root, CHATS)]
    try:
        places += [os.path.join(entry.path, CHATS) for entry in os.scandir(storage)]
    except OSError:
        return []
    folders = sorted(place for place in places if os.path.isdir(place))
    return folders or ([] if name == "workspaceStorage" else [root])


def changes(_file: SourceFile, data: bytes) -> Iterator[Line]:
    """A document as a log of changes: its own fields, then each request."""
    document = decode_record(data)
    if document is None:  # damaged: whole requests in it are still requests
        for line in array_lines(data, "request", is_request):
            request = decode_record(line)
            yield _appended(as_object(request.get("request"))) if request else line
        return
    fields = {name: value for name, value in document.items() if name != "requests"}
    yield compact_json({"kind": 0, "v": fields}).encode()
    for request in as_list(document.get("requests")):
        yield _appended(as_object(request))


def _appended(request: Record) -> bytes:
    return compact_json({"kind": 2, "k": ["requests"], "v": [request]}).encode()


def is_request(record: Record) -> bool:
    """Whether an object is a request of a chat."""
    return "requestId" in record and "message" in record


def emit(source: SourceFile, records: Records, bundle: Normalized, sides: dict[str, bytes]) -> None:
    """Read a whole chat."""
    if not records:
        return
    document = replay(records, bundle)
    requests = as_list(document.get("requests"))
    part = PartBuilder(as_text(document.get("sessionId")) or _exported_id(source.path, requests))
    workspace = decode_record(sides.get(WORKSPACE, b"")) or {}
    folder = workspace_path(workspace) or uri_of(document.get("workingDirectory"))
    part.begin(cwd=folder or "", opened=parse_time(document.get("creationDate")))
    if title := as_text(document.get("customTitle")):
        part.note("title.custom", title, 0)
    emitter = ChatEmitter(part, bundle)
    emitter.emit(requests)
    emitter.finish()


def _exported_id(path: str, requests: list[object]) -> str:
    """An exported chat names its session in the results only."""
    for request in map(as_object, requests):
        metadata = as_object(as_object(request.get("result")).get("metadata"))
        if name := as_text(metadata.get("sessionId")):
            return name
    return os.path.splitext(os.path.basename(path))[0]


def side_files(path: str) -> dict[str, bytes]:
    """The file that names the folder of a chat."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) != CHATS:
        return {}
    content = side_file(os.path.join(os.path.dirname(folder), WORKSPACE))
    return {WORKSPACE: content} if content else {}


_LOGS = line_log_adapter(
    AGENT, discover=discover, is_record=is_change, emit=emit, side_files=side_files
)
_DOCUMENTS = made_lines_adapter(
    AGENT,
    discover=discover,
    lines=document_lines(changes),
    emit=lambda source, records, bundle: emit(source, records, bundle, {}),
)


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """A chat in either form."""
    if not file.path.endswith(".json"):
        yield from _LOGS.read(file, offset, line_cap)
        return
    for block in _DOCUMENTS.read(file, offset, line_cap):
        block.side_files = side_files(file.path)
        yield block


def open_lines(file: SourceFile) -> BinaryIO:
    """The bytes that offsets count in."""
    return (_DOCUMENTS if file.path.endswith(".json") else _LOGS).open(file)


ADAPTER = msgspec.structs.replace(_LOGS, read=read, open=open_lines)
