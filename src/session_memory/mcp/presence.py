"""How many servers use one store: each holds a lock on its own file while it runs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from session_memory.errors import Refused, StoreLocked
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive

STORM = 5
"""With this many servers, some client probably starts them without stopping them."""
_ENDING = ".server"


class Presence:
    """This server among the others of its store; a killed one leaves an unlocked file."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "servers"
        self._held = contextlib.ExitStack()
        self._name = f"{os.getpid()}{_ENDING}"
        self._here = False

    def enter(self) -> None:
        """Start being counted; does nothing where the folder cannot be written."""
        if self._here:
            return
        with contextlib.suppress(OSError, StoreLocked, Refused):
            private_dir(self._folder)
            self._held.enter_context(exclusive(str(self._folder / self._name), "a server"))
            self._here = True

    def count(self) -> int:
        """Number of servers of this store, including this one; removes files of dead ones."""
        return 1 + sum(self._lives(name) for name in self._others())

    def leave(self) -> None:
        """Stop being counted."""
        if self._here:
            self._here = False
            self._held.close()
            with contextlib.suppress(OSError):
                (self._folder / self._name).unlink()

    def _others(self) -> list[str]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return [name for name in names if name.endswith(_ENDING) and name != self._name]

    def _lives(self, name: str) -> bool:
        path = str(self._folder / name)
        try:
            with exclusive(path, "a server"):
                os.unlink(path)
        except StoreLocked:
            return True
        except OSError:
            return False
        return False
