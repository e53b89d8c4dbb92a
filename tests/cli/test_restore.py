"""`session-memory store restore` as a user runs it: from a damaged store back to an equal one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.pauses import Pause
from session_memory.ingest.pauses import read_pauses, write_pauses
from session_memory.memory.layout import TRACES
from session_memory.memory.traces import file_name, thread_named
from session_memory.store import backups, marks
from session_memory.store.lock import exclusive
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

WORD = "zebrawood"
SECRET_TALK = ClaudeLog(701)
SECRET_TALK.prompt("please remember this")
SECRET_TALK.prompt(f"I moved to {WORD}")
SECRET_TALK.say(f"noted: {WORD}")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    space.write(SECRET_TALK)
    space.sweep()
    return space


@pytest.fixture
def backup(space: Workspace) -> Path:
    target = space.root / "backup"
    assert run(space, "store", "backup", str(target)).returncode == 0
    return target


def run(space: Workspace, *arguments: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *arguments)


def restore(space: Workspace, backup: Path, *options: str) -> dict[str, Any]:
    done = run(space, "store", "restore", str(backup), "--yes", "--json", *options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def refusal(done: subprocess.CompletedProcess[str], code: int) -> str:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def content(directory: Path) -> dict[str, bytes]:
    """Every file of a store, but for those that come and go by themselves."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.endswith((".lock", "-wal", "-shm"))
    }


def overwrite(space: Workspace) -> None:
    with (space.store_directory / "store.db").open("r+b") as file:
        file.write(b"\xff" * 50_000)


def truncate(space: Workspace) -> None:
    path = space.store_directory / "store.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def lose_database(space: Workspace) -> None:
    (space.store_directory / "store.db").unlink()


def lose_texts(space: Workspace) -> None:
    shutil.rmtree(space.store_directory / "segments")


def lose_everything(space: Workspace) -> None:
    shutil.rmtree(space.store_directory)


@pytest.mark.rows("BAK-04")
@pytest.mark.parametrize(
    "damage", [overwrite, truncate, lose_database, lose_texts, lose_everything]
)
def test_a_damaged_store_comes_back_from_its_backup(
    space: Workspace, backup: Path, damage: Any
) -> None:
    before = space.dump()
    damage(space)
    restore(space, backup)
    assert space.dump() == before
    assert space.findings() == []
    assert space.sweep().events == 0


@pytest.mark.rows("BAK-04")
def test_the_present_store_is_kept_aside_and_comes_back(space: Workspace, backup: Path) -> None:
    later = ClaudeLog(702)
    later.prompt("after the backup")
    space.write(later)
    space.sweep()
    before = space.dump()
    (space.store_directory / "hooks").mkdir()
    (space.store_directory / "hooks" / "launcher").write_text("x", encoding="utf-8")
    (space.store_directory / "audit.jsonl").write_text("{}\n", encoding="utf-8")
    done = run(space, "store", "restore", str(backup), "--yes")
    assert done.returncode == 0, done.stderr
    assert later.session_id not in space.sessions()
    (aside,) = space.store_directory.glob("before-restore-*")
    assert f"session-memory store restore {aside}" in done.stdout
    assert (space.store_directory / "hooks" / "launcher").exists()
    assert (space.store_directory / "audit.jsonl").read_text(encoding="utf-8") == "{}\n"
    restore(space, aside)
    assert space.dump() == before
    assert len(list(space.store_directory.glob("before-restore-*"))) == 2


@pytest.mark.rows("BAK-04")
def test_a_damaged_present_store_is_kept_to_the_byte(space: Workspace, backup: Path) -> None:
    overwrite(space)
    before = content(space.store_directory)
    output = restore(space, backup)
    assert output["replaces"]["unreadable"]
    kept = content(Path(output["aside"]))
    assert kept == {name: data for name, data in before.items() if name in kept}
    assert "store.db" in kept


def test_a_dry_run_checks_and_changes_nothing(space: Workspace, backup: Path) -> None:
    before = content(space.store_directory)
    done = run(space, "store", "restore", str(backup), "--dry-run")
    assert done.returncode == 0
    assert "checked" in done.stdout and "nothing was changed" in done.stdout
    assert content(space.store_directory) == before


def test_without_a_terminal_it_needs_yes(space: Workspace, backup: Path) -> None:
    before = space.dump()
    assert "--yes" in refusal(run(space, "store", "restore", str(backup)), 8)
    assert space.dump() == before


@pytest.mark.rows("BAK-04")
@pytest.mark.parametrize("name", ["store.db", "backup.json", "forget-marks.json", "segment"])
def test_a_damaged_backup_is_refused_before_anything_changes(
    space: Workspace, backup: Path, name: str
) -> None:
    path = next(backup.rglob("*.seg")) if name == "segment" else backup / name
    path.write_bytes(path.read_bytes()[:-3])
    before = content(space.store_directory)
    output = refusal(run(space, "store", "restore", str(backup), "--yes"), 1)
    assert "damaged" in output and "use another backup" in output
    assert "session-memory store repair" not in output, "that mends the store, not a backup"
    assert content(space.store_directory) == before


