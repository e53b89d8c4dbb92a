"""Forget marks meet databases that do not know them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.sqlite.test_forget_with_marks import KEPT
from tests.store.test_marks import FORGOTTEN, WORD, space

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store import marks
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.parametrize("wanted", [{"sessions": (FORGOTTEN,)}, {"text": WORD}], ids=str)
@pytest.mark.rows("BAK-01")
def test_a_store_made_anew_knows_what_was_forgotten(
    space: Workspace, wanted: dict[str, object]
) -> None:
    space.forget(**wanted)
    left = space.dump()
    for path in space.store_directory.glob("store.db*"):
        path.unlink()
    space.sweep()
    assert space.dump() == left
    with space.store() as store:
        assert store.traces(WORD) == []


@pytest.mark.rows("BAK-01")
def test_an_older_database_put_in_place_loses_what_was_forgotten_since(space: Workspace) -> None:
    with space.store() as store:
        store.backup(str(space.root / "older"))
    space.forget(sessions=(FORGOTTEN,))
    left = space.dump()
    for path in space.store_directory.glob("store.db*"):
        path.unlink()
    (space.root / "older" / "store.db").rename(space.store_directory / "store.db")
    for path in (space.root / "older" / "segments").rglob("*.seg"):
        goal = space.store_directory / path.relative_to(space.root / "older")
        goal.parent.mkdir(exist_ok=True)
        path.rename(goal)
    assert space.sweep().events == 0
    assert space.dump() == left
    assert space.findings() == []
    with space.store() as store:
        assert store.traces(WORD) == []


@pytest.mark.rows("BAK-02")
def test_marks_made_with_another_key_hold_too(space: Workspace, tmp_path: Path) -> None:
    space.forget(sessions=(FORGOTTEN,))
    other = space.with_store("other")
    other.store_directory.mkdir(mode=0o700)
    with other.store_directory.joinpath("x").open("w"):
        pass
    other.sweep()
    with space.store() as mine, other.store() as theirs:
        assert mine.fingerprint_key != theirs.fingerprint_key
        marks.add_marks(str(other.store_directory), mine.marks())
    assert FORGOTTEN in other.sessions()
    other.sweep()
    assert set(other.sessions()) == {KEPT}
    log = ClaudeLog(1)
    log.prompt("it goes on")
    space.write(log)
    other.sweep()
    assert set(other.sessions()) == {KEPT}
