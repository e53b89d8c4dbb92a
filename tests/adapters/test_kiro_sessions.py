"""Sessions of Kiro CLI: its line logs, its database, and a conversation that is in both."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.kiro.log_builder import KiroLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-44")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def busy(seed: int = 1) -> KiroLog:
    log = KiroLog(seed)
    log.prompt("fix the test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.tool("fs_write", {"command": "create", "path": "/work/a.py"}, "no", is_error=True)
    log.say("Done.")
    return log


SAID = [
    ("user_prompt", None, "fix the test"),
    ("tool_call", None, '{"command":"pytest -q"}'),
    ("tool_result", None, "1 failed\nexit code: 1"),
    ("tool_call", None, '{"command":"create","path":"/work/a.py"}'),
    ("tool_result", None, "no"),
    ("assistant_text", None, "Done."),
]


@pytest.mark.parametrize("store", ["write", "write_row"])
def test_both_stores_tell_the_same_session(tmp_path: Path, store: str) -> None:
    log = busy()
    getattr(log, store)(tmp_path)
    part = only_part("kiro", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == SAID
    _, call, result, edit, refused, _ = part.events
    assert (call.command, call.call_id, result.exit_code) == ("pytest -q", result.call_id, 1)
    assert (edit.files, refused.is_error, result.is_error) == (("/work/a.py",), True, True)
    assert facts(part)["cwd"] == "/work/shop"
    assert part.usages == []  # credits are no dollars


def test_a_line_log_has_no_times_but_those_of_the_session(tmp_path: Path) -> None:
    log = busy()
    log.about["title"] = "Fix the test"
    log.write(tmp_path)
    part = only_part("kiro", tmp_path)
    assert {event.at for event in part.events} == {None}
    said = facts(part)
    assert (said["ended_at"], said["title.ai"]) == (log.now, "Fix the test")
    assert "time_source" not in said


def test_a_line_log_with_nothing_next_to_it_has_the_time_of_its_file(tmp_path: Path) -> None:
    log = busy()
    log.about = {}
    path = log.write(tmp_path)
    part = only_part("kiro", tmp_path)
    assert facts(part)["time_source"] == "file"
    path.with_suffix(".json").unlink()
    assert only_part("kiro", tmp_path).external_id == log.session_id


def test_a_session_may_be_called_otherwise_than_its_file(tmp_path: Path) -> None:
    log = busy()
    log.about["session_id"] = "another"
    log.about["parent_session_id"] = "above"
    log.write(tmp_path)
    part = only_part("kiro", tmp_path)
    assert (part.external_id, part.parent_external_id) == ("another", "above")
    assert told(part.events)[0] == ("injected", "subagent_prompt", "fix the test")


def test_an_agent_that_went_on_by_itself_makes_no_empty_prompt(tmp_path: Path) -> None:
    log = busy()
    log.say("And more.")
    log.rows.append({"version": "v1", "kind": "Prompt", "data": {"content": None}})
    assert log.history[-1]["user"]["content"] is None
    log.write(tmp_path / "a")
    log.write_row(tmp_path / "b")
    for store in ("a", "b"):
        kinds = [event.kind for event in only_part("kiro", tmp_path / store).events]
        assert kinds.count("user_prompt") == 1


def test_an_exported_conversation_is_one_document_without_ids(tmp_path: Path) -> None:
    log = busy()
    for entry in log.history:
        entry["assistant"].get("Response", {})["message_id"] = ""
    document = {"conversation_id": "", "history": log.history}
    (tmp_path / "export.jsonl").write_text(json.dumps(document))
    part = only_part("kiro", tmp_path)
    assert (part.external_id, told(part.events)) == ("export", SAID)


def test_a_message_of_the_editor_is_no_prompt(tmp_path: Path) -> None:
    log = KiroLog(1)
    log.prompt("<kiro-ide-message>the file was saved</kiro-ide-message>")
    log.say("Noted.")
    log.write(tmp_path / "a")
    log.write_row(tmp_path / "b")
    for store in ("a", "b"):
        events = only_part("kiro", tmp_path / store).events
        assert (events[0].kind, events[0].label) == ("injected", "kiro-ide-message")


def test_times_of_a_stored_conversation_are_those_of_its_entries(tmp_path: Path) -> None:
    log = busy()
    log.write_row(tmp_path)
    events = only_part("kiro", tmp_path).events
    assert events[0].at == log.now - 15_000 + 1000
    assert events[-1].at == log.now


def test_the_newest_row_of_a_conversation_counts(tmp_path: Path) -> None:
    log = busy()
    log.write_row(tmp_path, "/work/first")
    log.say("Later.")
    log.write_row(tmp_path, "/work/second")
    events = only_part("kiro", tmp_path).events
    assert [event.text for event in events][-2:] == ["Done.", "Later."]


def test_a_row_that_was_written_anew_adds_only_what_is_new(space: Workspace) -> None:
    home, log = space.flavor_home("kiro"), busy()
    log.write_row(home)
    space.sweep()
    before = [event.id for event in space.events(log.session_id)]
    log.say("Later.")
    log.write_row(home)
    assert space.sweep().events == 1
    events = space.events(log.session_id)
    assert [event.id for event in events][: len(before)] == before
    assert (events[-1].text, len(events)) == ("Later.", len(before) + 1)


def test_the_older_table_is_read_too(tmp_path: Path) -> None:
    log = busy()
    path = log.write_row(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT)")
        db.execute("INSERT INTO conversations SELECT key, value FROM conversations_v2")
        db.execute("INSERT INTO conversations VALUES ('/work/torn', '{\"history\": [')")
        db.execute("DROP TABLE conversations_v2")
    names = [part.external_id for b in parse_home("kiro", tmp_path) for part in b.sessions]
    assert names == [log.session_id]
    assert sum(bundle.parse_errors for bundle in parse_home("kiro", tmp_path)) == 1


def test_of_a_damaged_conversation_the_whole_entries_are_told(tmp_path: Path) -> None:
    log = busy()
    path = log.write_row(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE conversations_v2 SET value = replace(value, 'Done.', 'Do\"ne.')")
    (bundle,) = parse_home("kiro", tmp_path)
    assert (bundle.parse_errors, told(bundle.sessions[0].events)) == (1, SAID[:4])


def test_a_database_without_conversations_is_reported(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    with closing(sqlite3.connect(space.flavor_home("kiro") / "data.sqlite3")) as db, db:
        db.execute("CREATE TABLE history (id INTEGER)")
    (failure,) = space.sweep().failed
    assert failure.reason == "it has no table conversations_v2"


@pytest.mark.parametrize("layout", ["default", "one folder"])
@pytest.mark.parametrize("newer", ["log", "row"])
def test_of_a_conversation_in_both_stores_the_newer_counts(
    tmp_path: Path, layout: str, newer: str
) -> None:
    space = Workspace(tmp_path)
    logs, rows = tmp_path / ".kiro", tmp_path / ".local" / "share" / "kiro-cli"
    if layout == "one folder":
        logs = rows = tmp_path / "kiro"
    space.paths["kiro"] = tuple(dict.fromkeys((str(logs), str(rows))))
    log = busy()
    log.write(logs)
    log.write_row(rows)
    space.sweep()
    assert len(space.events(log.session_id)) == len(SAID)
    log.say("Newer.")
    getattr(log, {"log": "write", "row": "write_row"}[newer])(logs if newer == "log" else rows)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == [*(t for *_, t in SAID), "Newer."]
    assert space.sweep().ingested == 0


def test_records_of_unknown_kind_are_kept_and_counted(tmp_path: Path) -> None:
    log = busy()
    log.row("Hologram", {"kind": "text", "data": "unheard of"})
    log.row("Prompt", {"kind": "hologram", "data": "unheard of"})
    log.write(tmp_path)
    (bundle,) = parse_home("kiro", tmp_path)
    assert dict(bundle.unknown) == {("", "Hologram"): 1, ("", "content/hologram"): 1}


def test_other_files_in_the_clients_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "agents" / "deep").mkdir(parents=True)
    (tmp_path / "agents" / "deep" / "notes.jsonl").write_text("{}\n")
    assert parse_home("kiro", tmp_path) == []
