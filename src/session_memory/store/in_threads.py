"""Doing several things at once that mostly wait for the disk.

`concurrent.futures` could, too, but loading it takes longer than writing what most sweeps write.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable


def in_threads(actions: Iterable[Callable[[], None]]) -> None:
    """Do each in a thread of its own, and wait for all; raises the error of one that failed."""
    errors: list[Exception] = []

    def run(action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - raised below, in the thread that waits
            errors.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
