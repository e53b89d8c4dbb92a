"""Repair rebuilds a damaged or missing database: equal to what it was, or what is lost is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.store.test_damage import ANY, overwrite, overwrite_root

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.settings.load import variable
from session_memory.store.damage import damaged_copies, known_damage
from session_memory.store.sqlite.connection import PAGE_SIZE
from session_memory.testing.workspace import Workspace

Output = pytest.CaptureFixture[str]


def talk(seed: int, *said: str) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"please fix number {seed}")
    for step in range(30):
        log.run(f"make step-{step}", f"{seed} step {step}: " + "output " * 40)
    for text in said:
        log.prompt(text)
    log.say("done")
    return log


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A swept store that is the one this user is set up with."""
    space = Workspace(tmp_path)
    space.write(*(talk(seed) for seed in range(1, 6)))
    space.sweep()
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(space.write_config()))
    monkeypatch.setenv(variable("store.path"), str(space.store_directory))
    return space


def database(space: Workspace) -> Path:
    return space.store_directory / "store.db"


def repair(capsys: Output, *words: str) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = main(["store", "repair", "--apply", "--json", *words])
    out, err = capsys.readouterr()
    assert out, err
    told = json.loads(out)
    return code, [entry["detail"] for entry in told["repairs"]]


@pytest.mark.rows("STO-14")
@pytest.mark.parametrize("kind", ANY)
def test_a_damaged_store_is_rebuilt_equal(space: Workspace, capsys: Output, kind: str) -> None:
    before, logs = space.dump(), space.log_hashes()
    with space.store() as store:
        keys = store.fingerprint_key, store.tag_key
    ANY[kind](database(space))
    code, told = repair(capsys)
    assert code in (0, 3), told
    assert space.dump() == before
    assert space.findings() == []
    assert known_damage(str(space.store_directory)) is None
    with space.store() as store:
        assert (store.fingerprint_key, store.tag_key) == keys
    assert space.log_hashes() == logs
    assert main(["sweep"]) == 0
    assert main(["store", "repair"]) == 0
    assert "nothing to repair" in capsys.readouterr().out


@pytest.mark.rows("STO-14")
def test_what_was_captured_after_the_damage_is_joined(space: Workspace, capsys: Output) -> None:
    logs = space.files()
    overwrite(database(space), 30 * PAGE_SIZE, PAGE_SIZE)
    overwrite_root(database(space), "effect")
    main(["store", "fsck"])
    space.write(talk(9, "said after the damage"))
    assert main(["sweep"]) == 3
    wanted = space.with_store("wanted")
    wanted.sweep()
    for log in space.files():  # the fresh database alone knows number 9
        if log not in logs:
            log.unlink()
    code, told = repair(capsys)
    assert code == 3, told  # effects are nowhere else
    assert any("measured effects" in text for text in told)
    assert any(text.endswith(" 1 sessions and 63 events taken over") for text in told), told
    assert space.dump() == wanted.dump()
    assert space.findings() == []


@pytest.mark.rows("STO-14")
def test_a_dry_run_tells_and_changes_nothing(space: Workspace, capsys: Output) -> None:
    overwrite_root(database(space), "event")
    before = {path: path.read_bytes() for path in space.store_directory.rglob("*.*")}
    assert main(["store", "repair"]) == 0
    told = capsys.readouterr().out
    assert "5 sessions and 0 events readable; not all of: event" in told
    assert "--apply does it" in told
    assert {path: path.read_bytes() for path in space.store_directory.rglob("*.*")} == before


@pytest.mark.rows("STO-15")
@pytest.mark.parametrize("kind", ["missing", "bad pages", "garbage in the header"])
def test_forgotten_stays_forgotten_in_a_rebuilt_store(
    space: Workspace, capsys: Output, kind: str
) -> None:
    secret = "the word is zebrawood"
    space.write(talk(7, secret), talk(8, "another talk"))
    assert main(["sweep"]) == 0
    assert main(["forget", "--text", "zebrawood", "--yes"]) == 0
    assert main(["forget", "--session", talk(8).session_id, "--yes"]) == 0
    before = space.dump()
    ANY[kind](database(space))
    code, told = repair(capsys)
    assert code in (0, 3), told
    assert main(["forget", "--text", "zebrawood", "--verify"]) == 0
    assert talk(8).session_id not in space.sessions()
    assert space.dump() == before


@pytest.mark.rows("STO-15")
def test_without_forget_marks_repair_reads_no_log_unasked(space: Workspace, capsys: Output) -> None:
    before = space.dump()
    database(space).unlink()
    (space.store_directory / "forget-marks.json").unlink()
    assert main(["store", "repair", "--apply"]) == 8
    assert "--without-marks" in capsys.readouterr().err
    assert not database(space).exists()
    code, _ = repair(capsys, "--without-marks")
    assert code == 3  # what only the database knew is named
    assert space.dump() == before


@pytest.mark.rows("STO-14")
def test_the_damaged_file_is_deleted_only_on_demand(space: Workspace, capsys: Output) -> None:
    overwrite_root(database(space), "session")
    damaged = database(space).read_bytes()
    assert main(["sweep"]) == 3
    assert main(["store", "repair", "--delete-kept"]) == 8, "not before it is joined"
    repair(capsys)
    (kept,) = damaged_copies(str(space.store_directory))
    assert (space.store_directory / kept).read_bytes() == damaged
    assert main(["doctor", "--quick"]) in (1, 3)
    assert "repair --delete-kept" in capsys.readouterr().out
    assert main(["forget", "--session", talk(1).session_id, "--yes"]) == 0
    assert f"{kept}: a damaged database" in capsys.readouterr().out, "it may hold the session"
    assert main(["store", "repair", "--delete-kept"]) == 0
    assert damaged_copies(str(space.store_directory)) == ()


@pytest.mark.rows("STO-14")
def test_what_only_the_database_knew_is_kept_or_named(space: Workspace, capsys: Output) -> None:
    """An evicted session: no text and, once its log is deleted, no log either."""
    space.set_retention(raw_soft_cap_bytes=0)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=1 << 30)
    for log in space.files():
        log.unlink()
    space.write_config()
    before = space.dump()
    assert all(entry["digest"] for entry in before)
    shutil.copytree(space.store_directory, space.root / "copy")
    overwrite_root(database(space), "event")
    code, told = repair(capsys)
    assert code == 0, told
    assert space.dump() == before

    shutil.rmtree(space.store_directory)
    shutil.copytree(space.root / "copy", space.store_directory)
    overwrite_root(database(space), "digest", "evicted_digest")
    code, told = repair(capsys)
    assert code == 3
    assert any("5 digests of sessions without text and log are lost" in text for text in told)
    assert space.findings() == []


def test_a_text_whose_row_is_lost_is_matched_with_its_events(
    space: Workspace, capsys: Output
) -> None:
    before = space.dump()
    for log in space.files():
        log.unlink()
    overwrite_root(database(space), "segment")
    code, told = repair(capsys)
    assert code == 0, told
    assert "5 files matched with their events" in told
    assert space.dump() == before
