"""Tasks of Cline, Roo and Kilo: one format, three products."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.cline.log_builder import MODEL, ClineLog
from session_memory.adapters.kilo.log_builder import KiloLog
from session_memory.adapters.roo.log_builder import RooLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-23")


def kinds(log: ClineLog, home: Path) -> list[tuple[str, str | None, str]]:
    log.write(home)
    return told(only_part("cline", home).events)


def test_a_task_is_a_session_with_times_folder_model_and_cost(tmp_path: Path) -> None:
    log = ClineLog(7, cwd="/work/shop")
    log.prompt("fix the test")
    log.request((100, 20, 30, 40), usd=0.25)
    log.entry("text", "I look.")
    log.write(tmp_path)
    part = only_part("cline", tmp_path)
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("assistant_text", None, "I look."),
    ]
    assert [event.at for event in part.events] == [log.rows[0]["ts"], log.rows[2]["ts"]]
    said = facts(part)
    assert (said["cwd"], said["model"]) == ("/work/shop", MODEL)
    (usage,) = part.usages
    assert (usage.input, usage.output, usage.cache_write_5m, usage.cache_read) == (100, 20, 30, 40)
    assert (usage.usd, part.events[1].usage_key) == (0.25, usage.key)


def test_output_in_pieces_is_one_result_and_states_its_exit_code_in_words(tmp_path: Path) -> None:
    log = ClineLog(1)
    log.prompt("go")
    log.run("pytest -q", "1 failed", exit_code=2)
    log.entry("command_output", "", ask=True)
    log.write(tmp_path)
    call, result = only_part("cline", tmp_path).events[1:]
    assert (call.command, call.tool_class, call.call_id) == ("pytest -q", "shell", result.call_id)
    assert result.text == "1 failed\nCommand exited with code 2"
    assert (result.exit_code, result.is_error) == (2, True)


def test_an_unfinished_entry_is_kept_where_it_is_the_only_copy(tmp_path: Path) -> None:
    log = ClineLog(1)
    log.prompt("go")
    log.entry("reasoning", "the only copy", partial=True)
    log.entry("text", "I st", partial=True)
    log.entry("text", "I start now.")
    log.entry("text", "", partial=True)
    log.entry("text", "still being writ", partial=True)
    assert kinds(log, tmp_path)[1:] == [
        ("reasoning", None, "the only copy"),
        ("assistant_text", None, "I start now."),
    ]
    (bundle,) = parse_home("cline", tmp_path)
    assert dict(bundle.ignored) == {
        "partial/repeated": 1,
        "partial/empty": 1,
        "partial/pending": 1,
    }


def test_the_end_of_a_task_is_told_once_and_questions_are_read_out_of_their_json(
    tmp_path: Path,
) -> None:
    log = ClineLog(1)
    log.prompt("go")
    log.entry("followup", json.dumps({"question": "which?", "options": ["a"]}), ask=True)
    log.prompt("the first")
    log.complete("done")
    assert kinds(log, tmp_path)[1:] == [
        ("assistant_text", None, "which?"),
        ("user_prompt", None, "the first"),
        ("assistant_text", None, "done"),
    ]


def test_what_a_request_sent_is_not_kept_and_a_user_cannot_name_the_folder(tmp_path: Path) -> None:
    log = ClineLog(1, cwd="/work/real")
    log.prompt("# Current Working Directory (/work/fake) Files")
    log.request()
    log.write(tmp_path)
    part = only_part("cline", tmp_path)
    assert facts(part)["cwd"] == "/work/real"
    assert not any("environment_details" in event.text for event in part.events)


def test_a_task_in_two_folders_counts_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    one, other = tmp_path / "one", tmp_path / "other"
    log = ClineLog(1)
    log.prompt("go")
    log.request((100, 20, 0, 0))
    log.entry("text", "first")
    log.write(one)
    log.entry("text", "second")
    log.write(other)
    space.paths["cline"] = (str(one), str(other))
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["go", "first", "second"]
    assert space.session(log.session_id).cost.input == 100


def test_a_task_that_grew_or_was_cut_back_is_told_as_it_stands(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("cline")
    log = ClineLog(1)
    log.prompt("go")
    log.entry("text", "first")
    log.write(home)
    space.sweep()
    log.entry("text", "second")
    log.write(home)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["go", "first", "second"]
    del log.rows[1]
    log.entry("text", "another way")
    log.write(home)
    space.sweep()
    assert [e.text for e in space.events(log.session_id)] == ["go", "second", "another way"]


def test_unknown_kinds_are_kept_and_counted_and_damage_costs_only_itself(tmp_path: Path) -> None:
    log = ClineLog(1)
    log.prompt("go")
    log.entry("hologram", "unheard of")
    log.entry("text", "behind it")
    path = log.write(tmp_path)
    (bundle,) = parse_home("cline", tmp_path)
    assert dict(bundle.unknown) == {("", "hologram"): 1}
    path.write_bytes(path.read_bytes().replace(b'"say": "hologram"', b'"say: "hologram"'))
    (bundle,) = parse_home("cline", tmp_path)
    assert bundle.parse_errors == 1
    assert [e.text for e in bundle.sessions[0].events] == ["go", "behind it"]


def test_a_roo_task_names_its_folder_and_the_task_that_started_it(tmp_path: Path) -> None:
    log = RooLog(1, cwd="/work/roo", parent="t-1")
    log.prompt("count the files")
    log.write(tmp_path)
    part = only_part("roo", tmp_path)
    assert (part.parent_external_id, facts(part)["cwd"]) == ("t-1", "/work/roo")
    assert told(part.events) == [("injected", "subagent_prompt", "count the files")]
    assert part.usages == []  # its totals are cumulative


def test_a_kilo_task_names_its_folder_in_words_of_its_own(tmp_path: Path) -> None:
    log = KiloLog(1, cwd="/work/kilo")
    log.prompt("go")
    log.say("done")
    log.write(tmp_path)
    assert facts(only_part("kilo", tmp_path))["cwd"] == "/work/kilo"
