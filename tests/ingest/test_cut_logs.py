"""A log that is cut or emptied takes nothing out of memory; one that says something else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.invariants.sessions import log_file

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.cline.log_builder import ClineLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.testing.workspace import Workspace


def talk() -> ClaudeLog:
    log = ClaudeLog(1)
    log.title("mend the walrus pump")
    for turn in range(40):
        log.prompt(f"question {turn}")
        log.run(f"make step-{turn}", f"step {turn} done")
        log.say(f"answer {turn} about walruses")
    return log


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def first_line(data: bytes) -> bytes:
    return data[: data.index(b"\n") + 1]


def nothing(_data: bytes) -> bytes:
    return b""


def zeros(data: bytes) -> bytes:
    """What a power failure leaves of a file on some disks."""
    return bytes(len(data))


def search(space: Workspace, *words: str) -> str:
    done = space.run("--config", str(space.write_config()), "search", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.rows("STO-16")
@pytest.mark.parametrize("cut", [half, first_line, nothing, zeros], ids=lambda cut: cut.__name__)
def test_a_cut_log_impoverishes_nothing(space: Workspace, cut: Callable[[bytes], bytes]) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    before, shown = space.dump(), search(space, "answer", "39")
    path.write_bytes(cut(path.read_bytes()))
    report = space.sweep()
    assert report.superseded == 0
    assert any(
        "was cut or emptied" in warning and path.name in warning for warning in report.warnings
    )
    assert space.dump() == before
    assert search(space, "answer", "39") == shown
    assert space.session(log.session_id).title == "mend the walrus pump"
    assert space.findings() == []
    assert space.sweep().skipped_unchanged == 1


@pytest.mark.rows("STO-16")
def test_a_cut_log_goes_on_and_is_cut_again(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    whole = path.read_bytes()
    space.sweep()
    said = [event.text for event in space.events(log.session_id)]
    path.write_bytes(b"")
    space.sweep()
    log.rows.clear()
    log.prompt("after the first cut")
    path.write_bytes(log.dump())
    space.sweep()
    path.write_bytes(b"")
    space.sweep()
    found = [event.text for event in space.events(log.session_id)]
    assert sorted(filter(None, found)) == sorted(filter(None, [*said, "after the first cut"]))
    path.write_bytes(whole)
    space.sweep()
    assert len(space.events(log.session_id)) == len(said) + 1
    assert space.findings() == []


@pytest.mark.rows("STO-16")
def test_what_was_cut_survives_a_newer_parser_and_a_rebuilt_store(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    before = space.dump()
    path.write_bytes(half(path.read_bytes()))
    space.sweep()
    claude = space.adapters["claude"]
    newer = msgspec.structs.replace(claude, parser_version=claude.parser_version + 1)
    space.adapters = {**space.adapters, "claude": newer}
    space.sweep()
    assert said(space.dump()) == said(before)
    (space.store_directory / "store.db").write_bytes(b"not a database")
    config = str(space.write_config())
    assert space.run("--config", config, "store", "repair", "--apply").returncode in (0, 3)
    found = {event.text for event in space.events(log.session_id)}
    assert "answer 39 about walruses" in found


def said(dump: list[dict[str, Any]]) -> list[Any]:
    return [[(e["kind"], e.get("text")) for e in one["events"]] for one in dump]


@pytest.mark.rows("STO-16")
def test_a_cut_codex_log_keeps_its_session(space: Workspace, tmp_path: Path) -> None:
    log = CodexLog(3).header().turn().prompt("count the walruses").answer("there are nine")
    path = log.write(space.flavor_home("codex"))
    space.sweep()
    before = space.dump()
    path.write_bytes(first_line(path.read_bytes()))
    space.sweep()
    assert space.dump() == before


def whole_logs() -> list[ClineLog | PiLog]:
    """Logs that are read whole at every change: one of lines, one that is a document."""
    logs: list[ClineLog | PiLog] = [PiLog(4), ClineLog(4)]
    for log in logs:
        for turn in range(6):
            log.prompt(f"question {turn}")
            log.run(f"make step-{turn}", f"step {turn} done")
    return logs


@pytest.mark.rows("STO-16")
@pytest.mark.parametrize("number", [0, 1], ids=["pi", "cline"])
class TestLogsThatAreReadWhole:
    def test_one_that_goes_on_behind_the_cut_keeps_what_was_captured(
        self, space: Workspace, number: int
    ) -> None:
        log = whole_logs()[number]
        home = space.flavor_home("pi" if isinstance(log, PiLog) else "cline")
        log.write(home)
        space.sweep()
        before = texts(space, log.session_id)
        del log.rows[len(log.rows) // 2 :]
        if isinstance(log, PiLog):
            log.leaf = log.rows[-1]["id"]
        log.write(home)
        report = space.sweep()
        assert report.superseded == 0
        assert any("was cut or emptied" in warning for warning in report.warnings)
        log.prompt("after the cut")
        log.write(home)
        assert space.sweep().superseded == 0
        assert sorted(texts(space, log.session_id)) == sorted([*before, "after the cut"])
        assert space.findings() == []

    def test_one_that_says_something_else_supersedes(self, space: Workspace, number: int) -> None:
        log = whole_logs()[number]
        home = space.flavor_home("pi" if isinstance(log, PiLog) else "cline")
        log.write(home)
        space.sweep()
        del log.rows[len(log.rows) // 2 :]
        if isinstance(log, PiLog):
            log.leaf = log.rows[-1]["id"]
        log.prompt("another way")
        log.write(home)
        assert space.sweep().superseded > 0
        found = texts(space, log.session_id)
        assert "another way" in found and "question 5" not in found
        assert space.findings() == []

    def test_what_was_cut_survives_a_newer_parser(self, space: Workspace, number: int) -> None:
        log = whole_logs()[number]
        name = "pi" if isinstance(log, PiLog) else "cline"
        path = log.write(space.flavor_home(name))
        space.sweep()
        before = texts(space, log.session_id)
        path.write_bytes(half(path.read_bytes()))
        space.sweep()
        reader = space.adapters[name]
        newer = msgspec.structs.replace(reader, parser_version=reader.parser_version + 1)
        space.adapters = {**space.adapters, name: newer}
        space.sweep()
        assert texts(space, log.session_id) == before


@pytest.mark.rows("STO-16")
@pytest.mark.parametrize("flavor", ["claude", "codex", "pi", "qwen"])
def test_a_log_that_is_cut_again_and_again_keeps_its_order(space: Workspace, flavor: str) -> None:
    path = log_file(flavor, 7, space.flavor_home(flavor))
    lines = path.read_bytes().splitlines(keepends=True)
    space.sweep()
    before = space.dump()
    for left in (len(lines) - 1, len(lines) - 2, len(lines) - 4, 2, 1, 0, len(lines)):
        path.write_bytes(b"".join(lines[:left]))
        assert space.sweep().superseded == 0
        assert space.dump() == before, f"{left} of {len(lines)} lines"
    assert space.findings() == []


def texts(space: Workspace, session: str) -> list[str]:
    return [event.text or "" for event in space.events(session)]
