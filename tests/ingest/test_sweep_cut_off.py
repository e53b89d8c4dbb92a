"""A sweep that dies at any step: the next one comes to the same result as if nothing happened."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import StoreError
from session_memory.testing.faults import Stopped, StoppingStore, failing_files
from session_memory.testing.samples import bug_fix, second_opinion
from session_memory.testing.workspace import Workspace

STEPS = [
    "source",
    "session",
    "append",
    "confirm",
    "add_usage",
    "save_cursor",
    "settle",
    "assign_project",
    "commit",
    "save_digest",
]


def logs() -> list[ClaudeLog]:
    """A session, its fork, and a copy of the session in a second file."""
    fix = bug_fix()
    return [fix, second_opinion(fix)]


def prepare(space: Workspace) -> Workspace:
    """Files with shared history, read in many commits, each in the middle of a file."""
    space.read_in_blocks(4000)
    paths = space.write(*logs())
    copy = paths[0].read_bytes().splitlines(keepends=True)[3:]
    (space.claude / "projects" / "copy").mkdir(exist_ok=True)
    (space.claude / "projects" / "copy" / "b.jsonl").write_bytes(b"".join(copy))
    return space


@pytest.fixture
def undisturbed(tmp_path: Path) -> list[dict[str, Any]]:
    space = prepare(Workspace(tmp_path / "undisturbed"))
    space.sweep()
    return space.dump()


@pytest.mark.rows("STO-10")
@pytest.mark.parametrize("step", STEPS)
def test_a_death_before_any_step_changes_nothing_in_the_end(
    tmp_path: Path, undisturbed: list[dict[str, Any]], step: str
) -> None:
    nth = 0
    while True:
        nth += 1
        space = prepare(Workspace(tmp_path / f"{step}-{nth}"))
        try:
            space.sweep(open_as=lambda store, nth=nth: StoppingStore(store, step, nth))
        except Stopped:
            assert [finding for finding in space.findings() if "orphan" not in finding] == []
            space.sweep()
            assert space.dump() == undisturbed, f"{step} {nth}"
            assert space.findings() == []
        else:
            break
    assert nth > 1, f"{step} never happened"


@pytest.mark.rows("STO-10")
def test_rows_without_their_cursor_are_never_visible(space: Workspace) -> None:
    log = bug_fix()
    space.write(log)
    with pytest.raises(Stopped):
        space.sweep(open_as=lambda store: StoppingStore(store, "save_cursor"))
    with space.store() as store:
        info = store.info()
    assert (info.sessions, info.events, info.sources) == (0, 0, 0)


@pytest.mark.parametrize(
    ("code", "stays"), [(errno.ENOSPC, True), (errno.EIO, False)], ids=["full disk", "bad sector"]
)
def test_whatever_file_operation_fails_the_sweep_says_so_and_can_be_repeated(
    tmp_path: Path, undisturbed: list[dict[str, Any]], code: int, stays: bool
) -> None:
    nth = 0
    while True:
        nth += 1
        space = prepare(Workspace(tmp_path / f"{nth}"))
        with failing_files(nth, code, stays=stays) as files:
            if not _fails_plainly(space):
                assert not files.failed, f"operation {nth} failed silently"
                break
            assert files.failed
        space.sweep()
        assert space.dump() == undisturbed, f"operation {nth}"
        assert space.findings() == []
        assert list(space.store_directory.rglob("*.tmp")) == []
    assert nth > 10  # several commits, each of several operations


def _fails_plainly(space: Workspace) -> bool:
    """Whether a sweep fails with an error for users: a StoreError with a hint."""
    try:
        space.sweep()
    except StoreError as error:
        assert error.exit_code == 1
        assert error.hint
        return True
    return False


def test_a_failing_eviction_leaves_nothing_half_gone(space: Workspace, tmp_path: Path) -> None:
    prepare(space)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=1)
    with failing_files(3, errno.EIO):  # the first two flush the mark of unfinished work
        report = space.sweep()
    assert [failure.step for failure in report.failed_steps] == ["evict"]
    assert report.needs_attention
    assert [finding for finding in space.findings() if "orphan" not in finding] == []
    report = space.sweep()
    assert report.orphans_removed > 0
    assert list(space.store_directory.rglob("*.seg")) == []
    assert space.findings() == []


def in_pieces(space: Workspace, pieces: int) -> ClaudeLog:
    """A session that was swept after every few records."""
    log = ClaudeLog(1)
    for number in range(pieces):
        log.prompt(f"prompt {number}")
        space.write(log)
        space.sweep()
    return log


def segments(space: Workspace) -> int:
    return len(list(space.store_directory.rglob("*.seg")))


def test_a_session_that_came_in_many_pieces_is_joined_into_few_files(space: Workspace) -> None:
    log = in_pieces(space, 16)
    assert segments(space) == 16
    log.say("one more")
    space.write(log)
    space.sweep()
    assert segments(space) == 1
    texts = [event.text for event in space.events(log.session_id)]
    assert texts == [*(f"prompt {number}" for number in range(16)), "one more"]
    assert space.findings() == []


@pytest.mark.parametrize("dies_in", ["retention.remove_doomed", "manifests.pack_session"])
def test_a_death_while_pieces_are_joined_loses_none(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    log = in_pieces(space, 16)
    log.say("one more")
    space.write(log)

    def die(*_: object) -> int:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(f"session_memory.store.sqlite.{dies_in}", die)
        with pytest.raises(Stopped):
            space.sweep()
    assert len(space.events(log.session_id)) == 17
    log.say("and another")
    space.write(log)
    space.sweep()
    assert len(space.events(log.session_id)) == 18
    assert segments(space) <= 2
    assert space.findings() == []
