"""A pack inside a file that is not ours: between two marker lines; nothing outside them changes.

The markers are the lines by which `own_text` recognises our text, so that a synced pack can never
become evidence. The first marker names the store and carries its seal: a pack that another store
wrote, or that was edited by hand, is not ours to replace.
"""

from __future__ import annotations

import re

import msgspec

from session_memory.core.text.inserted import cut_out, said_lines
from session_memory.core.text.own_text import PACK_BEGIN, PACK_END
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused

_BEGIN, _END = PACK_BEGIN.encode(), PACK_END.encode()
_MARKER = re.compile(
    rb"^(?:%s(?P<fields>(?: [a-z]{1,8}=[0-9a-f]{1,64})*)>[^\n]*\n|%s[ \t]*(?:\r?\n|$))"
    % (re.escape(_BEGIN), re.escape(_END)),
    re.MULTILINE,
)


class PackBlock(msgspec.Struct, frozen=True):
    """A pack in a file."""

    start: int
    stop: int
    lines: tuple[int, int]
    by: str
    """The store that wrote it; empty in packs of older versions."""
    seal: str
    gap: int
    """Line ends we added before it."""
    content: bytes


class Packs(msgspec.Struct, frozen=True):
    """The packs of a file, sorted by who wrote them."""

    ours: PackBlock | None = None
    is_edited: bool = False
    others: tuple[PackBlock, ...] = ()


def find_packs(data: bytes, seal: Seal) -> Packs:
    """Separate our pack from others; refuses markers that do not pair up."""
    packs = _packs(data)
    if not data.count(_BEGIN) == data.count(_END) == len(packs):
        raise Refused(
            "the lines around the pack in this file do not pair up",
            hint=f"every `{PACK_BEGIN} ...>` line needs a `{PACK_END}` line; delete what is alone",
        )
    mine = [pack for pack in packs if pack.by == seal.name]
    if len(mine) > 1:
        lines = " and ".join(said_lines(pack.lines) for pack in mine)
        raise Refused(f"this file has {len(mine)} packs: {lines}", hint="delete all but one")
    ours = mine[0] if mine else None
    edited = ours is not None and not seal.fits(ours.content, ours.seal)
    return Packs(ours, edited, tuple(pack for pack in packs if pack is not ours))


def put_pack(data: bytes, ours: PackBlock | None, pack: str, seal: Seal) -> bytes:
    """The file with this pack in place of our old one, or at the end."""
    end = b"\r\n" if b"\r\n" in data else b"\n"
    gap = 0 if not data else 1 if data.endswith(b"\n") else 2
    content = b"".join(line.encode() + b"\n" for line in pack.splitlines()[1:-1])
    fields = f" by={seal.name} gap={ours.gap if ours else gap} seal={seal.of(content)}>"
    block = b"\n".join((_BEGIN + fields.encode(), content + _END, b"")).replace(b"\n", end)
    if ours is None:
        return data + end * gap + block
    if not data[: ours.stop].endswith(b"\n"):
        block = block.removesuffix(end)
    return data[: ours.start] + block + data[ours.stop :]


def take_pack(data: bytes, ours: PackBlock) -> bytes:
    """The file without our pack and without the line ends we added with it."""
    end = b"\r\n" if data[: ours.stop].endswith(b"\r\n") else b"\n"
    return cut_out(data, ours.start, ours.stop, end * ours.gap)


def _packs(data: bytes) -> list[PackBlock]:
    """Every pack, in one pass: a hostile file may have a marker in every line."""
    packs: list[PackBlock] = []
    head: re.Match[bytes] | None = None
    line, offset = 1, 0
    for marker in _MARKER.finditer(data):
        if marker["fields"] is not None:
            head = head or marker
        elif head is not None:
            first = line + data.count(b"\n", offset, head.start())
            line = first + data.count(b"\n", head.start(), marker.start())
            offset = marker.start()
            packs.append(_pack(data, head, marker, (first, line)))
            head = None
    return packs


def _pack(
    data: bytes, head: re.Match[bytes], end: re.Match[bytes], lines: tuple[int, int]
) -> PackBlock:
    fields = dict(field.split("=") for field in head["fields"].decode().split())
    gap = fields.get("gap", "0")
    return PackBlock(
        start=head.start(),
        stop=end.end(),
        lines=lines,
        by=fields.get("by", ""),
        seal=fields.get("seal", ""),
        gap=int(gap) if gap in "012" else 0,
        content=data[head.end() : end.start()],
    )
