"""Gemini CLI's chat files on disk: finds them and reads one with its side files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import Block, SourceFile, walk_files
from session_memory.adapters.whole_log import whole_block
from session_memory.plain_files import UnfitFile, read_plain

PROJECTS = "projects.json"
PROJECT_ROOT = ".project_root"
OLDER = "older/"
"""Prefix in `Block.side_files` of earlier files of the same session."""
OUTPUT = "output/"
"""Prefix in `Block.side_files` of whole outputs that a record holds only the ends of."""
SIDE_CAP = 16 * 1024 * 1024
"""Most bytes of one side file, and of all outputs of a session together."""

_OTHERS = frozenset({"antigravity", "antigravity-cli", "antigravity-ide"})
"""Homes of another agent in this one's."""
_OUTPUT_NAME = re.compile(rb"tool-outputs[/\\]+session-([\w-]{1,100})[/\\]+([\w.-]{1,200}\.txt)")


def discover(root: str) -> Iterator[SourceFile]:
    """Every chat file of a Gemini home, of the folder above it, or of any folder the user names."""
    home = home_of(root)
    chats = os.path.join(home, "tmp")
    yield from chat_files(chats if os.path.isdir(chats) else home)


def home_of(root: str) -> str:
    """The folder of settings and chats: the client's variable names the one above it."""
    inner = os.path.join(root, ".gemini")
    return inner if os.path.isdir(inner) else root


def chat_files(root: str) -> Iterator[SourceFile]:
    """Chats below a folder: other files (logs.json, checkpoints) hold no session."""
    for suffix in (".jsonl", ".json"):
        for file in walk_files(root, suffix, skip_dirs=_OTHERS):
            unread = file.size < 0 and suffix == ".jsonl"  # once, not per suffix
            if unread or is_chat(file.path):
                yield file


def is_chat(path: str) -> bool:
    """True for a session's file by its place and name; a sub-agent's is named by its id alone."""
    parts = path_parts(path)
    return "chats" in parts[:-1] or parts[-1].startswith("session-")


def path_parts(path: str) -> list[str]:
    """The names in a path of any system."""
    return path.replace("\\", "/").split("/")


def project_of(path: str) -> str:
    """The folder of the project a chat file belongs to."""
    parts = path_parts(path)
    if "chats" not in parts[:-1]:
        return os.path.dirname(path)
    levels = parts[::-1].index("chats") + 1
    for _ in range(levels):
        path = os.path.dirname(path)
    return path


def folder_of(path: str) -> str | None:
    """The session whose sub-agents' folder a chat file lies in, if it is one."""
    parts = path_parts(path)
    return parts[-2] if len(parts) > 2 and parts[-3] == "chats" else None


def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
    """The whole file as one block: later lines change earlier ones, and a document has no lines."""
    whole = _whole(file.path, line_cap)
    project = project_of(file.path)
    contents = {
        PROJECTS: plain_bytes(os.path.join(os.path.dirname(os.path.dirname(project)), PROJECTS)),
        PROJECT_ROOT: plain_bytes(os.path.join(project, PROJECT_ROOT)),
        **_older(file.path, line_cap),
        **_outputs(project, whole),
    }
    whole.side_files = {name: data for name, data in contents.items() if data is not None}
    yield whole


def _whole(path: str, line_cap: int) -> Block:
    if path.endswith(".json"):
        data = plain_bytes(path, line_cap, follow=True)
        if data is None:
            return Block([], 0, 0, long_lines=[0])
        return Block([(0, data)] if data.strip() else [], 0, len(data))
    return whole_block(path, line_cap)


def _older(path: str, line_cap: int) -> dict[str, bytes | None]:
    """Files that a resumed session left behind; their names begin with the minute they began."""
    folder, name = os.path.split(path)
    stem = name.rpartition(".")[0]
    if not name.startswith("session-"):
        return {}
    last = "-" + stem.rpartition("-")[2]
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return {}
    older = [
        other
        for other in names
        if other.startswith("session-")
        and other.endswith((f"{last}.json", f"{last}.jsonl"))
        and (other.rpartition(".")[0], other) < (stem, name)
    ]
    return {OLDER + other: plain_bytes(os.path.join(folder, other), line_cap) for other in older}


def _outputs(project: str, whole: Block) -> dict[str, bytes | None]:
    """Outputs too large for their record, by the names that records give them."""
    named = dict.fromkeys(
        match.groups() for _, line in whole.lines for match in _OUTPUT_NAME.finditer(line)
    )
    outputs: dict[str, bytes | None] = {}
    room = SIDE_CAP
    for session, name in named:
        folder = os.path.join(project, "tool-outputs", f"session-{session.decode()}")
        data = plain_bytes(os.path.join(folder, name.decode()), room)
        outputs[OUTPUT + name.decode()] = data
        room -= len(data or b"")
    return outputs


def plain_bytes(path: str, cap: int = SIDE_CAP, *, follow: bool = False) -> bytes | None:
    """A plain file's bytes, if it is there and fits; a link in its place could lead anywhere."""
    try:
        return read_plain(path, cap, follow=follow)
    except UnfitFile:
        return None
    except OSError:
        if follow:
            raise  # the source itself: the sweep reports it
        return None
