"""One memory for every coding agent on the machine."""

from __future__ import annotations

__version__: str


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(name)
    from importlib.metadata import version  # costs 10 ms, so only when asked for

    return version("session-memory")