def test_what_is_no_backup_is_refused(space: Workspace, tmp_path: Path) -> None:
    assert "no backup" in refusal(
        run(space, "store", "restore", str(tmp_path / "nothing"), "--yes"), 1
    )
    itself = run(space, "store", "restore", str(space.store_directory), "--yes")
    assert "the store itself" in refusal(itself, 8)


def test_the_older_backup_of_an_interrupted_one_is_named(space: Workspace, backup: Path) -> None:
    backup.rename(backup.with_name("backup.old-backup"))
    assert "backup.old-backup" in refusal(run(space, "store", "restore", str(backup), "--yes"), 1)


def test_a_backup_of_a_newer_program_is_refused(space: Workspace, backup: Path) -> None:
    path = backup / backups.MANIFEST
    newer = json.loads(path.read_bytes()) | {"format": backups.FORMAT + 1}
    whole = path.read_bytes()
    path.write_bytes(msgspec.json.encode(newer))
    assert "newer session-memory" in refusal(
        run(space, "store", "restore", str(backup), "--yes"), 8
    )
    path.write_bytes(whole)
    path.unlink()
    database = apsw.Connection(str(backup / "store.db"))
    database.pragma("user_version", 999)
    database.close()
    assert "schema 999" in refusal(run(space, "store", "restore", str(backup), "--yes"), 5)


def test_a_store_that_is_being_swept_is_not_replaced(space: Workspace, backup: Path) -> None:
    with exclusive(str(space.store_directory / "sweep.lock"), "a sweep"):
        refusal(run(space, "store", "restore", str(backup), "--yes"), 6)
    assert list(space.store_directory.glob("before-restore-*")) == []


def test_a_backup_without_a_manifest_is_checked_by_its_rows(space: Workspace, backup: Path) -> None:
    """As older programs made them."""
    before = space.dump()
    (backup / backups.MANIFEST).unlink()
    (backup / marks.NAME).unlink()
    lose_database(space)
    restore(space, backup)
    assert space.dump() == before


# what was forgotten stays forgotten


def traces(space: Workspace, word: str = WORD) -> list[str]:
    for aside in space.store_directory.glob("before-restore-*"):
        shutil.rmtree(aside)
    with space.store() as store:
        return store.traces(word)


def named_anywhere(space: Workspace, text: str) -> list[str]:
    """Files below the store that hold a text, as plain bytes."""
    found = content(space.store_directory)
    return [name for name, data in found.items() if text.encode() in data]


@pytest.mark.rows("BAK-01")
@pytest.mark.parametrize(
    "wanted", [("--session", SECRET_TALK.session_id), ("--text", WORD)], ids=["session", "text"]
)
@pytest.mark.parametrize("database", ["there", "damaged", "gone"])
def test_what_was_forgotten_since_the_backup_stays_forgotten(
    space: Workspace, backup: Path, wanted: tuple[str, str], database: str
) -> None:
    assert run(space, "forget", *wanted, "--yes").returncode == 0
    left = space.dump()
    {"there": bool, "damaged": overwrite, "gone": lose_database}[database](space)
    output = restore(space, backup)
    assert output["forgotten_sessions"] + output["shortened_sessions"] == 1
    for _ in range(2):
        assert space.dump() == left
        assert traces(space) == []
        assert named_anywhere(space, WORD) == []
        if wanted[0] == "--session":
            assert named_anywhere(space, SECRET_TALK.session_id) == []
        assert space.findings() == []
        with space.claude.joinpath("touched.jsonl").open("a"):
            pass
        for path in space.files():
            os.utime(path)
        assert space.sweep().events == 0


@pytest.mark.rows("BAK-01")
@pytest.mark.parametrize("logs", ["there", "gone"])
def test_forgotten_stays_gone_through_repair_and_an_older_backup(
    space: Workspace, backup: Path, logs: str
) -> None:
    """Forget, lose the database, repair, sweep, restore a backup that holds it, sweep again."""
    other = ClaudeLog(704)
    other.prompt("this whole talk goes: quokka")
    space.write(other)
    space.sweep()
    newer = space.root / "newer"
    assert run(space, "store", "backup", str(newer)).returncode == 0
    assert run(space, "forget", "--text", WORD, "--yes").returncode == 0
    assert run(space, "forget", "--session", other.session_id, "--yes").returncode == 0
    left = space.dump()
    if logs == "gone":
        for path in space.files():
            path.unlink()

    def check_gone() -> None:
        assert traces(space) == []
        assert traces(space, "quokka") == []
        for word in (WORD, "quokka", other.session_id):
            assert named_anywhere(space, word) == []
        assert space.findings() == []

    lose_database(space)
    assert (
        run(space, "store", "repair", "--apply").returncode == 3
    )  # names what only the database knew
    assert space.dump() == left
    check_gone()
    assert run(space, "sweep").returncode == 0
    check_gone()
    for copy in (newer, backup):
        restore(space, copy)
        check_gone()
        assert run(space, "sweep").returncode == 0
        check_gone()
        assert space.dump() == left


