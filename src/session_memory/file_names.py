"""File names as text that any encoder takes, and back: a name may hold bytes that are not UTF-8.

Python shows such a byte as a lone surrogate, which neither SQLite nor JSON can hold. As text, byte
0xFF stands as U+10FFFF, 0x80 as U+10FF80: characters that are free for private use. A name that
really holds one of these has its bytes written the same way, so no two names become one text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from session_memory.regex_cache import compiled

_BASE = 0x10FF00
_ODD = compiled("[\ud800-\udfff\U0010ff80-\U0010ffff]")
_BYTES = compiled("[\U0010ff80-\U0010ffff]+")


def name_to_text(name: str) -> str:
    """The name in a form that can be stored and printed; nearly always the name itself."""
    return name if name.isascii() else _ODD.sub(_to_text, name)


def text_to_name(text: str) -> str:
    """The name as the file system knows it."""
    return text if text.isascii() else _BYTES.sub(_to_name, text)


def storable(value: Any) -> Any:
    """A JSON value with every text in it in the form that can be stored and printed."""
    if isinstance(value, str):
        return name_to_text(value)
    if isinstance(value, list | tuple):
        return [storable(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {storable(key): storable(item) for key, item in pairs}
    return value


def spell_byte(character: str) -> str | None:
    r"""How to show a character that stands for a byte: `\xff`; None for any other."""
    code = ord(character)
    if _BASE + 0x80 <= code <= _BASE + 0xFF or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return None


def _to_text(match: re.Match[str]) -> str:
    try:
        data = match.group().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character from a JSON text: no file can have it
        return "\ufffd"
    return "".join(chr(_BASE + byte) for byte in data)


def _to_name(match: re.Match[str]) -> str:
    data = bytes(ord(character) - _BASE for character in match.group())
    return data.decode("utf-8", "surrogateescape")
