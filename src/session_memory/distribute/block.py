"""The managed block: our few lines in a file that is not ours.

Pure functions of bytes. A file may hold several blocks, each of another writer; whatever stands
outside the two marker lines of the one that is ours is never changed. Taking it out again gives the
very bytes that were there before it came in.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

import msgspec

from session_memory.core.text.inserted import cut_out
from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused

VERSION = 2
"""1 had a plain hash and no name of the writer."""
_BOM = b"\xef\xbb\xbf"
_BEGIN, _END = BEGIN.encode(), END.encode()
_HEAD = re.compile(
    rb"<!-- session-memory:begin v(?P<version>\d{1,4})"
    rb"(?P<fields>(?: [a-z0-9]{1,16}=[0-9a-f]{1,64})*) -->"
)
_FENCE = re.compile(rb" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


class Marker(msgspec.Struct, frozen=True):
    """What a begin marker says."""

    version: int
    by: str
    """The name of the writer; empty in version 1."""
    seal: str
    gap: int = 0
    """Line ends before the block that came with it."""


class Block(msgspec.Struct, frozen=True):
    """Where a block stands in a file, and what it holds."""

    start: int
    """Of the begin marker's line."""
    stop: int
    """Behind the end marker's line, its line end included."""
    lines: tuple[int, int]
    """The same as numbers of lines, as an editor shows them."""
    marker: Marker
    end: bytes
    """How its lines end."""
    content: bytes
    """The lines between the markers."""


def find_blocks(data: bytes) -> tuple[Block, ...]:
    """Every block of a file, whoever wrote it; raises Refused where markers do not pair up."""
    blocks: list[Block] = []
    head: _Line | None = None
    for line in _lines_outside_fences(data):
        text = line.text.strip()
        if text.startswith(_BEGIN) and head is None:
            head = line
        elif text == _END and head is not None:
            blocks.append(_between(data, head, line))
            head = None
        elif text.startswith(_BEGIN) or text == _END:
            raise _unpaired(line)
    if head is not None:
        raise _unpaired(head)
    return tuple(blocks)


def put_block(data: bytes | None, ours: Block | None, lines: Sequence[str], seal: Seal) -> bytes:
    """The file with exactly these lines in our block; without lines, without the block."""
    whole = data or b""
    if b"\0" in whole:
        raise Refused("this is not a text file", hint="agents read UTF-8")
    for line in lines:
        if "\n" in line or BEGIN in line or END in line or _FENCE.match(line.encode()):
            raise ValueError(f"this line cannot be distinguished from its surroundings: {line!r}")
    if not lines:
        return take_block(whole, ours)
    if ours is not None:
        block = _render(lines, ours.marker.gap, ours.end, seal)
        if not whole[: ours.stop].endswith(b"\n"):
            block = block[: -len(ours.end)]
        return whole[: ours.start] + block + whole[ours.stop :]
    at, end = _place(whole), _line_end(whole)
    before = whole[:at]
    gap = 0 if before in (b"", _BOM) else 1 if before.endswith(b"\n") else 2
    return before + end * gap + _render(lines, gap, end, seal) + whole[at:]


def take_block(data: bytes, ours: Block | None) -> bytes:
    """The file without our block and without the line ends that came with it."""
    if ours is None:
        return data
    return cut_out(data, ours.start, ours.stop, ours.end * ours.marker.gap)


def plain_hash(content: bytes) -> str:
    """What a marker of version 1 says of the content."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def begin_marker(content: bytes, seal: Seal, gap: int = 0) -> str:
    """The line that begins a block with this content."""
    return f"{BEGIN} v{VERSION} by={seal.name} gap={gap} seal={seal.of(content)} -->"


def read_marker(line: bytes) -> Marker | None:
    """The begin marker in a line; None if we could not have written it."""
    match = _HEAD.fullmatch(line.strip())
    if match is None:
        return None
    fields = dict(field.split("=") for field in match["fields"].decode().split())
    version = int(match["version"])
    seal = fields.get("sha256" if version == 1 else "seal", "")
    gap = fields.get("gap", "0")
    return Marker(version, fields.get("by", ""), seal, int(gap) if gap in "012" else 0)


class _Line(msgspec.Struct, frozen=True):
    number: int
    """As an editor counts. Kept here because a hostile file may have a marker in every line."""
    start: int
    stop: int
    text: bytes


def _lines(data: bytes) -> Iterator[_Line]:
    number, start = 0, 0
    while start < len(data):
        number += 1
        newline = data.find(b"\n", start)
        stop = len(data) if newline < 0 else newline + 1
        text = data[start:stop].rstrip(b"\r\n")
        skipped = len(_BOM) if start == 0 and text.startswith(_BOM) else 0
        yield _Line(number, start + skipped, stop, text[skipped:])
        start = stop


def _lines_outside_fences(data: bytes) -> Iterator[_Line]:
    """Markers inside a code fence are examples; a fence that never ends is ignored."""
    waiting: list[_Line] = []
    fence: bytes | None = None
    for line in _lines(data):
        match = _FENCE.match(line.text)
        if fence is None:
            if match:
                fence, waiting = match[1], [line]
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
        match = _FENCE.match(line.text)
        if fence is None and match:
            fence, at = match[1], line.start
        elif fence is not None and _closes(line.text, fence):
            fence, at = None, len(data)
    return at if fence is not None else len(data)


def _unpaired(line: _Line) -> Refused:
    return Refused(
        f"the marker of session-memory in line {line.number} has no partner",
        hint="delete that line, or the block with both of its markers",
    )


def _between(data: bytes, head: _Line, end: _Line) -> Block:
    marker = read_marker(head.text)
    if marker is None:
        raise Refused(
            "the begin marker of session-memory was changed",
            hint="delete the block with its markers; the next run writes it again",
        )
    return Block(
        start=head.start,
        stop=end.stop,
        lines=(head.number, end.number),
        marker=marker,
        end=b"\r\n" if data[head.start : head.stop].endswith(b"\r\n") else b"\n",
        content=data[head.stop : end.start],
    )


def _render(lines: Sequence[str], gap: int, end: bytes, seal: Seal) -> bytes:
    content = b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)
    whole = begin_marker(content, seal, gap).encode() + b"\n" + content + _END + b"\n"
    return whole.replace(b"\n", end)


def _line_end(data: bytes) -> bytes:
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"
