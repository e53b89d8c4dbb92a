"""Texts of segments that were just written: they are distilled next, and need not be read again."""

from __future__ import annotations


class FreshTexts:
    """Whole texts by the names of their segments, up to a size in all."""

    MOST_BYTES = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._bytes: dict[str, bytes] = {}
        self._decoded: dict[str, dict[int, str]] = {}
        self._size = 0

    def keep(self, name: str, text: bytes, decoded: dict[int, str]) -> None:
        """Keep the text of a segment in memory; `decoded` are parts of it, by where they begin."""
        if self._size + len(text) <= self.MOST_BYTES:
            self._bytes[name] = text
            self._decoded[name] = decoded
            self._size += len(text)

    def let_go(self) -> None:
        """Drop everything: from now on the files are read."""
        self._bytes.clear()
        self._decoded.clear()
        self._size = 0

    def part(self, name: str, offset: int, length: int) -> bytes | None:
        """Part of a text that is in memory."""
        text = self._bytes.get(name)
        if text is None or not 0 <= offset <= len(text) - length:
            return None
        return text[offset : offset + length]

    def decoded(self, name: str, offset: int) -> str | None:
        """The part that begins there, if it is in memory as text."""
        parts = self._decoded.get(name)
        return None if parts is None else parts.get(offset)
