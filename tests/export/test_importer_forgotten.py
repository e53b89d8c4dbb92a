"""What was forgotten does not come back with an import, also when the database was lost since."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.export.export_commands import bring, export

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store import marks
from session_memory.testing.workspace import Workspace

WORD = "zebrawood"
TALK = ClaudeLog(1)
TALK.prompt("please remember this")
TALK.prompt(f"I moved to {WORD}")
OTHER = ClaudeLog(2)
OTHER.prompt("stay here")


def lose_store(space: Workspace) -> None:
    """Everything but the file of marks."""
    for path in space.store_directory.glob("store.db*"):
        path.unlink()
    shutil.rmtree(space.store_directory / "segments")


@pytest.mark.rows("BAK-01")
@pytest.mark.parametrize("wanted", [{"sessions": (TALK.session_id,)}, {"text": WORD}], ids=str)
@pytest.mark.parametrize("lost", [False, True], ids=["kept", "lost"])
def test_an_older_export_brings_nothing_forgotten_back(
    here: Workspace, wanted: dict[str, object], lost: bool
) -> None:
    here.write(TALK, OTHER)
    here.sweep()
    older = export(here)
    here.forget(**wanted)
    left = here.dump()
    if lost:
        lose_store(here)
    taken = bring(here, older)
    assert taken["forgotten"] + taken["forgotten_events"] == 1
    assert here.dump() == left
    with here.store() as store:
        assert store.traces(WORD) == []


@pytest.mark.rows("BAK-02")
@pytest.mark.parametrize("wanted", [{"sessions": (TALK.session_id,)}, {"text": WORD}], ids=str)
def test_an_export_of_another_store_meets_the_marks_of_this_one(
    here: Workspace, there: Workspace, wanted: dict[str, object]
) -> None:
    for space in (here, there):
        space.write(TALK, OTHER)
        space.sweep()
    there.forget(**wanted)
    left = there.dump()
    lose_store(there)
    bring(there, export(here))
    assert [one["session"]["external_id"] for one in there.dump()] == [
        one["session"]["external_id"] for one in left
    ]
    with there.store() as store:
        assert store.traces(WORD) == []


@pytest.mark.rows("BAK-02")
@pytest.mark.parametrize("wanted", [{"sessions": (TALK.session_id,)}, {"text": WORD}], ids=str)
def test_marks_of_another_key_hold_for_logs_and_imports(
    here: Workspace, there: Workspace, tmp_path: Path, wanted: dict[str, object]
) -> None:
    """A store that took over another one's key by a restore still knows what it forgot before."""
    here.write(TALK, OTHER)
    here.sweep()
    older = export(here)
    here.forget(**wanted)
    there.store_directory.mkdir(mode=0o700)
    there.paths = here.paths
    other = there.with_store("made")
    other.sweep()
    with here.store() as store:
        marks.add_marks(str(other.store_directory), store.marks())
    other.sweep()
    with other.store() as store:
        assert store.traces(WORD) == []
    for path in here.files():  # read again whole
        path.write_bytes(path.read_bytes() + b"\n")
        path.touch()
    other.sweep()
    bring(other, older)
    with other.store() as store:
        assert store.traces(WORD) == []
