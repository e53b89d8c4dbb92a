"""How many processes a sweep starts, by cores and by what waits."""

from __future__ import annotations

import msgspec
import pytest
from tests.ingest.test_process_pool import space, sweep_with

from session_memory.adapters import registry
from session_memory.ingest import ahead
from session_memory.ingest.report import SweepReport
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("ING-22")
def test_how_many_processes_depends_on_cores_and_on_what_waits(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from session_memory.ingest.discover import ChangedFiles, LogFolders

    folders = LogFolders(registry.adapter("claude"), [], [])
    monkeypatch.setattr(ahead, "_cores", lambda: 4)

    def processes(waiting: int, jobs: int | None = None) -> int:
        context = msgspec.structs.replace(space.sweep_context(), jobs=jobs)
        return ahead.processes(context, [ChangedFiles(folders, [], bytes_waiting=waiting)])

    assert processes(ahead.WORTHWHILE - 1) == 1
    assert processes(ahead.WORTHWHILE) == 4
    assert (processes(1, jobs=3), processes(ahead.WORTHWHILE, jobs=1)) == (3, 1)
    monkeypatch.setattr(ahead, "_cores", lambda: 64)
    assert processes(ahead.WORTHWHILE) == ahead.MOST_PROCESSES


@pytest.mark.rows("ING-22")
def test_only_what_was_not_read_yet_counts_as_waiting(space: Workspace) -> None:
    from session_memory.ingest.discover import find_changed

    def waiting() -> int:
        with space.store() as store:
            changed = find_changed(space.sweep_context(), SweepReport(), store)
        return sum(group.bytes_waiting for group in changed)

    sweep_with(space, 1)
    before = waiting()  # of files that fail
    log = space.files()[0]
    grown = b'{"type": "unknown"}\n'
    log.write_bytes(log.read_bytes() + grown)
    assert waiting() == before, "so little is not worth a process"
    log.write_bytes(log.read_bytes() + grown * 1000)
    assert waiting() == before + len(grown) * 1001
