"""What stands before the colons of a text: this shows whether any line may have a label."""

from __future__ import annotations

from functools import lru_cache

from session_memory.core.text.masks import window

_NEAR = 8  # a label's last letters, and the marks that may stand between them and the colon


@lru_cache(maxsize=2)  # labels, decisions and open items are looked for in the same texts
def before_colons(text: str) -> frozenset[str]:
    """The last three letters before each colon, in lower case and without marks behind them."""
    if ":" not in text and "：" not in text:
        return frozenset()
    pieces = window(text).replace("：", ":").split(":")
    return frozenset([piece[-_NEAR:].rstrip("*_ ")[-3:].lower() for piece in pieces[:-1]])
