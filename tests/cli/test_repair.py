"""`store repair` as a user runs it."""

from __future__ import annotations

from tests.cli.test_forget_and_doctor import run, space, swept

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_repair_tells_that_nothing_is_to_do(space: Workspace) -> None:
    done = run(swept(space), "store", "repair")
    assert (done.returncode, done.stdout.strip()) == (0, "nothing to repair")