@pytest.mark.rows("FGT-02")
@pytest.mark.parametrize(
    "wanted", [("--session", SECRET_TALK.session_id), ("--text", WORD)], ids=["session", "text"]
)
def test_forget_names_every_copy_that_it_leaves_alone(
    space: Workspace, backup: Path, wanted: tuple[str, str]
) -> None:
    aside = restore(space, backup)["aside"]
    overwrite(space)
    assert run(space, "sweep").returncode == 3
    assert run(space, "store", "repair", "--apply").returncode == 3
    (damaged,) = space.store_directory.glob("store.db.damaged-*Z")
    exported = space.root / "exported.jsonl"
    assert run(space, "store", "export", str(exported)).returncode == 0
    unclaimed = space.store_directory / "unclaimed"
    unclaimed.mkdir()
    (log,) = (path for path in space.files() if SECRET_TALK.session_id in path.name)
    copies = {str(path) for path in (aside, damaged, exported, unclaimed, backup, log)}
    shutil.copytree(space.store_directory, space.root / "copy")
    done = run(space, "forget", *wanted, "--yes", "--json")
    assert {one["where"] for one in json.loads(done.stdout)["remains"]} == copies

    shutil.rmtree(space.store_directory)
    shutil.copytree(space.root / "copy", space.store_directory)
    lines = run(space, "forget", *wanted, "--yes").stdout.splitlines()
    assert all(any(line.startswith(f"not touched: {one}: ") for line in lines) for one in copies)
    proof = run(space, "forget", "--text", WORD, "--verify", "--json")
    unread = {one["where"] for one in json.loads(proof.stdout)["not_searched"]}
    assert unread == {str(aside), str(damaged), str(unclaimed)}


def test_forget_says_where_a_text_still_is(space: Workspace, backup: Path) -> None:
    aside = Path(restore(space, backup)["aside"]).name
    done = run(space, "forget", "--text", WORD, "--yes")
    assert done.returncode == 1
    assert f"still there: file {aside}/store.db" in done.stderr


@pytest.mark.rows("BAK-01")
def test_files_made_of_a_forgotten_session_do_not_come_back(space: Workspace, backup: Path) -> None:
    """A memory that the backup holds, of a session that was forgotten since."""
    shutil.rmtree(backup)
    memory = space.store_directory / "memories" / "shop-abc" / "memory"
    (memory / TRACES).mkdir(parents=True)
    name = file_name(thread_named("claude", SECRET_TALK.session_id), "moving")
    (memory / TRACES / name).write_text(f"I moved to {WORD}\n", encoding="utf-8")
    made = f"# Memory\n{SECRET_TALK.session_id}: moved to {WORD}\n"
    (memory / "MEMORY.md").write_text(made, encoding="utf-8")
    assert run(space, "store", "backup", str(backup)).returncode == 0
    assert run(space, "forget", "--session", SECRET_TALK.session_id, "--yes").returncode == 0
    assert named_anywhere(space, WORD) == []
    restore(space, backup)
    assert traces(space) == []
    assert named_anywhere(space, WORD) == []


@pytest.mark.rows("BAK-02")
def test_a_backup_of_another_store_meets_the_marks_of_this_one(
    space: Workspace, backup: Path
) -> None:
    other = space.with_store("other")
    other.sweep()
    assert run(other, "forget", "--session", SECRET_TALK.session_id, "--yes").returncode == 0
    left = other.dump()
    restore(other, backup)
    with space.store() as mine, other.store() as theirs:
        assert mine.fingerprint_key == theirs.fingerprint_key
    assert other.dump() == left
    assert traces(other) == []
    for database in other.store_directory.glob("store.db*"):
        database.unlink()
    shutil.rmtree(other.store_directory / "segments")
    other.sweep()
    assert SECRET_TALK.session_id not in other.sessions()


@pytest.mark.rows("BAK-01")
def test_marks_that_are_lost_are_asked_for(space: Workspace, backup: Path) -> None:
    assert run(space, "forget", "--text", WORD, "--yes").returncode == 0
    overwrite(space)
    (space.store_directory / marks.NAME).unlink()
    said = refusal(run(space, "store", "restore", str(backup), "--yes"), 8)
    assert "--without-marks" in said
    restore(space, backup, "--without-marks")
    assert space.findings() == []


@pytest.mark.rows("BAK-01")
def test_pauses_of_both_stores_hold(space: Workspace) -> None:
    directory = str(space.store_directory)
    write_pauses(directory, (Pause(1),))
    backup = space.root / "paused"
    assert run(space, "store", "backup", str(backup)).returncode == 0
    write_pauses(directory, (Pause(1, 5), Pause(7, 8)))
    overwrite(space)
    restore(space, backup)
    assert read_pauses(directory) == (Pause(1, 5), Pause(7, 8))


# interrupted
