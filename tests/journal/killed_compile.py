"""Compiles in child processes, each killed before the n-th thing it does to the disk.

    python -m tests.journal.killed_compile DIRECTORY

Prints how many were killed and what was lost, torn or half done afterwards. A program of its own,
as it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.journal.compile_journal import ENTRY, OTHER, Library
from tests.journal.killed_flush import die_at

from session_memory.journal import transaction
from session_memory.journal.lint import read_lint_input, structural_issues


def prepare(root: Path) -> Library:
    """A journal with compiled days, and a day that changes several of their articles."""
    library = Library(root / "data")
    library.add()
    library.add(OTHER, "s2", day=1)
    library.compile()
    library.add(ENTRY.replace("twice", "again").replace("hides", "may hide"), "s3", day=2)
    library.add(OTHER.replace("huge", "very big"), "s4", day=2)
    return library


def is_killed(library: Library, nth: int) -> bool:
    """Compile in a child that dies before its n-th step; False when it had fewer."""
    pid = os.fork()
    if pid == 0:
        die_at(nth, str(library.data.parent))
        library.compile()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise SystemExit("the compile failed by itself")
    return status != 0


def faults(library: Library, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """What a kill did that it must not: the next compile ends as the first would have."""
    found: list[str] = []
    if {name: data for name, data in library.tree().items() if name.startswith("daily/")} != {
        name: data for name, data in before.items() if name.startswith("daily/")
    }:
        found.append("a daily log changed")
    transaction.recover(library.journal)
    if _settled(library.tree()) not in (_settled(before), _settled(after)):
        found.append("neither before nor after")
    library.compile()
    if _settled(library.tree()) != _settled(after):
        found.append("another end than without the kill")
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    found += [str(one) for one in structural_issues(base) if one.severity == "error"]
    return found + library.warnings


def _settled(tree: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in tree.items() if not name.endswith(".new")}


def main(root: Path) -> dict[str, Any]:
    """Kill at the first step, the second, and so on, until a compile lives."""
    model = prepare(root / "model")
    after_library = prepare(root / "after")
    after_library.compile()
    after = after_library.tree()
    found: list[str] = []
    for nth in count(1):
        shutil.copytree(root / "model", root / str(nth))
        library = Library(root / str(nth) / "data")
        before = library.tree()
        killed = is_killed(library, nth)
        found += [f"killed at step {nth}: {text}" for text in faults(library, before, after)]
        if not killed:
            return {"kills": nth - 1, "faults": found, "articles": len(model.articles)}
        shutil.rmtree(root / str(nth))
    raise AssertionError("unreachable")


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
