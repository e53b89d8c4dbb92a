"""Whatever goes wrong with one of three sessions, the other two are captured, and it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex import reader as codex
from session_memory.detect import mine
from session_memory.distil.digest import DigestBuilder
from session_memory.errors import EXIT_OK, EXIT_WARNINGS
from session_memory.ingest.identify import ProjectFinder
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.read_source import SourceReader
from session_memory.store.sqlite import retention, settle, statements, writer
from session_memory.testing.workspace import Workspace

BAD = "/work/bad"


def talk(seed: int, cwd: str) -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt("what is in this directory?")
    log.run("ls", "README.md")
    log.say("only a README")
    return log


class Three:
    """Three sessions, the second of them the one that something goes wrong with."""

    def __init__(self, space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        self.space = space
        self.monkeypatch = monkeypatch
        self.logs = [talk(1, "/work/one"), talk(2, BAD), talk(3, "/work/three")]
        self.files = space.write(*self.logs)
        self.bad = self.logs[1]

    def break_where(self, owner: Any, name: str, is_bad: Callable[..., bool]) -> None:
        """Make a function raise for the arguments that belong to the bad session."""
        real = getattr(owner, name)

        def breaking(*given: Any, **named: Any) -> Any:
            if is_bad(*given, **named):
                raise ZeroDivisionError("an odd session")
            return real(*given, **named)

        self.monkeypatch.setattr(owner, name, breaking)

    def run(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
        """A command on this workspace, with its JSON."""
        config = str(self.space.write_config())
        code = main(["--config", config, *words, "--json"])
        return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def three(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> Three:
    return Three(space, monkeypatch)


def bad_id(three: Three) -> int | None:
    """Our id of the bad session, once it has one."""
    return three.space.session(three.bad.session_id).id


FILE_STEPS: dict[str, Callable[[Three], None]] = {
    "draft": lambda three: three.break_where(
        Drafter, "events", lambda _self, _flavor, part, *_: part.external_id == three.bad.session_id
    ),
    "open session": lambda three: three.break_where(
        writer.SqliteWriter, "session", lambda _self, _flavor, name, _: name == three.bad.session_id
    ),
    "append": lambda three: three.break_where(
        writer.SqliteWriter,
        "append",
        lambda _self, session, *_: session.external_id == three.bad.session_id,
    ),
    "facts": lambda three: three.break_where(
        writer.SqliteWriter,
        "add_facts",
        lambda _self, session, *_: session.external_id == three.bad.session_id,
    ),
    "write facts": lambda three: three.break_where(
        statements, "add_facts", lambda _db, facts: any(fact.value == BAD for *_, fact in facts)
    ),
    "settle": lambda three: three.break_where(
        settle, "_fields", lambda _id, settled, _noted: settled.get("cwd") == BAD
    ),
    "cursor": lambda three: three.break_where(
        SourceReader, "_save_cursor", lambda _self, pass_, **_: "bad" in pass_.file.path
    ),
    "rules": lambda three: three.break_where(
        ProjectFinder, "unwanted", lambda _self, cwd: cwd == BAD
    ),
}


def three_captured(three: Three, names: list[str]) -> None:
    """These sessions are stored whole, with their digests; nothing is half there."""
    assert set(three.space.sessions()) == set(names)
    for name in names:
        assert len(three.space.events(name)) == 4
        assert three.space.digest(name) is not None
    assert three.space.findings() == []


@pytest.mark.rows("ING-10")
@pytest.mark.parametrize("step", FILE_STEPS)
@pytest.mark.parametrize("commit_bytes", [1, 16 * 1024 * 1024])
def test_a_file_that_breaks_a_step_is_left_out_alone_and_read_by_the_next_sweep(
    three: Three, step: str, commit_bytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    three.space.set_ingest(commit_bytes=commit_bytes)
    with three.monkeypatch.context() as patch:
        three.monkeypatch = patch
        FILE_STEPS[step](three)
        code, report = three.run(capsys, "sweep")
        assert code == EXIT_WARNINGS
        assert (report["discovered"], report["ingested"]) == (3, 2)
        assert [one["path"] for one in report["failed"]] == [str(three.files[1])]
        assert report["failed"][0]["reason"] == "ZeroDivisionError: an odd session"
        assert report["failed"][0]["at"] > 0
        assert (report["events"], report["sessions"], report["analyzed"]) == (8, 2, 2)
        three_captured(three, [three.logs[0].session_id, three.logs[2].session_id])
        code, again = three.run(capsys, "sweep")  # tried again, and still broken
        assert (code, again["skipped_unchanged"], len(again["failed"])) == (EXIT_WARNINGS, 2, 1)
        _, status = three.run(capsys, "status")
        assert "an odd session" in status["last_error"]
        assert str(three.files[1]) in status["errors"][0]
        _, doctor = three.run(capsys, "doctor", "--quick")
        told = next(check for check in doctor["checks"] if check["name"] == "log files")
        assert told["result"] == "warn"
        assert "an odd session" in told["detail"]
        assert "session-memory sweep" in told["fix"]
    code, report = three.run(capsys, "sweep")
    assert (code, report["ingested"], report["failed"]) == (EXIT_OK, 1, [])
    three_captured(three, [log.session_id for log in three.logs])
    _, status = three.run(capsys, "status")
    assert status["last_error"] is None
    other = three.space.with_store("undisturbed")
    other.sweep()
    assert three.space.dump() == other.dump()


@pytest.mark.rows("ING-10")
@pytest.mark.parametrize("step", ["project", "digest", "observe"])
def test_a_session_whose_step_breaks_is_stored_and_the_step_is_made_up_for(
    three: Three, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with three.monkeypatch.context() as patch:
        three.monkeypatch = patch
        if step == "project":
            three.break_where(
                ProjectFinder,
                "resolution",
                lambda _self, cwd, mentions=None: cwd == BAD and mentions is not None,
            )
        elif step == "digest":
            three.break_where(DigestBuilder, "digest", lambda _self, session: session.cwd == BAD)
        else:
            three.break_where(
                writer.SqliteWriter, "save_observations", lambda _self, them: bad_id(three) in them
            )
        code, report = three.run(capsys, "sweep")
        assert (code, report["ingested"], report["failed"]) == (EXIT_WARNINGS, 3, [])
        assert report["sessions"] == 3
        (failure,) = report["failed_steps"]
        assert failure["step"] == ("project" if step == "project" else "digest")
        assert failure["what"] == f"claude {three.bad.session_id}"
        assert failure["reason"] == "ZeroDivisionError: an odd session"
        code, again = three.run(capsys, "sweep")  # nothing is new, and still it is tried again
        assert (code, len(again["failed_steps"])) == (EXIT_WARNINGS, 1)
        _, status = three.run(capsys, "status")
        assert three.bad.session_id in status["last_error"]
        _, doctor = three.run(capsys, "doctor", "--quick")
        told = next(check for check in doctor["checks"] if check["name"] == "steps")
        assert three.bad.session_id in told["detail"]
        assert "session-memory sweep" in told["fix"]
        for log in (three.logs[0], three.logs[2]):
            assert three.space.digest(log.session_id) is not None
            assert three.space.session(log.session_id).project_key
    code, report = three.run(capsys, "sweep")
    assert (code, report["failed_steps"]) == (EXIT_OK, [])
    three_captured(three, [log.session_id for log in three.logs])
    other = three.space.with_store("undisturbed")
    other.sweep()
    assert three.space.dump() == other.dump()


@pytest.mark.rows("ING-10")
def test_signals_that_cannot_be_taken_of_one_session_are_taken_of_the_others(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    real = mine.signals

    def signals(digest: Any, place: Any) -> Any:
        if any(root == BAD for root in place.roots):
            raise ZeroDivisionError("an odd session")
        return real(digest, place)

    with three.monkeypatch.context() as patch:
        patch.setattr(mine, "signals", signals)
        code, report = three.run(capsys, "sweep")
        assert code == EXIT_WARNINGS
        (failure,) = report["failed_steps"]
        assert (failure["step"], failure["what"]) == ("signals", f"claude {three.bad.session_id}")
        _, status = three.run(capsys, "status")
        assert three.bad.session_id in status["last_error"]
    with three.space.store() as store:
        left = store.patterns.unmined(None)
        assert [store.session(one).external_id for one in left] == [three.bad.session_id]


@pytest.mark.rows("ING-10")
def test_a_session_that_cannot_be_evicted_keeps_only_itself(three: Three) -> None:
    three.space.sweep()
    three.space.set_retention(raw_soft_cap_bytes=1)
    number = bad_id(three)
    with three.monkeypatch.context() as patch:
        three.monkeypatch = patch
        three.break_where(
            retention, "_evict_session", lambda _db, one, _now: one.session_id == number
        )
        report = three.space.sweep()
        assert [failure.step for failure in report.failed_steps] == ["evict"]
        assert three.bad.session_id in report.failed_steps[0].reason
    states = {name: found.state for name, found in three.space.sessions().items()}
    assert states.pop(three.bad.session_id) == "analyzed"
    assert set(states.values()) == {"raw_evicted"}
    assert three.space.sweep().failed_steps == []
    assert three.space.session(three.bad.session_id).state == "raw_evicted"
    assert three.space.findings() == []


@pytest.mark.rows("ING-10")
def test_a_session_that_cannot_be_compacted_stops_no_other(three: Three) -> None:
    for number in range(20):
        for log in three.logs:
            log.prompt(f"prompt {number}")
        three.space.write(*three.logs)
        with three.monkeypatch.context() as patch:
            three.monkeypatch = patch
            if three.space.store_directory.exists():
                bad = bad_id(three)
                three.break_where(
                    retention, "compact", lambda _db, _files, one, *_, bad=bad: one == bad
                )
            report = three.space.sweep()
    assert [failure.step for failure in report.failed_steps] == ["compact"]
    with three.space.store() as store:
        assert [store.session(one).external_id for one in store.crowded(16)] == [
            three.bad.session_id
        ]
    report = three.space.sweep()
    assert report.failed_steps == []  # an idle sweep has nothing to join
    three.logs[0].prompt("one more")
    three.space.write(three.logs[0])
    three.space.sweep()
    with three.space.store() as store:
        assert store.crowded(16) == []
    assert three.space.findings() == []


@pytest.mark.rows("ING-10")
def test_an_agent_whose_logs_cannot_be_listed_stops_no_other(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.space.flavor_home("codex")

    def discover(_root: str) -> Any:
        raise ZeroDivisionError("an odd folder")

    three.monkeypatch.setattr(
        codex, "ADAPTER", msgspec.structs.replace(codex.ADAPTER, discover=discover)
    )
    code, report = three.run(capsys, "sweep")
    assert (code, report["ingested"]) == (EXIT_WARNINGS, 3)
    assert [(one["step"], one["what"]) for one in report["failed_steps"]] == [("discover", "codex")]


@pytest.mark.rows("ING-11")
def test_a_sweep_that_is_stopped_is_told_by_status_and_doctor(
    three: Three, capsys: pytest.CaptureFixture[str]
) -> None:
    three.run(capsys, "sweep")
    pauses = Path(three.space.store_directory) / "pauses.json"
    pauses.write_text("{")
    config = str(three.space.write_config())
    three.space.write(talk(4, "/work/four"))
    assert main(["--config", config, "sweep"]) == 8
    capsys.readouterr()
    _, status = three.run(capsys, "status")
    assert "cannot read when capture was paused" in status["last_error"]
    code, doctor = three.run(capsys, "doctor", "--quick")
    told = next(check for check in doctor["checks"] if check["name"] == "sweep")
    assert (code, told["result"]) == (1, "fail")
    pauses.write_text("[]")
    three.run(capsys, "sweep")
    _, status = three.run(capsys, "status")
    assert status["last_error"] is None
