"""The sweep as users start it: a process with options, an exit code and a report."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

INGEST = "session_memory.ingest"


def report_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.rows("ING-01", "ING-04", "RET-07")
def test_the_module_sweeps_and_its_text_shows_every_step_in_order(space: Workspace) -> None:
    files = write_samples(space.claude)
    done = space.run_process("--config", str(space.write_config()), module=INGEST)
    assert done.returncode == 0, done.stderr
    heads = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    steps = ["discover", "normalize", "store", "digest", "evict"]
    assert [head for head in heads if head in steps] == steps
    assert f"discovered {len(files)}, ingested {len(files)}, skipped_unchanged 0" in done.stdout
    assert f"analyzed {len(space.sessions())}" in done.stdout
    for word in ("freed", "final_usage", "age 0", "soft 0", "hard 0"):
        assert word in done.stdout


@pytest.mark.rows("ING-04", "RET-07")
def test_the_report_as_json_has_the_same_numbers(space: Workspace) -> None:
    files = write_samples(space.claude)
    config = str(space.write_config())
    first = report_of(space.run_process("--config", config, "--json", module=INGEST).stdout)
    second = report_of(space.run("--config", config, "sweep", "--json").stdout)
    assert (first["discovered"], first["ingested"]) == (len(files), len(files))
    assert (second["ingested"], second["skipped_unchanged"]) == (0, len(files))
    assert second["analyzed"] == 0
    assert set(first["retention"]) >= {"freed", "final_usage", "age", "soft", "hard", "data_loss"}


@pytest.mark.rows("ING-02")
def test_a_dry_run_as_a_process_makes_no_file(space: Workspace) -> None:
    files = write_samples(space.claude)
    config = space.write_config()
    before = sorted(space.root.rglob("*"))
    done = space.run_process("--dry-run", "--config", str(config), module=INGEST)
    assert done.returncode == 0, done.stderr
    assert f"discovered {len(files)}" in done.stdout
    assert sorted(space.root.rglob("*")) == before


@pytest.mark.rows("ING-03")
def test_two_configurations_keep_two_stores_apart(tmp_path: Path) -> None:
    one, two = Workspace(tmp_path, store="one"), Workspace(tmp_path, store="two")
    write_samples(one.claude)
    assert one.run_process("--config", str(one.write_config()), module=INGEST).returncode == 0
    assert one.store_directory.is_dir()
    assert not two.store_directory.exists()
    kept = {path: path.stat().st_mtime_ns for path in one.store_directory.rglob("*")}
    assert two.run_process("--config", str(two.write_config()), module=INGEST).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in one.store_directory.rglob("*")} == kept
    assert two.dump() == one.dump()


@pytest.mark.rows("ING-07")
def test_while_a_sweep_runs_another_says_so_and_ends_well(space: Workspace) -> None:
    write_samples(space.claude)
    config = str(space.write_config())
    space.store_directory.mkdir(mode=0o700)
    with (space.store_directory / "sweep.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = space.run_process("--config", config, module=INGEST)
        assert done.returncode == 0
        assert "already running" in done.stdout + done.stderr
        assert not (space.store_directory / "store.db").exists()
    assert space.run_process("--config", config, module=INGEST).returncode == 0
    assert space.sessions()


@pytest.mark.rows("ING-07")
def test_two_processes_at_once_store_what_one_would(space: Workspace, tmp_path: Path) -> None:
    write_samples(space.claude)
    for seed in range(200, 230):
        log = ClaudeLog(seed)
        log.prompt(f"question {seed}")
        log.say("answer " * 200)
        space.write(log)
    config = str(space.write_config())
    both = [space.start("--config", config, module=INGEST) for _ in range(2)]
    ended = [(process.communicate(timeout=120), process.returncode) for process in both]
    assert [code for _, code in ended] == [0, 0], ended
    alone = Workspace(tmp_path, store="alone")
    alone.sweep()
    assert space.dump() == alone.dump()
    assert space.findings() == []


@pytest.mark.rows("ING-08")
@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_named_and_the_exit_code_is_3(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt("still here")
    (path,) = space.write(log)
    bad = path.with_name("bad.jsonl")
    bad.symlink_to("/proc/self/mem")  # opens, then fails to read, for root too
    done = space.run_process("--config", str(space.write_config()), module=INGEST)
    assert done.returncode == 3
    assert str(bad) in done.stderr
    assert os.strerror(5) in done.stderr
    assert list(space.sessions()) == [log.session_id]
    told = space.run_process("--config", str(space.write_config()), "--json", module=INGEST)
    report = report_of(told.stdout)
    assert len(report["failed"]) == 1
    assert (report["failed"][0]["path"], report["failed"][0]["reason"]) == (
        str(bad),
        os.strerror(5),
    )
    assert report["discovered"] == report["ingested"] + report["skipped_unchanged"] + 1


def test_a_broken_configuration_is_refused_before_anything_is_written(space: Workspace) -> None:
    config = space.write_config()
    config.write_text(config.read_text() + "line_cap_bytes = -1\n", encoding="utf-8")
    before = sorted(space.root.rglob("*"))
    done = space.run_process("--config", str(config), module=INGEST)
    assert done.returncode == 4
    assert "error:" in done.stderr
    assert sorted(space.root.rglob("*")) == before


@pytest.mark.rows("ING-08")
def test_many_unreadable_files_do_not_flood_the_screen(space: Workspace) -> None:
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:08}-0000-4000-8000-000000000000.jsonl").write_bytes(b"\x00\xff\n" * 9)
    config = str(space.write_config())
    few = space.run("--config", config, "sweep")
    assert few.returncode == 3
    assert few.stderr.count("not read: ") == 9
    assert "and 21 more; -v shows every one" in few.stderr
    other = str(space.with_store("other").write_config())
    assert space.run("--config", other, "-v", "sweep").stderr.count("not read: ") == 30
