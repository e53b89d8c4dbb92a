"""Where a Gemini CLI session ran: its chat holds only a hash of the place, so places are tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256

from session_memory.adapters.common import as_list, as_object, as_text, decode_record
from session_memory.adapters.gemini.files import PROJECT_ROOT, PROJECTS
from session_memory.adapters.gemini.fold import Fold
from session_memory.adapters.gemini.text import text_of

_WORKSPACE = re.compile(
    r"(?:Workspace Directories:\*\*\n|working in the (?:following directories:|directory:))"
    r"\s+(?:- )?(/[^\n]{1,1000}|[A-Za-z]:\\[^\n]{1,1000})"
)
_LEVELS = 32
_TRIES = 2000


def project_root(side_files: dict[str, bytes], folder: str, fold: Fold) -> str:
    """The root whose hash the chat names; else what the client says of the project's folder."""
    stated = as_text(fold.meta.get("projectHash"))
    hashes = {stated, folder} - {""}
    projects = as_object((decode_record(side_files.get(PROJECTS, b"")) or {}).get("projects"))
    named = [path for path, name in projects.items() if name == folder]
    said = [*_file(side_files), *named, *_directories(fold)]
    for tried, path in enumerate(_candidates([*said, *projects], fold)):
        if sha256(path.encode("utf-8", "replace")).hexdigest() in hashes:
            return path
        if tried > _TRIES:
            break
    return next(iter(said), "")


def _file(side_files: dict[str, bytes]) -> list[str]:
    path = side_files.get(PROJECT_ROOT, b"").decode("utf-8", "replace").strip()
    return [path] if path else []


def _directories(fold: Fold) -> Iterator[str]:
    """What the chat itself says: in its header, or in the context given to the model."""
    for path in as_list(fold.meta.get("directories")):
        if isinstance(path, str) and path:
            yield path
    for message in fold.messages.values():
        if message.kind == "user":
            if match := _WORKSPACE.search(text_of(message.content)[:4096]):
                yield match.group(1).strip()
            return


def _candidates(said: Iterable[str], fold: Fold) -> Iterator[str]:
    """Folders the chat names, and every folder above a file that a tool was called with."""
    seen: set[str] = set()
    for path in said:
        if path not in seen:
            seen.add(path)
            yield path
    for message in fold.messages.values():
        for row in message.calls.values():
            for value in as_object(row.get("args")).values():
                for above in _above(value) if isinstance(value, str) else ():
                    if above not in seen:
                        seen.add(above)
                        yield above


def _above(path: str) -> Iterator[str]:
    if not re.match(r"/|[A-Za-z]:[\\/]", path) or "\n" in path or len(path) > 4096:
        return
    for _ in range(_LEVELS):
        yield path
        cut = max(path.rfind("/"), path.rfind("\\"))
        if cut <= 0:
            return
        path = path[:cut]
