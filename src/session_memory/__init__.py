"""One memory for every coding agent on the machine."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know this name; `typing` is 5 ms that no command needs
if TYPE_CHECKING:
    from typing import Any

    from session_memory.api import Memory, open_store

__all__ = ["Memory", "__version__", "open_store"]

__version__ = "0.1.0"
"""The one place that states it; the build reads it here, so that no command has to look it up."""


def __getattr__(name: str) -> Any:
    """The Python API at first use: commands and hooks must not pay for importing it."""
    if name in ("Memory", "open_store"):
        from importlib import import_module

        return getattr(import_module("session_memory.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
