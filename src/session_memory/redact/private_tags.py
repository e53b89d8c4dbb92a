"""Removes what the user marked as private, before anything else reads the text."""

from __future__ import annotations

from session_memory.regex_cache import compiled

PRIVATE = "[PRIVATE]"
# Both cases of each letter: without IGNORECASE the search can skip to the next `<`.
_TAG = compiled(r"<(/?)[pP][rR][iI][vV][aA][tT][eE]\s*>")


def drop_private(text: str) -> tuple[str, int]:
    """The text with each `<private>...</private>` replaced, and how many there were.

    Spans may be nested; an unclosed one extends to the end of the text. A closing tag without an
    opening one stays. Without a span the same object is returned.
    """
    pieces: list[str] = []
    position = depth = count = 0
    for tag in _TAG.finditer(text) if "<" in text else ():
        if not tag.group(1):
            if depth == 0:
                pieces += (text[position : tag.start()], PRIVATE)
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            position = tag.end()
    if not count:
        return text, 0
    if not depth:
        pieces.append(text[position:])
    return "".join(pieces), count
