"""The verbs of recall print what the tools answer, for programs and for people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.cli.app import App, cli
from session_memory.recall.completion_check import completion_check
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.open_work import open_work
from session_memory.recall.project_brief import project_brief
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import PackRequest, ScopeRequest, ScopeResolveRequest
from session_memory.recall.scope_resolve import scope_resolve
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A swept project with open work."""
    place = Workspace(tmp_path)
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    for number, item in enumerate(("buy tiles", "buy paint"), 1):
        log = ClaudeLog(number, cwd=str(root))
        log.prompt(f"Please mend the house, part {number}, before winter comes.")
        log.say(f"Pending: {item}\n\nDecision: use green colour {number}")
        place.write(log)
    place.sweep()
    return place


def run(space: Workspace, *arguments: str, code: int = 0) -> str:
    app = App(space.environ(), clock=lambda: space.now)
    config = ["--config", str(space.write_config())]
    result = CliRunner().invoke(cli, [*config, *arguments], obj=app)
    assert result.exit_code == code, result.output
    return result.stdout


ANSWERS: dict[str, Any] = {
    "project pack": lambda recall: context_pack(recall, PackRequest("shop")),
    "project brief": lambda recall: project_brief(recall, ScopeRequest("shop")),
    "project open-work": lambda recall: open_work(recall, ScopeRequest("shop")),
    "project completion-check": lambda recall: completion_check(recall, ScopeRequest("shop")),
    "project changes": lambda recall: recent_changes(recall, ScopeRequest("shop")),
    "project lanes": lambda recall: scope_resolve(recall, ScopeResolveRequest("shop")),
}


@pytest.mark.parametrize("verb", ANSWERS)
def test_json_is_the_answer_of_the_tool(space: Workspace, verb: str) -> None:
    with space.store() as store:
        answer = ANSWERS[verb](RecallContext(store, lambda: space.now, read_only=True))
    printed = json.loads(run(space, *verb.split(), "--project", "shop", "--json"))
    assert printed.pop("schema_version") == 1
    assert printed == json.loads(msgspec.json.encode(answer))


@pytest.mark.parametrize(
    "verb",
    [
        "project pack",
        "project brief",
        "project open-work",
        "project completion-check",
        "project changes",
    ],
)
def test_people_see_the_open_work(space: Workspace, verb: str) -> None:
    assert "buy tiles" in run(space, *verb.split(), "--project", "shop")


def test_the_working_directory_names_the_project(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(space.root / "shop")
    assert "buy paint" in run(space, "project", "open-work")
    monkeypatch.chdir(space.home)
    error = CliRunner().invoke(
        cli,
        ["--config", str(space.write_config()), "project", "open-work"],
        obj=App(space.environ(), clock=lambda: space.now),
    )
    assert "Project not found for this directory" in str(error.exception)


def test_lanes_are_a_table(space: Workspace) -> None:
    assert "shop" in run(space, "project", "lanes", "--project", "shop")


def test_one_session_by_its_number_or_its_name(space: Workspace) -> None:
    with space.store() as store:
        one = next(iter(store.scopes.lines(store.projects()[0].id)))
    by_number = run(space, "project", "pack", "--session", str(one.id), "--json")
    by_name = run(space, "project", "pack", "--session", one.external_id, "--json")
    assert json.loads(by_number)["pack_hash"] == json.loads(by_name)["pack_hash"]
    assert json.loads(by_number)["session_id"] == one.id


def test_a_known_pack_is_not_printed_again(space: Workspace) -> None:
    known = json.loads(run(space, "project", "pack", "--project", "shop", "--json"))["pack_hash"]
    assert run(space, "project", "pack", "--project", "shop", "--known", known).startswith(
        "The pack you have"
    )


def test_a_dry_check_is_not_recorded_and_a_plain_one_is(space: Workspace) -> None:
    def checks() -> int:
        with space.store() as store:
            return len(store.closures.all(store.projects()[0].id))

    before = checks()
    run(space, "project", "completion-check", "--project", "shop", "--dry-run")
    assert checks() == before
    run(space, "project", "completion-check", "--project", "shop")
    assert checks() == before + 1


def test_a_sync_says_what_it_did(space: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    said = run(space, "project", "pack", "--project", "shop", "--sync", str(file))
    assert "context_pack_not_smaller_than_source" in said
    assert not file.exists()
    answer = json.loads(
        run(space, "project", "pack", "--project", "shop", "--sync", str(file), "--json")
    )
    assert answer["skipped"] is True


@pytest.mark.rows("SRC-10")
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "tiles", "--agent", "cluade"),
        ("sessions", "--agent", "cluade"),
        ("tail", "--once", "--agent", "cluade"),
        ("search", "tiles", "--kind", "nothing"),
        ("search", "tiles", "--tool", "Nothing"),
        ("search", "tiles", "--session", "nothing"),
        ("search", "tiles", "--cursor", "nothing"),
        ("search", "tiles", "--project", "shopp"),
        ("sessions", "--project", "shopp"),
        ("project", "observations", "--project", "shopp"),
        ("project", "observations", "--type", "nothing"),
        ("sessions", "--outcome", "nothing"),
        ("usage", "--by", "nothing"),
        ("project", "pack", "--project", "shop", "--budget", "huge"),
        ("search", "tiles", "--file", "x.py"),
        ("search", "--file", "x.py"),
    ],
    ids=" ".join,
)
def test_a_value_that_nobody_knows_is_an_error_and_not_an_empty_answer(
    space: Workspace, arguments: tuple[str, ...]
) -> None:
    done = space.run("--config", str(space.write_config()), *arguments)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert "error:" in done.stderr


