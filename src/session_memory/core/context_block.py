"""A pack inside somebody else's file: between its own two lines, and nothing outside them changes.

The lines by which our text is known again (`own_text`) are the markers too, so that a synced pack
can never become evidence.
"""

from __future__ import annotations

import re

from session_memory.core.own_text import PACK_BEGIN, PACK_END
from session_memory.errors import Refused

_BLOCK = re.compile(
    rb"^%s>[^\n]*\n.*?^%s[ \t]*(?=\r?$)"
    % (re.escape(PACK_BEGIN.encode()), re.escape(PACK_END.encode())),
    re.MULTILINE | re.DOTALL,
)


def with_pack(data: bytes, pack: str) -> bytes:
    """The file with this pack in place of the one it has, or behind everything else."""
    end = b"\r\n" if b"\r\n" in data else b"\n"
    block = end.join(line.encode() for line in pack.splitlines())
    begins, ends = data.count(PACK_BEGIN.encode()), data.count(PACK_END.encode())
    if not begins and not ends:
        gap = b"" if not data else end if data.endswith(b"\n") else end * 2
        return data + gap + block + end
    found = _BLOCK.search(data)
    if found is None or begins != 1 or ends != 1:
        raise Refused(
            "the lines around the pack in this file do not pair up",
            hint=f"leave one `{PACK_BEGIN}>` and one `{PACK_END}` line, or none of both",
        )
    return data[: found.start()] + block + data[found.end() :]
