"""`fix` on swept logs: the very same error, then its shape, and silence where nothing is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.workspace import Workspace

UNQUOTED = "zsh:1: no matches found: {}"


def log(seed: int) -> ClaudeLog:
    """A log of its own hour: equal words at equal times would be a fork."""
    written = ClaudeLog(seed, start=START + seed * 3_600_000)
    written.prompt("make it work")
    return written


def ask(space: Workspace, *error: str, code: int = 0) -> str:
    """What a user reads."""
    done = space.run("--config", str(space.write_config()), "fix", *error)
    assert done.returncode == code, done.stderr
    return done.stdout or done.stderr


def answer(space: Workspace, error: str) -> dict[str, Any]:
    return json.loads(ask(space, "--json", error))


def swept(tmp_path: Path, *logs: ClaudeLog) -> Workspace:
    space = Workspace(tmp_path / "space")
    space.write(*logs)
    space.sweep()
    return space


def quoted(seed: int, url: str) -> ClaudeLog:
    written = log(seed)
    written.run(f"curl -s {url}", UNQUOTED.format(url), exit_code=1)
    written.run(f"curl -s '{url}' 2>&1 | tail -5", "{}")
    return written


def edited(seed: int, error: str, *files: str) -> ClaudeLog:
    written = log(seed)
    written.run("pytest", error, exit_code=1)
    for file in files:
        written.edit(f"/work/shop/{file}", "a", "b")
    written.run("pytest", "4 passed")
    return written


@pytest.mark.rows("BRF-08")
def test_the_very_same_error_is_answered_before_one_of_its_shape(tmp_path: Path) -> None:
    space = swept(tmp_path, quoted(1, "http://a/x?n=1"), quoted(2, "http://b/y?m=2"))
    found = answer(space, UNQUOTED.format("http://a/x?n=1"))
    (cure,) = found["cures"]
    assert found["match"] == "exact"
    assert (cure["command"], cure["kind"]) == ("curl -s 'http://a/x?n=1'", "command")
    alike = answer(space, UNQUOTED.format("http://c/z?k=3"))
    assert alike["match"] == "shape" and alike["sessions"] == 2
    assert alike["cures"][0]["worked"] == 2
    output = ask(space, UNQUOTED.format("http://c/z?k=3"))
    assert output.startswith("an error of the same shape: zsh:1: no matches found")


def test_a_line_that_was_cut_for_show_still_matches(tmp_path: Path) -> None:
    long_error = "Error: the lock file of the shop is stale because " + "reasons " * 40
    written = log(1)
    written.run("shop build", long_error, exit_code=1)
    written.run("shop unlock", "done")
    written.run("shop build", "built")
    space = swept(tmp_path, written)
    found = answer(space, long_error)
    assert found["cures"][0]["command"] == "shop unlock"
    assert found["problem"].endswith("…")
    assert answer(space, found["problem"])["cures"] == found["cures"]


def test_any_telling_line_of_the_failure_finds_its_cure(tmp_path: Path) -> None:
    output = "error: first complaint about cheese\n" + "noise\n" * 900 + "fatal: second complaint"
    written = log(1)
    written.run("shop build", output, exit_code=1)
    written.run("shop unlock", "done")
    written.run("shop build", "built")
    space = swept(tmp_path, written)
    for line in ("error: first complaint about cheese", "fatal: second complaint", output):
        assert answer(space, line)["cures"][0]["command"] == "shop unlock"


@pytest.mark.parametrize(
    "line",
    [
        "Found 3 errors.",
        "npm error command sh -c tsc --noEmit",
        'error: script "lint" exited with code 1',
        "Tests: 1 failed, 4 passed, 5 total",
        "error: expect(received).toBe(expected)",
        "SyntaxError: Unexpected end of JSON input",
        "[FAILED] markdownlint --fix [FAILED]",
        "[lint] ERROR task failed",
    ],
)
def test_a_line_that_names_nothing_is_no_error_to_answer(tmp_path: Path, line: str) -> None:
    written = log(1)
    written.run("bun run lint", line, exit_code=1)
    written.run("bun run lint:fix", "done")
    written.run("bun run lint", "ok")
    assert "no session had this error" in ask(swept(tmp_path, written), line, code=1)


def test_what_the_user_refused_or_stopped_is_no_error(tmp_path: Path) -> None:
    written = log(1)
    written.deny("Bash", {"command": "rm -rf build"})
    written.run("ls", "Sibling tool call errored", exit_code=1)
    written.run("make", "[Request interrupted by user for tool use]", exit_code=1)
    space = swept(tmp_path, written)
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    for line in (
        refused,
        "[Request interrupted by user for tool use]",
        "Sibling tool call errored",
    ):
        assert "no session had this error" in ask(space, line, code=1)


def test_passed_and_skipped_tests_are_no_error_lines(tmp_path: Path) -> None:
    output = "(pass) login > fails with an error\n[SKIPPED] upload error\n(fail) cart > totals"
    space = swept(tmp_path, edited(1, output, "cart.py"))
    assert answer(space, "(fail) cart > totals")["cures"][0]["kind"] == "edit"
    assert answer(space, output)["problem"] == "(fail) cart > totals"
    ask(space, "[SKIPPED] upload error", code=1)


@pytest.mark.rows("FIX-01")
def test_an_edit_answers_only_the_error_it_was_made_for(tmp_path: Path) -> None:
    space = swept(tmp_path, edited(1, "FAILED tests/test_cart.py::test_total", "cart.py"))
    found = answer(space, "FAILED tests/test_cart.py::test_total")
    assert [(cure["kind"], cure["command"]) for cure in found["cures"]] == [
        ("edit", "edit cart.py")
    ]
    ask(space, "FAILED tests/test_user.py::test_name", code=1)


@pytest.mark.rows("FIX-01")
def test_edits_that_differ_by_session_are_no_answer(tmp_path: Path) -> None:
    error = "FAIL shop/cart [build failed]"
    space = swept(tmp_path, edited(1, error, "cart.py"), edited(2, error, "user.py"))
    output = ask(space, error)
    assert "never cured here" not in output and "cart.py" not in output
    assert "other edits each time; met 2 times in 2 sessions" in output


def test_an_error_that_nothing_cured_is_said_to_be_so(tmp_path: Path) -> None:
    written = log(1)
    written.run("shop deploy", "fatal: refused by the shop", exit_code=1)
    space = swept(tmp_path, written)
    assert "never cured here, as far as the logs show; met 1 time in 1 session" in ask(
        space, "fatal: refused by the shop"
    )
    assert answer(space, "fatal: refused by the shop")["cures"] == []
    assert "no session had this error" in ask(space, "fatal: refused by the host", code=1)


def test_a_missing_tool_is_known_by_its_name_in_any_shell(tmp_path: Path) -> None:
    written = log(1)
    written.run("python -m pytest", "(eval):1: command not found: python", exit_code=127)
    written.run("python3 -m pytest", "3 passed")
    space = swept(tmp_path, written)
    found = answer(space, "bash: line 1: python: command not found")
    assert (found["match"], found["cures"][0]["command"]) == ("shape", "python3 -m pytest")
    ask(space, "bash: line 1: ruby: command not found", code=1)


def test_of_many_edits_the_file_that_the_error_names_is_told(tmp_path: Path) -> None:
    error = "src/cart.ts(3,1): error TS2322: no number\nsrc/user.ts(9,2): error TS2304: no name"
    files = ("src/cart.ts", "src/user.ts", *(f"src/other{number}.ts" for number in range(9)))
    space = swept(tmp_path, edited(1, error, *files))
    (cure,) = answer(space, "src/cart.ts(3,1): error TS2322: no number")["cures"]
    assert cure["command"] == "edit src/cart.ts"


@pytest.mark.rows("FIX-01")
def test_an_edit_is_told_with_the_file_that_was_really_edited(tmp_path: Path) -> None:
    error = "src/agent.ts(217,9): error TS2322: Type 'press' is not assignable to type 'Action'"
    space = swept(tmp_path, edited(1, error, "src/types.ts", "src/agent.ts"))
    (cure,) = answer(space, error)["cures"]
    assert cure["command"] == "edit src/agent.ts, src/types.ts"
    assert [quote["text"] for quote in cure["quotes"]] == ["edit src/types.ts", "edit src/agent.ts"]


@pytest.mark.rows("FIX-01")
def test_what_mends_a_task_in_several_sessions_is_told_where_only_the_task_is_named(
    tmp_path: Path,
) -> None:
    output = 'Found {} errors.\nerror: script "lint" exited with code 1'
    logs = [log(seed) for seed in (1, 2)]
    for seed, written in enumerate(logs, 1):
        written.run("bun run lint", output.format(seed), exit_code=1)
        written.run("bun run lint:fix", "done")
        written.run("bun run lint", "ok")
    space = swept(tmp_path, *logs)
    (cure,) = answer(space, output.format(9))["cures"]
    assert (cure["command"], cure["worked"]) == ("bun run lint:fix", 2)
    ask(space, 'error: script "test" exited with code 1', code=1)


@pytest.mark.rows("FIX-01")
def test_a_line_of_many_faults_is_passed_over_for_the_next(tmp_path: Path) -> None:
    wrapper = "ERROR shop build failed at bundle"
    told = [f"{wrapper}\nerror: no {part} in the shop" for part in ("cart", "till")]
    space = swept(tmp_path, edited(1, told[0], "cart.py"), edited(2, told[1], "till.py"))
    assert answer(space, told[0])["cures"][0]["command"] == "edit cart.py"
    assert answer(space, wrapper)["cures"] == []


def test_a_file_that_had_to_be_read_is_told_without_its_name(tmp_path: Path) -> None:
    error = "File has not been read yet. Read it first before writing to it."
    written = log(1)
    written.result(written.call("Edit", {"file_path": "/work/shop/a.py"}), error, error=True)
    written.read("/work/shop/a.py", "a")
    written.edit("/work/shop/a.py", "a", "b")
    space = swept(tmp_path, written)
    assert answer(space, error)["cures"][0]["command"] == "Read the file; Edit the file"


def test_what_worked_by_chance_once_is_not_told_beside_what_works(tmp_path: Path) -> None:
    error = "Error: unknown flag: --no-pager"
    logs = [log(seed) for seed in range(1, 6)]
    for seed, written in enumerate(logs, 1):
        command = "shop status" if seed < 5 else "shop search cart"
        written.run(f"{command} --no-pager", error, exit_code=1)
        written.run(command, "ok")
    found = answer(swept(tmp_path, *logs), error)
    assert [cure["command"] for cure in found["cures"]] == ["shop status"]
