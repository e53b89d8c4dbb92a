"""What runs the work of a fleet: Dask, Spark, or anything that can call functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""(done, total, what is being done)."""
_TASKS_A_WORKER = 4  # so that a worker that is slow, or killed, has little to repeat


class Engine(Protocol):
    """Calls functions of this program on some machine, as often as it takes."""

    shuffled: int
    """Bytes of results that came back."""

    def map(self, what: str, task: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a function with each of these arguments; results in that order.

        A call may be repeated, on another machine, when its worker is lost.
        """
        ...

    def shares(self, parts: Sequence[str]) -> list[list[str]]:
        """The parts dealt out, in order: a few shares for each worker."""
        ...


def deal_out(parts: Sequence[str], workers: int) -> list[list[str]]:
    """Shares for so many workers."""
    number = max(1, min(len(parts), _TASKS_A_WORKER * workers))
    size = max(1, -(-len(parts) // number))
    return [list(parts[at : at + size]) for at in range(0, len(parts), size)]
