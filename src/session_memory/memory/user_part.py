"""The part of MEMORY.md that is the user's: found, kept, filled with what was typed elsewhere."""

from __future__ import annotations

from session_memory.memory.layout import YOURS_BEGIN, YOURS_END


def yours_in(text: str) -> str:
    """What stands between the user's marks, byte for byte; one that never ends runs to the end."""
    _, begin, rest = text.partition(YOURS_BEGIN)
    inside = rest.partition(YOURS_END)[0] if begin else ""
    return inside if inside.strip() else ""


def page_of(yours: str, made: str = "# Memory\n") -> str:
    """A MEMORY.md of what was made and what is the user's."""
    inside = yours or "\n\n"
    return f"{made.rstrip()}\n\n{YOURS_BEGIN}{inside}{YOURS_END}\n"


def keep_edits(before: str, after: str) -> str:
    """The page after an edit, with lines that were added to what we made moved to what is theirs.

    What we made is made again from the traces: a line typed into it would be gone by then.
    """
    made = _outside(after)
    known = set(_outside(before).splitlines())
    added = [line for line in made.splitlines() if line.strip() and line not in known]
    yours = yours_in(after)
    if not added:
        return page_of(yours, made)
    kept = [line for line in made.splitlines() if not line.strip() or line in known]
    joined = (yours.rstrip() if yours else "") + "\n" + "\n".join(added) + "\n"
    return page_of(joined, "\n".join(kept))


def _outside(text: str) -> str:
    head, begin, rest = text.partition(YOURS_BEGIN)
    return head + rest.partition(YOURS_END)[2] if begin else text
