"""Sessions of Factory Droid: Claude's blocks, with the client's texts in front of the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.droid.log_builder import DroidLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-28")


def test_a_session_has_times_folder_model_calls_and_results(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.prompt("fix the test")
    log.think("where is it?")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.say("It fails.")
    log.write(tmp_path)
    part = only_part("droid", tmp_path)
    assert part.external_id == log.session_id
    assert [(kind, label) for kind, label, _ in told(part.events)] == [
        ("injected", "system_reminder"),
        ("injected", "system_reminder"),
        ("user_prompt", None),
        ("reasoning", None),
        ("tool_call", None),
        ("tool_result", None),
        ("assistant_text", None),
    ]
    assert part.events[2].text == "fix the test"
    call, result = part.events[4:6]
    assert (call.command, call.tool_class, call.call_id) == ("pytest -q", "shell", result.call_id)
    assert (result.exit_code, result.is_error) == (2, True)
    assert all(event.at for event in part.events)
    said = facts(part)
    assert (said["cwd"], said["model"], "title.ai" in said) == (
        "/work/shop",
        "Claude Opus 4.5",
        False,
    )


def test_a_user_cannot_name_the_model(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.message("user", {"type": "text", "text": "Model: none"})
    log.write(tmp_path)
    assert "model" not in facts(only_part("droid", tmp_path))


def test_a_message_to_the_user_is_no_prompt(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.prompt("go")
    log.message("user", {"type": "text", "text": "quota exceeded"}, visibility="user_only")
    log.write(tmp_path)
    assert told(only_part("droid", tmp_path).events)[2:] == [
        ("user_prompt", None, "go"),
        ("system", "notice", "quota exceeded"),
    ]


def test_what_only_the_model_sees_is_no_prompt(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.message("user", {"type": "text", "text": "hidden context"}, visibility="llm_only")
    log.write(tmp_path)
    assert told(only_part("droid", tmp_path).events) == [("injected", "hidden", "hidden context")]


def test_the_tokens_of_a_session_are_one_figure_that_is_replaced(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home, log = space.flavor_home("droid"), DroidLog(1)
    log.prompt("go")
    log.spend(100, 20, read=3000, written=50)
    log.write(home)
    space.sweep()
    log.spend(180, 30, read=9000, written=50)  # only the settings change
    log.write(home)
    space.sweep()
    cost = space.session(log.session_id).cost
    assert (cost.input, cost.output, cost.cache_read) == (180, 30, 9000)


def test_sub_agents_name_their_caller_and_side_questions_are_sessions(tmp_path: Path) -> None:
    child = DroidLog(1, parent="p-1")
    child.prompt("count the files")
    child.write(tmp_path)
    part = only_part("droid", tmp_path)
    assert part.parent_external_id == "p-1"
    assert told(part.events)[-1] == ("injected", "subagent_prompt", "count the files")
    aside = DroidLog(2, cwd="btw")
    aside.prompt("what is this?")
    aside.write(tmp_path)
    assert len(parse_home("droid", tmp_path)) == 2


def test_compaction_bookkeeping_and_unknown_records(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.prompt("go")
    log.row("compaction_state", summaryText="so far", removedCount=3)
    log.row("todo_state", todos=[])
    log.row("agent_turn_outcome")
    log.row("session_end")
    log.row("hologram")
    log.message("user", {"type": "hologram"})
    log.write(tmp_path)
    (bundle,) = parse_home("droid", tmp_path)
    kept = [(kind, text) for kind, _, text in told(bundle.sessions[0].events)][3:4]
    assert kept == [("compaction", "so far")]
    assert dict(bundle.unknown) == {("", "hologram"): 1, ("", "block/hologram"): 1}
    assert dict(bundle.ignored) == {"todo_state": 1, "agent_turn_outcome": 1, "session_end": 1}


def test_the_variable_may_name_the_home_or_the_folder_above_it(tmp_path: Path) -> None:
    log = DroidLog(1)
    log.prompt("go")
    log.write(tmp_path / ".factory")
    assert len(parse_home("droid", tmp_path)) == 1
