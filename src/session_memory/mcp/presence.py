"""How many servers work on one store: each holds a lock on a file of its own while it lives."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from session_memory.errors import Refused, StoreLocked
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive

STORM = 5
"""From so many on, clients start servers without ending them."""
_ENDING = ".server"


class Presence:
    """This server among the others of its store; a killed one leaves a file that nobody holds."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "servers"
        self._held = contextlib.ExitStack()
        self._name = f"{os.getpid()}{_ENDING}"
        self._here = False

    def enter(self) -> None:
        """Be counted from now on; where nothing can be written there is nothing to count."""
        if self._here:
            return
        with contextlib.suppress(OSError, StoreLocked, Refused):
            private_dir(self._folder)
            self._held.enter_context(exclusive(str(self._folder / self._name), "a server"))
            self._here = True

    def count(self) -> int:
        """Servers of this store, this one included; clears away what dead ones left."""
        return 1 + sum(self._lives(name) for name in self._others())

    def leave(self) -> None:
        """Be counted no longer."""
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
