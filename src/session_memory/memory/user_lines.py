"""Single lines of the user part of MEMORY.md, added and removed for the user."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.clock import Clock
from session_memory.errors import Refused
from session_memory.memory.consolidate import LOCK_LEASE_SECONDS, manual_owner
from session_memory.memory.layout import MEMORY, ensure_layout, memory_root, normalised
from session_memory.memory.user_part import (
    generated_part_of,
    page_with_user_part,
    user_part_of,
)
from session_memory.store.port import MemoryStore


class UserLines:
    """Changes the user part while no consolidation runs: the swap would write the old one back."""

    def __init__(self, store: MemoryStore, data: Path, clock: Clock) -> None:
        self._store = store
        self._data = data
        self._clock = clock

    def add(self, root: str, line: str) -> None:
        """Put a line at the end of the user part, unless it is there."""
        self._change(root, lambda lines: lines if line in lines else [*lines, line])

    def remove(self, root: str, line: str) -> None:
        """Take a line out of the user part."""
        self._change(root, lambda lines: [other for other in lines if other != line])

    def replace(self, root: str, old: str, new: str) -> None:
        """Put a line where another one stands; where it does not, nothing happens."""
        self._change(root, lambda lines: [new if line == old else line for line in lines])

    def _change(self, root: str, change: Callable[[list[str]], list[str]]) -> None:
        name, owner = normalised(root), manual_owner(secrets.token_hex(6))
        memories = self._store.memories
        if not memories.acquire(name, owner, self._clock(), LOCK_LEASE_SECONDS * 1000):
            raise Refused("this memory is being consolidated", hint="try again in a minute")
        try:
            self._write(memory_root(self._data, name), change)
        finally:
            memories.release(name, owner)

    def _write(self, folder: Path, change: Callable[[list[str]], list[str]]) -> None:
        page = folder / MEMORY
        exists = page.is_file() and not page.is_symlink()
        before = page.read_bytes().decode("utf-8", "surrogateescape") if exists else "# Memory\n"
        lines = user_part_of(before).strip("\n").split("\n") if user_part_of(before) else []
        changed = change(lines)
        if changed == lines:
            return
        ensure_layout(folder)
        part = "\n" + "\n".join(changed) + "\n" if changed else ""
        text = page_with_user_part(part, generated_part_of(before))
        replace_file(page, text.encode("utf-8", "surrogateescape"))