@pytest.mark.rows("SRC-10")
def test_filters_of_search_hold_for_everything(space: Workspace) -> None:
    def found(*filters: str) -> int:
        return json.loads(run(space, "search", "tiles", "--json", *filters))["count"]

    assert found() > 0
    assert found("--until", "2026-01-01") == found("--agent", "codex") == 0
    assert found("--kind", "tool_call") == found("--errors") == 0
    assert found("--kind", "assistant_text") == found("--agent", "claude") == found()


@pytest.mark.rows("OPN-05")
def test_open_work_says_what_each_line_rests_on_and_all_what_is_left_out(space: Workspace) -> None:
    later = ClaudeLog(3, cwd=str(space.root / "shop"), start=START + 3_600_000)
    later.prompt("Please paint the door of the house green, with two coats.")
    later.run("git commit -m 'Paint the door'", "[door 1a2b3c4] Paint the door")
    later.run("git push -u origin door", " * [new branch]      door -> door")
    later.run("gh pr create --fill", "https://github.com/o/shop/pull/7")
    later.say("The door is green and the PR is open.")
    space.write(later)
    space.sweep()
    shown = run(space, "project", "open-work", "--project", "shop")
    assert "- Branch `door`: PR #7 not merged  (read from the log, 20" in shown
    assert "buy tiles" not in shown
    everything = run(space, "project", "open-work", "--project", "shop", "--all")
    assert "- pending_item: buy tiles  [done, dropped or overtaken since]" in everything
    left = json.loads(run(space, "project", "pack", "--project", "shop", "--all", "--json"))[
        "left_out"
    ]
    assert {"buy tiles", "buy paint"} <= {line["text"] for line in left}
    assert "left out:" in run(space, "project", "pack", "--project", "shop", "--all")


def test_a_notice_of_the_client_is_no_request(space: Workspace) -> None:
    log = ClaudeLog(4, cwd=str(space.root / "shop"), start=START + 7_200_000)
    log.prompt("Please oil the hinges of the garden gate.")
    log.queue('{"task_id":"b1","description":"Push to remote","task_type":"local_bash"}')
    log.run("make oil", "oiled")
    space.write(log)
    space.sweep()
    assert "task_id" not in run(space, "project", "pack", "--project", "shop", "--json")


def test_a_search_loads_nothing_of_distilling() -> None:
    code = "import sys, session_memory.cli.search; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "session_memory.recall.search" in loaded
    assert [name for name in loaded if name.startswith("session_memory.distil")] == []
