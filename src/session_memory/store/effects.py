"""What a store promises about measured effects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from session_memory.core.loop.effects import Effect


class Effects(Protocol):
    """The latest figures for each version of a pattern and each method."""

    def save(self, effects: Iterable[Effect]) -> None:
        """Replace what was known of the same versions by the same methods, in one transaction."""
        ...

    def all(self) -> list[Effect]:
        """Everything measured, by pattern, version and method."""
        ...
