"""Files that are named like logs and are none, packed logs, linked folders, and endless lines."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.testing.workspace import Workspace


def talk(seed: int = 1) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"question {seed}")
    log.say(f"answer {seed}")
    return log


@pytest.mark.rows("ING-18")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(talk().dump()), "packed with gzip"),
        (zstd.compress(talk().dump()), "packed with zstd"),
        (json.dumps(talk().rows[0], indent=2).encode(), "one line of JSON"),
        (random.Random(5).randbytes(5000) + b"\n", "not a log of Claude Code"),
        (b"not one line break in it", "not a log of Claude Code"),
    ],
    ids=["gzip", "zstd", "pretty", "random", "no line"],
)
def test_a_file_without_any_record_is_not_called_read(
    space: Workspace, content: bytes, reason: str
) -> None:
    good = talk(7)
    (path,) = space.write(good)
    bad = path.with_name("bad.jsonl")
    bad.write_bytes(content)
    dry = space.sweep(dry_run=True)
    report = space.sweep()
    for found in (dry, report):
        assert (found.discovered, found.ingested) == (2, 1)
        (failure,) = found.failed
        assert failure.path == str(bad)
        assert reason in failure.reason
    assert len(space.events(good.session_id)) == 2
    assert space.sweep().skipped_unchanged == 2
    config = str(space.write_config())
    done = space.run("--config", config, "sweep")
    assert done.returncode == 0
    assert str(bad) not in done.stderr, "it is warned of once"
    shown = json.loads(space.run("--config", config, "status", "--json").stdout)
    assert shown["unread_logs"] == [str(bad)]
    checks = json.loads(space.run("--config", config, "doctor", "--json").stdout)["checks"]
    assert [str(bad) in check["detail"] for check in checks if check["name"] == "logs"] == [True]
    bad.write_bytes(talk(8).dump())
    assert space.sweep().failed == []
    assert json.loads(space.run("--config", config, "status", "--json").stdout)["unread_logs"] == []


@pytest.mark.rows("ING-18")
def test_an_empty_or_half_written_file_is_no_warning(space: Workspace) -> None:
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "blank.jsonl").write_bytes(b"\n\n")
    (folder / "begun.jsonl").write_bytes(talk().dump()[:50])
    assert space.sweep().failed == []


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd.compress)])
def test_packed_logs_read_as_plain_ones(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    plain, packed = Workspace(tmp_path / "a"), Workspace(tmp_path / "b")
    for space in (plain, packed):
        log = talk()
        child = log.subagent("look")
        child.say("seen")
        space.write(log, child)
        CodexLog(2).header().turn().prompt("hello").answer("hi").write(space.flavor_home("codex"))
        other = PiLog(3)
        other.prompt("hello pi")
        other.answer("hi")
        other.write(space.flavor_home("pi"))
    for home in (packed.claude, packed.root / "codex", packed.root / "pi"):
        for path in [p for p in home.rglob("*.jsonl") if p.is_file()]:
            path.with_name(path.name + suffix).write_bytes(pack(path.read_bytes()))
            path.unlink()
    assert plain.sweep().ingested == packed.sweep().ingested == 4
    assert packed.dump() == plain.dump()


@pytest.mark.rows("ING-19")
def test_a_log_that_is_packed_later_adds_nothing(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    before = space.dump()
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
    assert space.sweep().discovered == 1, "the plain one counts while both are there"
    path.unlink()
    space.sweep()
    assert space.dump() == before


@pytest.mark.rows("ING-19")
def test_a_torn_packed_log_is_named_with_its_reason(space: Workspace) -> None:
    (path,) = space.write(talk())
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.unlink()
    (failure,) = space.sweep().failed
    assert "cannot be unpacked" in failure.reason


@pytest.mark.rows("ING-20")
def test_linked_project_folders_are_followed_once(space: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    log, inside = talk(1), talk(2)
    (elsewhere / f"{log.session_id}.jsonl").write_bytes(log.dump())
    (own,) = space.write(inside)
    projects = space.claude / "projects"
    (projects / "linked").symlink_to(elsewhere)
    (projects / "again").symlink_to(elsewhere)
    (projects / "inside").symlink_to(own.parent)
    (projects / "above").symlink_to(tmp_path)
    (projects / "nowhere").symlink_to(tmp_path / "gone")
    report = space.sweep()
    assert (report.discovered, report.failed) == (2, [])
    assert set(space.sessions()) == {log.session_id, inside.session_id}


@pytest.mark.rows("ING-20")
def test_links_in_a_ring_come_to_an_end(space: Workspace) -> None:
    (path,) = space.write(talk())
    os.symlink(path.parent.parent, path.parent / "up")
    os.symlink(path.parent, path.parent.parent / "down")
    assert space.sweep().discovered == 1


@pytest.mark.rows("ING-21")
def test_a_line_over_the_cap_is_in_quarantine(space: Workspace) -> None:
    space.set_ingest(line_cap_bytes=4096)
    log = talk()
    (path,) = space.write(log)
    offset = path.stat().st_size
    log.prompt("x" * 10_000)
    log.say("after it")
    space.write(log)
    report = space.sweep()
    assert report.too_long == 1
    done = space.run("--config", str(space.write_config()), "store", "quarantine", "--json")
    (found,) = json.loads(done.stdout)["damaged"]
    assert (found["path"], found["offset"]) == (str(path), offset)
    assert [event.text for event in space.events(log.session_id)][-1] == "after it"


@pytest.mark.rows("ING-18", "ING-21")
def test_a_document_over_the_cap_is_not_called_another_agents(space: Workspace) -> None:
    gemini = space.root / "gemini"
    space.paths = {"gemini": (str(gemini),)}
    space.set_ingest(line_cap_bytes=4096)
    log = GeminiLog(1)
    log.prompt("x" * 10_000)
    path = log.write_document(gemini)
    for report in (space.sweep(dry_run=True), space.sweep()):
        (failure,) = report.failed
        assert failure.path == str(path)
        assert failure.reason == "no record in it is within ingest.line_cap_bytes"
