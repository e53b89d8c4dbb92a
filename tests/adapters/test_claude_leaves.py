"""Titles that old Claude Code clients wrote at the top of another session's log."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from session_memory.adapters.claude.leaves import owners_in, read
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.common import LINE_CAP, source_at
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-31")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def session(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"task {seed}")
    log.say(f"done with {seed}")
    return log


def titles(log: ClaudeLog, *summaries: tuple[str, str]) -> ClaudeLog:
    """The log with titles of other sessions in front."""
    rows = [{"type": "summary", "summary": text, "leafUuid": leaf} for text, leaf in summaries]
    log.rows[:0] = rows
    return log


def leaf(log: ClaudeLog, index: int = -1) -> str:
    return log.rows[index]["uuid"]


@pytest.mark.parametrize("seeds", [(1, 2), (2, 1)])
def test_the_session_that_holds_the_record_gets_the_title(
    space: Workspace, seeds: tuple[int, int]
) -> None:
    earlier, later = session(seeds[0]), session(seeds[1])
    space.write(earlier, titles(later, ("Mend the pump", leaf(earlier))))
    report = space.sweep()
    assert (report.sessions, report.ignored) == (2, {})
    assert space.session(earlier.session_id).title == "Mend the pump"
    assert space.session(later.session_id).title is None


def test_also_when_the_title_comes_later_and_the_session_went_on(space: Workspace) -> None:
    earlier = session(1)
    named = leaf(earlier)
    earlier.prompt("and more")
    space.write(earlier)
    space.sweep()
    space.write(titles(session(2), ("Mend the pump", named)))
    space.sweep()
    assert space.session(earlier.session_id).title == "Mend the pump"


def test_a_title_of_the_users_own_wins(space: Workspace) -> None:
    earlier = session(1)
    named = leaf(earlier)
    earlier.title("Pumps")
    space.write(earlier, titles(session(2), ("Mend the pump", named)))
    space.sweep()
    assert space.session(earlier.session_id).title == "Pumps"


def test_of_two_logs_with_the_record_the_one_that_ends_with_it_is_meant(space: Workspace) -> None:
    earlier = session(1)
    resumed = earlier.resume_copy(2)
    named = leaf(earlier)
    resumed.prompt("and more")
    space.write(earlier, resumed, titles(session(3), ("Mend the pump", named)))
    space.sweep()
    assert space.session(earlier.session_id).title == "Mend the pump"
    assert space.session(resumed.session_id).title is None


def test_a_record_that_no_log_or_several_end_with_titles_nobody(space: Workspace) -> None:
    earlier = session(1)
    copy = earlier.resume_copy(2)
    summaries = (("Mend the pump", leaf(earlier)), ("Gone", "00000000-0000-4000-8000-000000000000"))
    space.write(earlier, copy, titles(session(3), *summaries))
    report = space.sweep()
    assert report.ignored == {"summary of another session": 2}
    for log in (earlier, copy):
        assert space.session(log.session_id).title is None


def test_forgetting_a_session_forgets_the_title_that_another_log_gives_it(space: Workspace) -> None:
    earlier, later = session(1), session(2)
    space.write(earlier, titles(later, ("Mend the pump", leaf(earlier))))
    space.sweep()
    space.forget(sessions=(earlier.session_id,))
    later.prompt("again")
    space.write(later)
    space.sweep()
    dump = str(space.dump())
    assert "Mend the pump" not in dump
    assert later.session_id in dump and earlier.session_id not in dump


def put_behind(path: Path, size: int) -> None:
    """Put one line in front of a log, so that its own lines begin at `size`."""
    line = b'{"type":"unknown","of":"' + b"x" * (size - 27) + b'"}\n'
    path.write_bytes(line + path.read_bytes())


@pytest.mark.parametrize("before", [2, 30, 300])
def test_a_record_is_found_across_the_pieces_in_which_logs_are_searched(
    space: Workspace, before: int
) -> None:
    earlier = session(1)
    path, _ = space.write(earlier, titles(session(2), ("Mend the pump", leaf(earlier))))
    place = path.read_bytes().rindex(leaf(earlier).encode())
    put_behind(path, 1024 * 1024 - place - before)
    space.sweep()
    assert space.session(earlier.session_id).title == "Mend the pump"


def test_a_folder_is_searched_in_little_memory_however_large_its_logs(space: Workspace) -> None:
    earlier = session(1)
    paths = space.write(earlier, titles(session(2), ("Mend the pump", leaf(earlier))))
    put_behind(paths[0], 32 * 1024 * 1024)
    file = source_at(str(paths[1]))
    assert file is not None
    tracemalloc.start()
    try:
        (block,) = read(file, 0, LINE_CAP)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert owners_in(block) == {leaf(earlier): earlier.session_id}
    assert peak < 8 * 1024 * 1024
