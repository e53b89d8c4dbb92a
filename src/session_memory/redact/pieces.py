"""A text in pieces, kept or replaced, each with its position in the original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

TEXT = ""
"""In place of a rule's id: text of the log, which rules are applied to."""
PLACEHOLDER = "kept"
"""In place of a rule's id: an earlier placeholder, which rules are not applied to."""


class Piece(msgspec.Struct, frozen=True):
    """What replaces the bytes from `start` to `end` of the original text."""

    data: bytes
    start: int
    end: int
    rule: str = TEXT

    @property
    def is_replaced(self) -> bool:
        """Whether this replaces a secret."""
        return self.rule not in (TEXT, PLACEHOLDER)

    @property
    def is_verbatim(self) -> bool:
        """Whether this is still the original text, byte for byte."""
        return not self.is_replaced and len(self.data) == self.end - self.start

    def part(self, first: int, last: int) -> Piece:
        """The piece's bytes from `first` to `last`, with their original positions."""
        return Piece(self.data[first:last], self.original(first), self.original(last), self.rule)

    def original(self, offset: int) -> int:
        """The position in the original text of an offset into this piece.

        A rule may have rewritten the end of a piece (`Bearer ` for `bearer  `): an offset into that
        part means its beginning, the end of the piece its end.
        """
        return self.end if offset >= len(self.data) else min(self.start + offset, self.end)


class Edit(msgspec.Struct, frozen=True):
    """A part of a piece to replace: the text written before the mark, and the mark."""

    first: int
    """Where the edit begins; `lead` replaces everything from here to `secret`."""
    secret: int
    last: int
    lead: bytes
    mark: bytes
    rule: str


def apply(piece: Piece, edits: Iterable[Edit]) -> Iterator[Piece]:
    """The pieces that edits split a piece into; edits are in order and do not overlap."""
    position = 0
    for edit in edits:
        before = piece.part(position, edit.first)
        if edit.lead:
            secret = piece.original(edit.secret)
            before = Piece(before.data + edit.lead, before.start, secret)
        if before.data:
            yield before
        yield Piece(edit.mark, piece.original(edit.secret), piece.original(edit.last), edit.rule)
        position = edit.last
    rest = piece.part(position, len(piece.data))
    if rest.data:
        yield rest


def spread(pieces: Iterable[Piece], lengths: Iterable[int]) -> list[bytes]:
    """The pieces of a joined text, split again into parts of these lengths.

    A replacement goes to the part in which the replaced text began.
    """
    bounds: list[int] = []
    total = 0
    for length in lengths:
        total += length
        bounds.append(total)
    parts: list[list[bytes]] = [[] for _ in bounds]
    index = 0
    for piece in pieces:
        position = piece.start
        while index < len(bounds) - 1 and position >= bounds[index]:
            index += 1
        if not piece.is_verbatim:
            parts[index].append(piece.data)
            continue
        while piece.end > bounds[index]:
            parts[index].append(piece.data[position - piece.start : bounds[index] - piece.start])
            position = bounds[index]
            index += 1
        parts[index].append(piece.data[position - piece.start :])
    return [b"".join(part) for part in parts]
