"""A text cut into what stays and what was replaced, each piece knowing where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

TEXT = ""
"""In place of a rule's id: text of the log, which rules may look at."""
KEPT = "kept"
"""In place of a rule's id: a placeholder that stood there already, which they may not."""


class Piece(NamedTuple):
    """What stands now in place of the bytes from `start` to `end` of the text as it was."""

    data: bytes
    start: int
    end: int
    rule: str = TEXT

    @property
    def is_replaced(self) -> bool:
        """Whether a secret stood here."""
        return self.rule not in (TEXT, KEPT)

    @property
    def is_verbatim(self) -> bool:
        """Whether this is still the text as it was, byte for byte."""
        return not self.is_replaced and len(self.data) == self.end - self.start

    def part(self, first: int, last: int) -> Piece:
        """The piece's bytes from `first` to `last`, with the places they stand for."""
        return Piece(self.data[first:last], self.place(first), self.place(last), self.rule)

    def place(self, offset: int) -> int:
        """Where an offset into this piece stood in the text as it was.

        A rule may have written something else at the end of a piece (`Bearer ` for `bearer  `):
        an offset into that stands for its beginning, the end of the piece for its end.
        """
        return self.end if offset >= len(self.data) else min(self.start + offset, self.end)


class Edit(NamedTuple):
    """A stretch of one piece that is replaced: what is written before the mark, and the mark."""

    first: int
    """Where the rewriting begins; `lead` stands for everything from here to `secret`."""
    secret: int
    last: int
    lead: bytes
    mark: bytes
    rule: str


def apply(piece: Piece, edits: Iterable[Edit]) -> Iterator[Piece]:
    """The pieces one piece falls into; edits are in order and do not overlap."""
    position = 0
    for edit in edits:
        before = piece.part(position, edit.first)
        if edit.lead:
            secret = piece.place(edit.secret)
            before = Piece(before.data + edit.lead, before.start, secret)
        if before.data:
            yield before
        yield Piece(edit.mark, piece.place(edit.secret), piece.place(edit.last), edit.rule)
        position = edit.last
    rest = piece.part(position, len(piece.data))
    if rest.data:
        yield rest


def spread(pieces: Iterable[Piece], lengths: Iterable[int]) -> list[bytes]:
    """The pieces of a joined text dealt out to parts of these lengths.

    What replaced something goes to the part in which that began.
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
