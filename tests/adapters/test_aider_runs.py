"""Runs in Aider's chat histories: what a line is, and which runs are the same."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.aider import reader
from session_memory.adapters.aider.log_builder import MODEL, VERSION, AiderLog
from session_memory.adapters.aider.reader import DEPTH, HISTORY
from session_memory.adapters.common import RawEvent
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-42")


def events(log: AiderLog, home: Path) -> list[RawEvent]:
    log.write(home)
    return only_part("aider", home).events


def test_a_run_has_a_start_a_model_a_version_a_folder_and_a_cost(tmp_path: Path) -> None:
    log = AiderLog(7)
    log.prompt("fix the test")
    log.say("It looks wrong.\n\nI fix it.", tokens=("3.2k", "66"), usd="0.0086")
    log.edit("cart.py")
    log.write(tmp_path)
    part = only_part("aider", tmp_path)
    assert told(part.events) == [
        ("user_prompt", None, "fix the test"),
        ("assistant_text", None, "It looks wrong.\n\nI fix it."),
        ("tool_call", None, '{"file_path":"cart.py"}'),
        ("tool_result", None, "Applied edit to cart.py"),
        ("system", "commit", "Commit dde0244 feat: change cart.py"),
    ]
    assert part.events[2].files == ("cart.py",)
    assert {event.at for event in part.events} == {None}
    said = facts(part)
    started = round(datetime.fromisoformat(log.started).timestamp() * 1000)
    assert (said["started_at"], said["ended_at"]) == (started, started)
    assert (said["model"], said["client_version"], said["cwd"]) == (MODEL, VERSION, str(tmp_path))
    (usage,) = part.usages
    assert (usage.input, usage.output, usage.usd, usage.at) == (3200, 66, 0.0086, started)
    assert part.events[1].usage_key == usage.key


def test_the_folder_the_run_names_is_its_project(tmp_path: Path) -> None:
    log = AiderLog(1, cwd="/work/shop")
    log.prompt("go")
    log.write(tmp_path)
    assert facts(only_part("aider", tmp_path))["cwd"] == "/work/shop"


def test_costs_of_messages_are_added_and_those_of_the_session_are_not(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.output("Tokens: 12k sent, 9k cache write, 1k cache hit, 66 received.")
    log.output("Tokens: 1.5M sent, 2.1k received. Cost: $1.20 message, $1.21 session.")
    log.write(tmp_path)
    first, second = only_part("aider", tmp_path).usages
    assert (first.input, first.cache_write_5m, first.cache_read, first.usd) == (
        2000,
        9000,
        1000,
        None,
    )
    assert (second.input, second.output, second.usd) == (1_500_000, 2100, 1.2)


def test_a_prompt_of_several_lines_is_one_and_two_prompts_are_two(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("first line\n\n/** a comment */\n// another")
    log.prompt("second prompt")
    assert told(events(log, tmp_path)) == [
        ("user_prompt", None, "first line\n\n/** a comment */\n// another"),
        ("user_prompt", None, "second prompt"),
    ]


def test_old_versions_put_blank_lines_into_a_prompt(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.text = "\n# aider chat started at 2024-08-01 10:00:00\n\n> Aider v0.50.0\n"
    log.text += "\n#### first line\n\n#### second line\n\n#### /clear\n\n#### third\n\nWell.\n"
    assert told(events(log, tmp_path)) == [
        ("user_prompt", None, "first line\nsecond line"),
        ("injected", "command", "/clear"),
        ("user_prompt", None, "third"),
        ("assistant_text", None, "Well."),
    ]


def test_commands_are_no_requests_unless_they_take_one(tmp_path: Path) -> None:
    log = AiderLog(1)
    for text in ("/add a.py\n  b.py", "/ask why is it slow?", "/ask", "/run pytest -q"):
        log.prompt(text)
    assert told(events(log, tmp_path)) == [
        ("injected", "command", "/add a.py\n  b.py"),
        ("user_prompt", None, "why is it slow?"),
        ("injected", "command", "/ask"),
        ("injected", "command", "/run pytest -q"),
    ]


def test_answers_to_questions_are_no_prompts(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.say("Add it.")
    log.output("Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y")
    log.prompt("Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all [Yes]: skip")
    found = told(events(log, tmp_path))
    assert [text for kind, _, text in found if kind == "user_prompt"] == ["go"]
    assert found[-1][:2] == ("injected", "answer")


def test_headings_and_quotes_of_an_answer_belong_to_it(tmp_path: Path) -> None:
    text = (
        "As the page says:\n\n> never do that\n\n#### Step 1\n\n"
        "```diff\n>>>>>>> REPLACE\n#### in a fence  \n> and this  \n```\n\nDone."
    )
    log = AiderLog(1)
    log.prompt("go")
    log.say(text)
    assert told(events(log, tmp_path)) == [
        ("user_prompt", None, "go"),
        ("assistant_text", None, text),
    ]


def test_an_output_of_several_lines_is_none_of_the_answer(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.say("Here it is.")
    log.text += (
        "> # 1 SEARCH/REPLACE block failed to match!\n\n## NoExactMatch in a.py\n"
        "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n\nSend it again.  \n"
    )
    log.edit("b.py")
    log.say("Fixed.")
    found = told(events(log, tmp_path))
    rest = "## NoExactMatch in a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"
    assert found[:4] == [
        ("user_prompt", None, "go"),
        ("assistant_text", None, "Here it is."),
        ("error", "edit_failed", "# 1 SEARCH/REPLACE block failed to match!"),
        ("injected", "output", f"{rest}\nSend it again."),
    ]
    assert [text for kind, _, text in found if kind == "assistant_text"][1:] == ["Fixed."]


def test_an_answer_that_ends_inside_a_fence_does_not_swallow_the_next_prompt(
    tmp_path: Path,
) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.say("```python\nprint(")
    log.prompt("go on")
    found = told(events(log, tmp_path))
    assert [kind for kind, *_ in found] == ["user_prompt", "assistant_text", "user_prompt"]


def test_errors_are_told_once_and_long_ones_are_cut(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    for _ in range(5):
        log.output("litellm.APIError: blocked " + "<html> " * 10_000, "Retrying in 0.2 seconds...")
    log.output("^C again to exit", "^C KeyboardInterrupt")
    log.write(tmp_path)
    (bundle,) = parse_home("aider", tmp_path)
    kinds = [(event.kind, event.label) for event in bundle.sessions[0].events]
    assert kinds == [("user_prompt", None), ("error", "api_error"), ("system", "interrupted")]
    assert len(bundle.sessions[0].events[1].text) <= 2048
    assert bundle.ignored["error/repeated"] == 4


def test_a_command_that_ran_is_a_call_without_a_result(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.run("pytest -q")
    log.output("2 passed")
    _, _, call, printed = events(log, tmp_path)
    assert (call.kind, call.tool_class, call.command) == ("tool_call", "shell", "pytest -q")
    assert (printed.kind, printed.label, printed.text) == ("injected", "output", "2 passed")


def test_line_ends_of_windows_make_the_same_run(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.say("Well.\n\nDone.")
    unix = log.write(tmp_path / "unix")
    (tmp_path / "windows").mkdir()
    copy = tmp_path / "windows" / HISTORY
    copy.write_bytes(unix.read_bytes().replace(b"\n", b"\r\n"))
    one, other = only_part("aider", tmp_path / "unix"), only_part("aider", tmp_path / "windows")
    assert (one.external_id, told(one.events)) == (other.external_id, told(other.events))


# --- runs as sessions ---


def test_a_run_without_a_prompt_is_counted_and_no_session(tmp_path: Path) -> None:
    AiderLog(1).write(tmp_path)
    log = AiderLog(2)
    log.prompt("go")
    log.write(tmp_path)
    empty, full = parse_home("aider", tmp_path)
    assert (empty.sessions, empty.ignored["run/empty"]) == ([], 1)
    assert len(full.sessions) == 1


def test_a_run_whose_start_is_damaged_is_told_without_a_time(tmp_path: Path) -> None:
    for seed in (1, 2):
        log = AiderLog(seed)
        log.prompt(f"go {seed}")
        path = log.write(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"# aider chat started", b"# aider ch\xff", 1))
    first, second = (bundle.sessions[0] for bundle in parse_home("aider", tmp_path))
    assert [event.text for event in (*first.events, *second.events)] == ["go 1", "go 2"]
    assert first.external_id.startswith("unknown-start-")
    assert facts(second)["started_at"] != 0


def test_runs_of_one_second_are_two_sessions(tmp_path: Path) -> None:
    for prompt in ("one", "two", "one"):
        log = AiderLog(1)
        log.prompt(prompt)
        log.write(tmp_path)
    names = [bundle.sessions[0].external_id for bundle in parse_home("aider", tmp_path)]
    assert len(set(names)) == 3


def test_the_same_run_in_two_clones_counts_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    code = tmp_path / "code"
    for clone in ("shop", "shop-2"):
        log = AiderLog(1)
        log.prompt("go")
        log.say("Done.", usd="0.5")
        log.write(code / clone)
    space.paths["aider"] = (str(code),)
    space.sweep()
    (name,) = space.sessions()
    assert [event.text for event in space.events(name)] == ["go", "Done."]
    assert space.session(name).cost.usd == 0.5


def test_a_run_that_goes_on_keeps_its_name_and_one_that_is_cut_out_stays(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("aider")
    first, second = AiderLog(1), AiderLog(2)
    first.prompt("first")
    first.write(home)
    second.prompt("second")
    path = second.write(home)
    space.sweep()
    before = set(space.sessions())
    with path.open("a") as file:
        file.write("\nAn answer.\n\n> Tokens: 1k sent, 2 received.  \n")
    report = space.sweep()
    assert (report.ingested, report.events, report.superseded) == (1, 1, 0)
    assert set(space.sessions()) == before
    path.write_bytes(path.read_bytes()[len(first.text) :])
    assert (space.sweep().failed, set(space.sessions())) == ([], before)
    texts = {event.text for name in before for event in space.events(name)}
    assert texts == {"first", "second", "An answer."}


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    log.text += "\nHalf an ans"
    assert [event.text for event in events(log, tmp_path)] == ["go"]


def test_a_history_nobody_touched_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(tmp_path)
    log = AiderLog(1)
    log.prompt("go")
    path = log.write(space.flavor_home("aider"))
    space.sweep()
    with monkeypatch.context() as patch:
        patch.setattr(reader, "read_plain", None)
        report = space.sweep()
        assert (report.discovered, report.skipped_unchanged, report.failed) == (1, 1, [])
    with path.open("a") as file:
        file.write("\nWell.\n")
    assert space.sweep().ingested == 1


# --- where histories are ---


def test_only_the_named_folders_are_searched_and_not_without_end(tmp_path: Path) -> None:
    log = AiderLog(1)
    log.prompt("go")
    deep = tmp_path.joinpath(*"abcdefgh"[:DEPTH])
    log.write(deep)
    assert len(parse_home("aider", tmp_path)) == 1
    log.write(deep / "deeper")
    log.write(tmp_path / "node_modules" / "x")
    log.write(tmp_path / ".git")
    assert len(parse_home("aider", tmp_path)) == 1


def test_a_history_without_a_run_is_reported_and_an_empty_one_is_not(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("aider")
    (home / HISTORY).write_text("# my notes\n")
    (failure,) = space.sweep().failed
    assert failure.reason == "no run of Aider in it"
    for begun in ("", "\n# aider ch", "\n# aider chat started at 2026-"):
        (home / HISTORY).write_text(begun)
        assert space.sweep().failed == []


@pytest.mark.skipif(os.name != "posix", reason="pipes have names only there")
def test_a_pipe_in_place_of_a_history_is_reported(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    os.mkfifo(space.flavor_home("aider") / HISTORY)
    (failure,) = space.sweep().failed
    assert failure.reason == "not a regular file"
