"""What runs the work of a fleet: Dask, Spark, or anything that can call functions elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""(done, total, what is being done)."""
_TASKS_A_WORKER = 2  # more of them repeat less after a kill, and send back more totals


class Engine(Protocol):
    """Calls functions of this program on some machine, and repeats calls that were lost."""

    shuffled: int
    """Bytes of results that came back."""

    def map(
        self, what: str, task: Callable[..., T], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[T]:
        """Call a function with each of these arguments; results as they come, in any order.

        So no process needs memory for all of them. A call may be repeated, on another machine, when
        its worker is lost.
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
