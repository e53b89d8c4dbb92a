"""pi's session files on disk, and those of OpenClaw, which writes the same format."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import Block, SourceFile, walk_files
from session_memory.adapters.packed import is_packed, unpacked_name
from session_memory.adapters.whole_log import whole_block

_LOG = re.compile(r"\.jsonl(?:\.(?:reset|deleted)\.[\w.:-]+|\.gz|\.zst)?$")
"""A log, or one that OpenClaw put aside."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_SKIP = (".trajectory.jsonl",)
"""OpenClaw's traces: the same conversation once more, in another format."""


def discover(root: str) -> Iterator[SourceFile]:
    """Every session log of a home of pi or OpenClaw, or of any other folder the user points at."""
    inner = (("sessions",), ("agent", "sessions"), ("agents",))
    places = [os.path.join(root, *names) for names in inner]
    for place in [path for path in places if os.path.isdir(path)] or [root]:
        for file in walk_files(place, ""):
            name = os.path.basename(file.path)
            # A folder that cannot be listed comes without a size: the sweep reports it.
            closed = file.size < 0 and not os.path.islink(file.path)
            plain = unpacked_name(file.path)
            twice = is_packed(name) and os.path.exists(plain)
            if closed or (_LOG.search(name) and not plain.endswith(_SKIP) and not twice):
                yield file


def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
    """The whole file as one block: which branch lives is known only at its end."""
    yield whole_block(file.path, line_cap)


def session_of(path: str) -> str:
    """The session in a file's name: pi puts a time before it, OpenClaw nothing."""
    name = _LOG.sub("", path.replace("\\", "/").rpartition("/")[2])
    ids = _ID.findall(name)
    return ids[-1] if ids else name
