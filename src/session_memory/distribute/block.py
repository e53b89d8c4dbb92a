"""The managed block: our few lines in a file that belongs to somebody else.

Pure functions of bytes. Whatever stands outside the two marker lines is never changed; taking the
block out again gives the very bytes that were there before it came in.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import msgspec

from session_memory.core.own_text import BEGIN, END
from session_memory.errors import Refused

VERSION = 1
_BOM = b"\xef\xbb\xbf"
_BEGIN, _END = BEGIN.encode(), END.encode()
_HEAD = re.compile(
    rb"<!-- session-memory:begin v(?P<version>\d+) gap=(?P<gap>[012]) sha256=(?P<hash>[0-9a-f]{16})"
    rb" -->"
)
_FENCE = re.compile(rb" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


class Block(msgspec.Struct, frozen=True):
    """Where the block stands in a file, and what it holds."""

    start: int
    """Of the begin marker's line."""
    stop: int
    """Behind the end marker's line, its line end included."""
    gap: int
    """Line ends before the block that came with it."""
    version: int
    end: bytes
    """How its lines end."""
    content: bytes
    """The lines between the markers."""
    is_edited: bool
    """Whether the content is no longer what was written."""


def find_block(data: bytes) -> Block | None:
    """The block of a file; refuses a file whose markers do not pair up exactly once."""
    heads: list[_Line] = []
    ends: list[_Line] = []
    for line in _lines_outside_fences(data):
        text = line.text.strip()
        if text.startswith(_BEGIN):
            heads.append(line)
        elif text == _END:
            ends.append(line)
    if not heads and not ends:
        return None
    if len(heads) != 1 or len(ends) != 1:
        raise Refused(
            f"{len(heads)} begin markers and {len(ends)} end markers of session-memory",
            hint="leave one of each, or delete all of them, markers included",
        )
    return _between(data, heads[0], ends[0])


def put_block(data: bytes | None, lines: Sequence[str]) -> bytes:
    """The file with exactly these lines in its block; without lines, without the block."""
    whole = data or b""
    if b"\0" in whole:
        raise Refused("this is not a text file", hint="agents read UTF-8")
    for line in lines:
        if "\n" in line or BEGIN in line or END in line or _FENCE.match(line.encode()):
            raise ValueError(f"this line could not be told from what is around it: {line!r}")
    if not lines:
        return take_block(whole)
    known = find_block(whole)
    if known is not None:
        block = _render(lines, known.gap, known.end)
        if not whole[: known.stop].endswith(b"\n"):
            block = block[: -len(known.end)]
        return whole[: known.start] + block + whole[known.stop :]
    at, end = _place(whole), _line_end(whole)
    before = whole[:at]
    gap = 0 if before in (b"", _BOM) else 1 if before.endswith(b"\n") else 2
    return before + end * gap + _render(lines, gap, end) + whole[at:]


def take_block(data: bytes) -> bytes:
    """The file without the block and without the line ends that came with it."""
    known = find_block(data)
    if known is None:
        return data
    before = data[: known.start]
    ours = known.end * known.gap
    # Where somebody wrote right before the block, the line end there is theirs.
    blank = before.endswith(b"\n" + known.end) or before == known.end
    if blank and before.endswith(ours):
        before = before.removesuffix(ours)
    return before + data[known.stop :]


def digest(content: bytes) -> str:
    """What the marker says of the content; git may change line ends, which is no edit."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def begin_marker(content: bytes, gap: int = 0) -> str:
    """The line that begins a block with this content."""
    return f"{BEGIN} v{VERSION} gap={gap} sha256={digest(content)} -->"


class _Line(msgspec.Struct, frozen=True):
    start: int
    stop: int
    text: bytes


def _lines(data: bytes) -> Iterator[_Line]:
    start = 0
    while start < len(data):
        found = data.find(b"\n", start)
        stop = len(data) if found < 0 else found + 1
        text = data[start:stop].rstrip(b"\r\n")
        skipped = len(_BOM) if start == 0 and text.startswith(_BOM) else 0
        yield _Line(start + skipped, stop, text[skipped:])
        start = stop


def _lines_outside_fences(data: bytes) -> Iterator[_Line]:
    """Markers inside a fence are somebody's example; a fence that never ends hides nothing."""
    waiting: list[_Line] = []
    fence: bytes | None = None
    for line in _lines(data):
        found = _FENCE.match(line.text)
        if fence is None:
            if found:
                fence, waiting = found[1], [line]
            else:
                yield line
        else:
            waiting.append(line)
            if _closes(line.text, fence):
                fence, waiting = None, []
    yield from waiting


def _closes(text: bytes, fence: bytes) -> bool:
    body = text.strip()
    return len(body) >= len(fence) and not body.strip(fence[:1])


def _place(data: bytes) -> int:
    """Where a new block goes: to the end, or before a fence that never ends."""
    fence: bytes | None = None
    at = len(data)
    for line in _lines(data):
        found = _FENCE.match(line.text)
        if fence is None and found:
            fence, at = found[1], line.start
        elif fence is not None and _closes(line.text, fence):
            fence, at = None, len(data)
    return at if fence is not None else len(data)


def _between(data: bytes, head: _Line, end: _Line) -> Block:
    found = _HEAD.fullmatch(head.text.strip())
    if found is None:
        raise Refused(
            "the begin marker of session-memory was changed",
            hint="delete the block with its markers; the next run writes it anew",
        )
    if end.start < head.start:
        raise Refused("the end marker of session-memory stands before the begin marker")
    if int(found["version"]) > VERSION:
        raise Refused("a newer version of session-memory wrote the block", hint="upgrade it")
    content = data[head.stop : end.start]
    return Block(
        start=head.start,
        stop=end.stop,
        gap=int(found["gap"]),
        version=int(found["version"]),
        end=b"\r\n" if data[: head.stop].endswith(b"\r\n") else b"\n",
        content=content,
        is_edited=digest(content) != found["hash"].decode(),
    )


def _render(lines: Sequence[str], gap: int, end: bytes) -> bytes:
    content = b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)
    whole = begin_marker(content, gap).encode() + b"\n" + content + _END + b"\n"
    return whole.replace(b"\n", end)


def _line_end(data: bytes) -> bytes:
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"
