"""What the user or a repository keeps private is not captured, neither now nor later."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog, call_block, text_block
from session_memory.core.pauses import Pause, begin, end, is_paused
from session_memory.errors import Refused
from session_memory.ingest.pauses import read_pauses, write_pauses
from session_memory.store.values import SessionQuery
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def spoken(cwd: Path | str, *prompts: str) -> ClaudeLog:
    log = ClaudeLog(1, cwd=str(cwd))
    for prompt in prompts:
        log.prompt(prompt)
        log.wait(60)
    return log


def texts(space: Workspace) -> list[str | None]:
    return [event.text for name in space.sessions() for event in space.events(name)]


def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "inner").mkdir()
    return root


@pytest.mark.parametrize("content", ["", "*\n", "# all of it\n", "/\n"])
def test_an_ignore_file_keeps_a_repository_out(
    space: Workspace, tmp_path: Path, content: str
) -> None:
    root = repository(tmp_path)
    (root / ".sessionmemoryignore").write_text(content, encoding="utf-8")
    space.write(spoken(root / "inner", "hidden"))
    report = space.sweep()
    assert texts(space) == []
    assert report.excluded == 1


def test_an_ignore_file_may_name_a_part(space: Workspace, tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / ".sessionmemoryignore").write_text("inner\n", encoding="utf-8")
    hidden = ClaudeLog(2, cwd=str(root / "inner"))
    hidden.prompt("hidden")
    space.write(spoken(root, "shown"), hidden)
    space.sweep()
    assert texts(space) == ["shown"]


def test_an_unreadable_ignore_file_keeps_everything_out(space: Workspace, tmp_path: Path) -> None:
    root = repository(tmp_path)
    (root / ".sessionmemoryignore").write_bytes(b"\xff\xfe")
    space.write(spoken(root, "hidden"))
    space.sweep()
    assert texts(space) == []


def test_excluded_directories_are_not_captured(space: Workspace) -> None:
    space.exclude = ("/work/secret",)
    shown = ClaudeLog(2, cwd="/work/secretive")
    shown.prompt("shown")
    space.write(spoken("/work/secret/app", "hidden"), shown)
    space.sweep()
    assert texts(space) == ["shown"]


def test_what_is_said_during_a_pause_stays_out_for_good(space: Workspace) -> None:
    minute = 60_000
    space.write(spoken("/work/app", "before", "during", "after"))
    directory = str(space.store_directory)
    write_pauses(directory, (Pause(START + minute // 2, START + minute + minute // 2),))
    report = space.sweep()
    assert texts(space) == ["before", "after"]
    assert report.excluded == 1
    space.files()[0].touch()
    space.sweep()
    assert texts(space) == ["before", "after"]


def test_an_unreadable_pause_file_stops_the_sweep(space: Workspace) -> None:
    space.write(spoken("/work/app", "hello"))
    space.store_directory.mkdir(parents=True)
    (space.store_directory / "pauses.json").write_text("[{", encoding="utf-8")
    with pytest.raises(Refused):
        space.sweep()
    assert space.sessions() == {}


def test_pauses_begin_end_and_do_not_pile_up() -> None:
    once = begin((), 10)
    assert begin(once, 20) == once
    assert is_paused(once, 10) and is_paused(once, 10**15) and not is_paused(once, 9)
    over = end(once, 30)
    assert is_paused(over, 29) and not is_paused(over, 30)
    assert begin(over, 40) == (Pause(10, 30), Pause(40))
    assert not is_paused(over, None)


def test_a_pause_that_ends_by_itself() -> None:
    short = begin((), 10, until=50)
    assert is_paused(short, 49) and not is_paused(short, 50)
    assert begin(short, 20, until=40) == short
    assert begin(short, 20) == (Pause(10, 50), Pause(20))


def test_pauses_are_remembered(tmp_path: Path) -> None:
    directory = str(tmp_path / "store")
    assert read_pauses(directory) == ()
    write_pauses(directory, (Pause(1, 2), Pause(3)))
    assert read_pauses(directory) == (Pause(1, 2), Pause(3))


def test_private_spans_are_dropped_before_anything_is_stored(space: Workspace) -> None:
    log = spoken("/work/app", "before <private>my zebrawood address</private> after")
    log.run("echo '<private>quillfeather</private>'", "ok")
    space.write(log)
    space.sweep()
    with space.store() as store:
        assert store.traces("zebrawood") == store.traces("quillfeather") == []
    assert texts(space)[0] == "before [PRIVATE] after"


def test_a_secret_across_two_pieces_of_an_answer_is_found(space: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = spoken("/work/app", "which token?")
    log.reply(text_block(f"it is {secret[:20]}"), text_block(f"{secret[20:]} as you know"))
    space.write(log)
    space.sweep()
    with space.store() as store:
        assert store.traces(secret[4:20]) == store.traces(secret[20:]) == []
    assert "as you know" in "".join(text or "" for text in texts(space))


def test_a_secret_used_as_a_call_id_is_not_stored(space: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = ClaudeLog(1)
    log.prompt("look")
    log.reply(call_block(secret, "Bash", {"command": "ls"}))
    log.result(secret, "a.py")
    space.write(log)
    space.sweep()
    with space.store() as store:
        assert store.traces(secret) == []
        (session,) = store.sessions(SessionQuery())
        ids = {event.call_id for event in store.events(session.id) if event.call_id}
    assert len(ids) == 1 and "[REDACTED_SECRET" in ids.pop()
