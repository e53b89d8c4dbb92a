"""A damaged or missing database: every command says so, nothing is deleted, capture goes on."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.settings.load import variable
from session_memory.store.damage import MAX_COPIES, damaged_copies, keep_aside, known_damage
from session_memory.store.sqlite.connection import PAGE_SIZE, connect, rows
from session_memory.testing.workspace import Workspace

Damage = Callable[[Path], object]


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A swept store that is the one this user is set up with."""
    space = Workspace(tmp_path)
    for seed in range(1, 5):
        log = ClaudeLog(seed)
        log.prompt(f"please fix number {seed}")
        for step in range(20):
            log.run(f"make step-{step}", f"{seed} step {step}: " + "output " * 40)
        log.say("done")
        space.write(log)
    space.sweep()
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(space.write_config()))
    monkeypatch.setenv(variable("store.path"), str(space.store_directory))
    return space


def overwrite(path: Path, at: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(1).randbytes(length))


def cut_short(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate((path.stat().st_size // PAGE_SIZE - 5) * PAGE_SIZE)


def overwrite_root(path: Path, *tables: str) -> None:
    """The first page of tables."""
    db = connect(str(path))
    pages = dict(rows(db, "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'"))
    db.close()
    for table in tables:
        overwrite(path, (pages[table] - 1) * PAGE_SIZE, PAGE_SIZE)


ANY: dict[str, Damage] = {
    "cut short": cut_short,
    "garbage in the header": lambda path: overwrite(path, 0, 100),
    "bad pages": lambda path: overwrite_root(path, "source", "session"),
    "no database at all": lambda path: path.write_bytes(random.Random(1).randbytes(50_000)),
    "garbage in the log": lambda path: path.with_name("store.db-wal").write_bytes(b"x" * 9000),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
}


def segments(space: Workspace) -> list[Path]:
    return sorted(space.store_directory.rglob("*.seg"))


@pytest.mark.rows("STO-12")
@pytest.mark.parametrize("kind", ANY)
def test_every_command_says_what_is_wrong_and_what_to_type(
    space: Workspace, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    ANY[kind](space.store_directory / "store.db")
    for words in ("status", "sessions", "search output", "store dump", "store fsck", "usage"):
        code = main(words.split())
        told = "".join(capsys.readouterr())
        assert code == 1, words
        assert "session-memory store repair" in told, words
        assert "unexpected" not in told, words


IN_THE_WAY: dict[str, Damage] = {
    "directory": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "link to nothing": lambda path: path.symlink_to(path.parent / "not mounted" / "store.db"),
}


@pytest.mark.rows("STO-12")
@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_what_is_no_file_is_reported_and_nothing_is_made_in_its_place(
    space: Workspace, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    before, database = space.dump(), space.store_directory / "store.db"
    database.unlink()
    IN_THE_WAY[kind](database)
    for words in (
        "status",
        "search output",
        "store fsck",
        "sweep",
        "store repair",
        "store repair --apply",
    ):
        code = main(words.split())
        told = "".join(capsys.readouterr())
        assert code == 1, words
        assert "is not a file" in told, words
        assert "then run `session-memory store repair`" in told, words
    assert main(["doctor", "--quick"]) == 1
    assert "is not a file" in capsys.readouterr().out
    assert [*space.store_directory.glob("store.db*")] == [database]
    assert known_damage(str(space.store_directory)) is None
    database.rename(space.root / "moved away")
    assert main(["store", "repair", "--apply"]) == 3
    assert space.dump() == before


@pytest.mark.rows("STO-12")
def test_a_directory_in_the_place_of_the_log_is_reported(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    log = space.store_directory / "store.db-wal"
    log.mkdir()
    for words in ("status", "sweep", "store fsck", "store repair"):
        assert main(words.split()) == 1, words
        assert f"{log} is not a file" in capsys.readouterr().err, words
    log.rmdir()
    assert main(["store", "fsck"]) == 0


@pytest.mark.rows("STO-12")
def test_a_database_that_cannot_be_opened_is_reported(
    space: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(apsw, "Connection", refuse)
    for words in ("status", "sweep", "store fsck", "store repair"):
        assert main(words.split()) == 1, words
        told = "".join(capsys.readouterr())
        assert "cannot open the database" in told, words
        assert "unexpected" not in told, words
        assert "check that you may read and write it" in told, words
    assert damaged_copies(str(space.store_directory)) == ()


DENIED = (PermissionError(13, "Permission denied", "a place"), apsw.ReadOnlyError("a place"))


@pytest.mark.parametrize("error", DENIED, ids=["by the system", "by SQLite"])
def test_a_place_that_may_not_be_used_is_reported(
    space: Workspace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def refuse(_: str) -> bool:
        raise error

    monkeypatch.setattr("session_memory.store.swap.is_cut_off", refuse)
    for words in ("status", "sweep", "store fsck"):
        assert main(words.split()) == 1, words
        told = "".join(capsys.readouterr())
        assert "unexpected" not in told, words
        assert "a place" in told, words
        assert "hint: check permissions" in told, words
    assert space.store_directory.exists()


@pytest.mark.rows("STO-12")
def test_fsck_tells_programs_of_a_database_it_cannot_open(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_short(space.store_directory / "store.db")
    assert main(["store", "fsck", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert [finding["check"] for finding in found["findings"]] == ["integrity"]


@pytest.mark.rows("STO-13")
@pytest.mark.parametrize("kind", [kind for kind in ANY if kind != "missing"])
def test_a_sweep_keeps_a_damaged_database_and_captures_into_a_fresh_one(
    space: Workspace, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    before, texts = space.dump(), segments(space)
    database = space.store_directory / "store.db"
    ANY[kind](database)
    damaged = database.read_bytes()
    assert main(["sweep"]) == 3
    assert "session-memory store repair" in capsys.readouterr().out
    (kept,) = damaged_copies(str(space.store_directory))
    assert (space.store_directory / kept).read_bytes() == damaged
    assert space.dump() == before
    assert set(texts) <= set(segments(space))

    assert main(["sweep"]) == 3, "every sweep says so until it is repaired"
    capsys.readouterr()
    assert main(["status"]) == 0
    assert kept in capsys.readouterr().out
    assert main(["status", "--json"]) == 0
    assert kept in json.loads(capsys.readouterr().out)["damage"]
    assert main(["doctor", "--quick", "--json"]) == 1
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["damage"]["fix"] == "session-memory store repair"


@pytest.mark.rows("STO-13")
def test_what_fsck_found_keeps_the_next_sweep_from_writing_there(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    database = space.store_directory / "store.db"
    overwrite_root(database, "effect")  # no sweep reads this one
    damaged = database.read_bytes()
    assert main(["store", "fsck"]) == 1
    assert main(["sweep"]) == 3
    (kept,) = damaged_copies(str(space.store_directory))
    assert (space.store_directory / kept).read_bytes() == damaged
    capsys.readouterr()


@pytest.mark.rows("STO-13")
@pytest.mark.parametrize("kind", ANY)
def test_no_text_is_deleted_while_its_database_is_damaged_or_missing(
    space: Workspace, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    texts = segments(space)
    (space.store_directory / "sweep.unfinished").touch()  # a sweep that looks for loose files
    ANY[kind](space.store_directory / "store.db")
    main(["sweep"])
    (space.store_directory / "sweep.unfinished").touch()
    main(["sweep"])
    main(["store", "repair", "--layer", "orphans", "--apply"])
    assert set(texts) <= set(segments(space))
    capsys.readouterr()


@pytest.mark.rows("STO-13")
def test_a_removed_database_is_noticed_and_captured_anew(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    before = space.dump()
    (space.store_directory / "store.db").unlink()
    assert main(["sweep"]) == 3
    assert "missing" in capsys.readouterr().out
    assert space.dump() == before
    for path in segments(space):
        path.unlink()
    (space.store_directory / "damaged.json").unlink()
    (space.store_directory / "store.db").unlink()
    assert main(["sweep"]) == 3, "the forget marks alone tell that there was a store"
    capsys.readouterr()


@pytest.mark.rows("STO-13")
def test_without_any_forget_marks_logs_are_not_read_again_unasked(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (space.store_directory / "store.db").unlink()
    (space.store_directory / "forget-marks.json").unlink()
    assert main(["sweep"]) == 1
    assert "repair" in capsys.readouterr().err
    assert not (space.store_directory / "store.db").exists()


def test_keeping_goes_on_where_it_was_cut_off(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = str(space.store_directory)
    database = space.store_directory / "store.db"
    log = space.store_directory / "store.db-wal"
    log.write_bytes(b"its log")
    content = database.read_bytes()

    rename = os.rename
    for renames in (0, 1):
        left = [renames]

        def cut_off(source: str, target: str, left: list[int] = left) -> None:
            if not left[0]:
                raise InterruptedError
            rename(source, target)
            left[0] -= 1

        monkeypatch.setattr("session_memory.store.damage.os.rename", cut_off)
        with pytest.raises(InterruptedError):
            keep_aside(directory, space.now, "damaged")
    monkeypatch.undo()
    keep_aside(directory, space.now, "damaged")
    (kept,) = damaged_copies(directory)
    assert (space.store_directory / kept).read_bytes() == content
    assert (space.store_directory / (kept + "-wal")).read_bytes() == b"its log"
    assert not database.exists()
    assert not log.exists()
    found = known_damage(directory)
    assert found is not None
    assert found.files == (kept,)


def test_a_failing_disk_is_not_filled_with_damaged_databases(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(MAX_COPIES):
        cut_short(space.store_directory / "store.db")
        assert main(["sweep"]) == 3
    cut_short(space.store_directory / "store.db")
    assert main(["sweep"]) == 1
    assert "check the disk" in capsys.readouterr().err
    assert len(damaged_copies(str(space.store_directory))) == MAX_COPIES
