"""Crush sessions: what the rows of its database mean, and where the databases are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.crush.log_builder import MODEL, CrushLog, connect
from session_memory.adapters.registry import adapter
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-41")

INIT = "`Please analyze this codebase and create a **CRUSH.md** file containing:\n\n- commands"


def database(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(home / ".crush" / "crush.db")


def test_a_session_has_times_in_seconds_a_project_a_model_and_a_title(tmp_path: Path) -> None:
    log = CrushLog(7)
    log.prompt("fix the test")
    log.say("I look.", thought="where is it?")
    log.session["title"] = "Fix the test"
    log.write(tmp_path)
    part = only_part("crush", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("reasoning", None, "where is it?"),
        ("assistant_text", None, "I look."),
    ]
    assert part.events[0].at == log.rows[0]["created_at"] * 1000
    said = facts(part)
    assert (said["cwd"], said["model"], said["title.ai"]) == (str(tmp_path), MODEL, "Fix the test")


def test_a_session_without_a_title_of_its_own_has_none(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.write(tmp_path)
    assert "title.ai" not in facts(only_part("crush", tmp_path))


def test_a_failed_command_is_an_error_though_it_is_not_flagged(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.run("pytest -q", "1 failed", exit_code=65)
    log.run("ls", "a.py")
    log.tool("view", {"file_path": "/work/log.txt"}, "Exit code 1")
    log.tool("edit", {"file_path": "/work/a.py"}, "permission denied", is_error=True)
    log.write(tmp_path)
    events = only_part("crush", tmp_path).events
    calls = [event for event in events if event.kind == "tool_call"]
    results = [event for event in events if event.kind == "tool_result"]
    assert [event.call_id for event in calls] == [event.call_id for event in results]
    assert [(e.exit_code, e.is_error) for e in results] == [
        (65, True),
        (None, False),
        (None, False),
        (None, True),
    ]
    assert (calls[0].tool, calls[0].command, calls[3].files) == (
        "bash",
        "pytest -q",
        ("/work/a.py",),
    )


def test_messages_of_one_second_keep_the_order_of_their_rows(tmp_path: Path) -> None:
    log = CrushLog(1)
    for number in range(12):
        log.say(f"answer {number}")
    for row in log.rows:
        row["created_at"] = log.now
    log.rows[0]["id"] = "zzz"
    log.write(tmp_path)
    assert [e.text for e in only_part("crush", tmp_path).events] == [
        f"answer {number}" for number in range(12)
    ]


def test_a_newer_client_numbers_its_messages(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.say("second")
    log.say("so far")
    with closing(connect(tmp_path)) as db:
        db.execute("ALTER TABLE messages ADD COLUMN seq INTEGER")
        db.execute("ALTER TABLE messages ADD COLUMN is_summary_message INTEGER")
        log.store(db)
        db.execute("UPDATE messages SET seq = 10 - rowid, is_summary_message = rowid = 3")
        db.commit()
    assert told(only_part("crush", tmp_path).events) == [
        ("compaction", "compaction", "so far"),
        ("assistant_text", None, "second"),
        ("user_prompt", None, "go"),
    ]


@pytest.mark.parametrize(
    "init", [INIT, "Analyze this codebase and create/update **AGENTS.md** to help future agents."]
)
def test_neither_the_clients_own_prompt_nor_a_models_is_a_users(tmp_path: Path, init: str) -> None:
    log = CrushLog(1)
    log.prompt(init)
    log.prompt("please analyze this codebase")
    log.write(tmp_path)
    child = CrushLog(2, parent=log.session_id)
    child.prompt("look around")
    child.spend(0.5)
    child.write(tmp_path)
    one, other = (bundle.sessions[0] for bundle in parse_home("crush", tmp_path))
    assert told(one.events) == [
        ("injected", "init", init),
        ("user_prompt", None, "please analyze this codebase"),
    ]
    assert told(other.events) == [("injected", "subagent_prompt", "look around")]
    assert (other.parent_external_id, facts(other)["source_kind"]) == (log.session_id, "subagent")
    assert other.usages == []  # its parent's cost has it in it


def test_the_summary_a_session_goes_on_from_is_a_compaction(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.say("so far")
    log.session["summary_message_id"] = log.rows[-1]["id"]
    log.write(tmp_path)
    assert told(only_part("crush", tmp_path).events)[1] == ("compaction", "compaction", "so far")


def test_how_a_message_ended_is_told_where_nothing_else_tells_it(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.message("assistant", finish={"reason": "canceled", "message": "Request cancelled"})
    log.message("assistant", finish={"reason": "error", "message": "Bad Request", "details": "429"})
    log.message("assistant", finish={"reason": "eclipse"})
    unfinished = log.message("assistant", {"type": "text", "data": {"text": "I was cut"}})
    unfinished["parts"].pop()
    log.write(tmp_path)
    (bundle,) = parse_home("crush", tmp_path)
    assert told(bundle.sessions[0].events)[1:] == [
        ("system", "interrupted", "Request cancelled"),
        ("error", "api_error", "Bad Request\n429"),
        ("other", "finish/eclipse", '{"reason":"eclipse"}'),
        ("assistant_text", None, "I was cut"),
    ]
    assert dict(bundle.unknown) == {("", "finish/eclipse"): 1}


def test_several_results_in_one_row_are_several_results(tmp_path: Path) -> None:
    log = CrushLog(1)
    results = [
        {"type": "tool_result", "data": {"tool_call_id": name, "name": "", "content": name}}
        for name in ("a", "b")
    ]
    log.message("tool", *results)
    log.write(tmp_path)
    events = only_part("crush", tmp_path).events
    assert [(event.kind, event.call_id) for event in events] == [
        ("tool_result", "a"),
        ("tool_result", "b"),
    ]


def test_a_call_without_a_name_or_with_broken_input_is_a_call(tmp_path: Path) -> None:
    log = CrushLog(1)
    call = {"id": "c", "name": "", "input": '{"a": ', "type": "function", "finished": False}
    log.message("assistant", {"type": "tool_call", "data": call})
    log.write(tmp_path)
    (event,) = only_part("crush", tmp_path).events
    assert (event.kind, event.tool, event.text) == ("tool_call", None, '{"a": ')


def test_cost_is_the_newest_total_and_tokens_are_not_counted(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("crush")
    log = CrushLog(1)
    log.prompt("go")
    log.say("well")
    log.spend(0.25)
    log.write(home)
    space.sweep()
    log.say("better")
    log.spend(4.17)
    log.write(home)
    with closing(database(home)) as db:
        db.execute("UPDATE sessions SET prompt_tokens = 68000, completion_tokens = 900")
        db.commit()
    space.sweep()
    cost = space.session(log.session_id).cost
    assert (cost.usd, cost.input, cost.output) == (4.17, 0, 0)


def test_a_row_that_changed_in_place_is_told_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("crush")
    log = CrushLog(1)
    log.prompt("go")
    log.say("I st")
    log.write(home)
    space.sweep()
    log.rows[-1]["parts"][0]["data"]["text"] = "I start now."
    log.rows[-1]["updated_at"] += 1
    log.write(home)
    space.sweep()
    assert [event.text for event in space.events(log.session_id)] == ["go", "I start now."]


def test_versions_of_files_are_not_read(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.write(tmp_path)
    with closing(database(tmp_path)) as db:
        values = ("f", log.session_id, "/work/a.py", "the whole file")
        db.execute("INSERT INTO files VALUES (?, ?, ?, ?, 0, 1, 1)", values)
        db.commit()
    assert [e.text for e in only_part("crush", tmp_path).events] == ["go"]


# --- where the databases are ---


def test_the_clients_list_of_projects_leads_to_their_databases(tmp_path: Path) -> None:
    data, shop, tools = tmp_path / "data", tmp_path / "shop", tmp_path / "tools"
    data.mkdir()
    for seed, project in enumerate((shop, tools)):
        log = CrushLog(seed)
        log.prompt(f"in {project.name}")
        log.write(project)
    (tools / ".crush").rename(tmp_path / "elsewhere")
    known = [
        {"path": str(shop), "data_dir": str(shop / ".crush")},
        {"path": str(tools), "data_dir": str(tmp_path / "elsewhere")},
        {"path": str(tmp_path / "gone")},
        {"path": "relative"},
        "strange",
    ]
    for listing in ({"projects": known}, known):
        (data / "projects.json").write_text(json.dumps(listing))
        parts = [bundle.sessions[0] for bundle in parse_home("crush", data)]
        assert [part.events[0].text for part in parts] == ["in shop", "in tools"]
        assert facts(parts[0])["cwd"] == str(shop)


def test_a_folder_that_is_no_project_of_crush_is_known_by_where_commands_ran(
    tmp_path: Path,
) -> None:
    log = CrushLog(1)
    log.run("ls", "a.py")
    data = log.rows[1]["parts"][0]["data"]
    data["metadata"] = json.dumps({"working_directory": "/work/shop"})
    log.write(tmp_path)
    (tmp_path / ".crush").rename(tmp_path / "kept")
    assert facts(only_part("crush", tmp_path / "kept"))["cwd"] == "/work/shop"


@pytest.mark.parametrize("listing", [b"", b"{", b"[[[", b'{"projects": 3}', b"7"])
def test_a_list_of_projects_in_another_form_is_reported(tmp_path: Path, listing: bytes) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("crush")
    (home / "projects.json").write_bytes(listing)
    (failure,) = space.sweep().failed
    assert failure.reason == "it lists no projects in a form that is known"


def test_a_session_that_is_gone_when_it_is_read_is_no_empty_session(tmp_path: Path) -> None:
    log = CrushLog(1)
    log.prompt("go")
    log.write(tmp_path)
    reader = adapter("crush")
    (source,) = reader.discover(str(tmp_path))
    with closing(database(tmp_path)) as db:
        db.execute("DELETE FROM sessions")
        db.commit()
    with pytest.raises(FileNotFoundError):
        list(reader.read(source, 0, 1 << 20))
