"""Consolidates one place again and again, saying where it is, until it is killed.

    python -m tests.memory.endless_consolidation DIRECTORY GENERATION

A program of its own, so that a test can kill it at any of its steps.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.memory.workbench import SHOP, Bench, generation

from session_memory.memory.consolidate import consolidate
from session_memory.memory.log import MemoryLog
from session_memory.store.memories import Claim
from session_memory.testing.scripted_model import ScriptedModel


class Telling(MemoryLog):
    """Says every step aloud at once."""

    def debug(self, event: str, **fields: str | int | None) -> None:
        print(fields.get("step", event), flush=True)


def main(directory: str, number: int) -> None:
    bench = Bench(Path(directory))
    log = Telling(bench.logs, lambda: bench.space.now)
    while True:
        number += 1
        model = ScriptedModel([generation(number)])
        claims = [Claim(SHOP, f"endless-{os.getpid()}")]
        with bench.space.store() as store:
            done = consolidate(store, bench.context(model, log=log), claims, force=True)
        print([one.status for one in done], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
