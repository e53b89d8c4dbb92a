"""Threads of Zed's agent: what their messages mean, packed or not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.common import parse_time
from session_memory.adapters.zed.log_builder import MODEL, ZedLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-45")


@pytest.mark.parametrize("packed", [True, False])
def test_a_thread_has_a_title_a_model_a_folder_and_times_of_its_own(
    tmp_path: Path, packed: bool
) -> None:
    log = ZedLog(7, packed=packed)
    log.thread["folder_paths"] = "/work/shop\n/work/tools"
    log.prompt("fix the test")
    log.say("I look.", thought="where is it?")
    log.write(tmp_path)
    part = only_part("zed", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "where is it?"),
        ("assistant_text", None, "I look."),
    ]
    assert {event.at for event in part.events} == {None}
    said = facts(part)
    assert (said["cwd"], said["model"], said["title.ai"]) == ("/work/shop", MODEL, "Thread 7")
    assert said["started_at"] == parse_time(log.thread["created_at"])
    assert said["ended_at"] == log.now


def test_calls_have_their_results_behind_them_and_failures_are_told(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("go")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.tool("read_file", {"path": "a.log"}, "it failed with exit code 1.")
    log.tool("edit_file", {"path": "a.py"}, "no such file", is_error=True)
    log.agent(results={"lost": {"tool_name": "grep", "is_error": False, "content": "found"}})
    log.write(tmp_path)
    events = only_part("zed", tmp_path).events[1:]
    assert [(e.kind, e.exit_code, e.is_error) for e in events] == [
        ("tool_call", None, False),
        ("tool_result", 2, True),
        ("tool_call", None, False),
        ("tool_result", None, False),
        ("tool_call", None, False),
        ("tool_result", None, True),
        ("tool_result", None, False),
    ]
    assert (events[0].command, events[4].files) == ("pytest -q", ("a.py",))
    assert [e.call_id for e in events[0:6:2]] == [e.call_id for e in events[1:6:2]]


def test_tokens_that_no_prompt_names_are_one_remainder(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("zed")
    log = ZedLog(1)
    log.prompt("go", (100, 20, 30, 40))
    log.say("well")
    log.spend((300, 50, 30, 140))
    log.write(home)
    space.sweep()
    log.prompt("on", (10, 2, 0, 4))
    log.spend((400, 60, 30, 240))
    log.write(home)
    space.sweep()
    cost = space.session(log.session_id).cost
    assert (cost.input, cost.output, cost.cache_write_5m, cost.cache_read) == (400, 60, 30, 240)


def test_a_total_that_is_too_small_takes_nothing_away(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("go", (100, 20, 30, 40))
    log.spend((5, 5, 5, 5))
    log.write(tmp_path)
    assert [usage.input for usage in only_part("zed", tmp_path).usages] == [100]


def test_what_was_attached_is_counted_and_not_read(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("look at ")
    log.messages[0]["User"]["content"] += [
        {"Mention": {"uri": "file:///a.py", "content": "the whole file"}},
        {"Image": {"source": "aGk="}},
        {"Text": "please"},
    ]
    log.messages.append("Resume")
    log.agent("RedactedThinking", {"RedactedThinking": "x"}, {"Text": "well"})
    log.write(tmp_path)
    (bundle,) = parse_home("zed", tmp_path)
    assert [e.text for e in bundle.sessions[0].events] == ["look at please", "well"]
    assert bundle.ignored["attachment/Mention"] == bundle.ignored["attachment/Image"] == 1
    assert (bundle.ignored["resume"], bundle.ignored["reasoning/sealed"]) == (1, 2)


def test_a_thread_that_another_one_started_is_a_sub_agents(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.thread["parent_id"] = "above"
    log.prompt("look around")
    log.write(tmp_path)
    part = only_part("zed", tmp_path)
    assert (part.parent_external_id, facts(part)["source_kind"]) == ("above", "subagent")
    assert told(part.events) == [("injected", "subagent_prompt", "look around")]


def test_a_table_of_an_older_version_is_enough(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("go")
    path = log.write(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        for column in ("parent_id", "folder_paths", "folder_paths_order", "created_at"):
            db.execute(f"ALTER TABLE threads DROP COLUMN {column}")
    part = only_part("zed", tmp_path)
    assert [event.text for event in part.events] == ["go"]
    assert facts(part)["started_at"] == log.now
    assert "cwd" not in facts(part)


def test_a_row_that_was_replaced_is_told_as_it_stands(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("zed")
    log = ZedLog(1)
    log.prompt("go")
    log.say("first")
    log.write(home)
    space.sweep()
    log.messages[1]["Agent"]["content"][0]["Text"] = "other"
    log.say("second")
    log.write(home)
    report = space.sweep()
    assert (report.ingested, report.failed) == (1, [])
    assert [e.text for e in space.events(log.session_id)] == ["go", "other", "second"]
    assert space.sweep().ingested == 0


def test_a_document_that_cannot_be_unpacked_is_counted(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("go")
    path = log.write(tmp_path)
    for damage in ("x'00ff00ff'", "substr(data, 1, length(data) - 3)"):
        log.write(tmp_path)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(f"UPDATE threads SET data = {damage}")
        (bundle,) = parse_home("zed", tmp_path)
        assert (bundle.parse_errors, bundle.sessions) == (1, [])


def test_a_small_row_that_unpacks_to_much_is_counted_and_never_in_memory(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ZedLog(1)
    log.prompt("x" * 1_000_000)
    path = log.write(space.flavor_home("zed"))
    assert path.stat().st_size < 50_000
    space.set_ingest(line_cap_bytes=10_000)
    report = space.sweep()
    assert (report.too_long, report.events, report.failed) == (1, 0, [])


def test_of_a_damaged_document_the_whole_messages_are_told(tmp_path: Path) -> None:
    log = ZedLog(1, packed=False)
    log.prompt("go")
    log.say("first")
    path = log.write(tmp_path)
    torn = json.dumps(log.document).encode().replace(b'"first"', b'"fi"rst"')
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE threads SET data = ?", (torn,))
    (bundle,) = parse_home("zed", tmp_path)
    assert (bundle.parse_errors, [e.text for e in bundle.sessions[0].events]) == (1, ["go"])


def test_messages_of_unknown_kind_are_kept_and_counted(tmp_path: Path) -> None:
    log = ZedLog(1)
    log.prompt("go")
    log.agent({"Hologram": "unheard of"})
    log.messages.append({"Hologram": {}})
    log.write(tmp_path)
    (bundle,) = parse_home("zed", tmp_path)
    assert dict(bundle.unknown) == {("", "agent/content"): 1, ("", "message"): 1}
