"""Text of ours in the middle of somebody else's file, and how to take it out to the byte. Pure."""

from __future__ import annotations


def cut_out(data: bytes, start: int, stop: int, gap: bytes) -> bytes:
    """The file without what stands between, and without the line ends that came in before it."""
    before = data[:start]
    end = b"\r\n" if gap.startswith(b"\r\n") else b"\n"
    # Where somebody wrote right before it, the line end there is theirs.
    blank = before.endswith(b"\n" + end) or before == end
    if gap and blank and before.endswith(gap):
        before = before.removesuffix(gap)
    return before + data[stop:]


def said_lines(lines: tuple[int, int]) -> str:
    """The first and the last line of a text, as an editor counts, in a message."""
    return f"lines {lines[0]} to {lines[1]}"
