"""From a rule to a guard, its words, its measure and its end, as a user runs it."""

from __future__ import annotations

import json

import pytest
from tests.guards.conftest import User

from session_memory.testing.command import run_command

NPM = "Use `bun`, not `npm`."


@pytest.mark.rows("GRD-12", "GRD-13", "GRD-05")
def test_a_rule_becomes_a_guard_is_measured_annoys_and_is_silenced(user: User) -> None:
    user.run("init", "--yes", "--agent", "claude")
    settings = json.loads((user.home / ".claude" / "settings.json").read_text())
    assert "PreToolUse" in settings["hooks"]
    assert user.npm("before") == ""
    user.run("rules", "add", NPM)
    (guard,) = user.json("rules", "guard", "list")["guards"]
    rule = guard["id"]
    assert (guard["mode"], guard["checks"]) == ("hint", "before `npm`")
    tested = user.run("rules", "guard", "test", rule)
    assert "4 times in 2 sessions" in tested and "failed" in tested
    assert "it would speak" in user.run("rules", "guard", "test", rule, "cd x && npm i")
    assert "it would be silent" in user.run("rules", "guard", "test", rule, "bun i")
    for session in ("a", "b", "c"):
        assert f"sm-{rule}" in user.npm(session)
        assert user.npm(session) == ""  # the agent did it again
    user.run("worker", "run")
    measured = user.run("rules", "measure")
    assert "spoke 3 times in 3 sessions; followed in 0, overridden in 3" in measured
    assert "fewer is better" in measured
    proposal = f"`session-memory rules guard off {rule}` silences it"
    assert proposal in measured
    assert proposal in user.run("rules") and proposal in user.run("status")
    refused = user.run("rules", "guard", "set", rule, "deny")
    assert "is deny" in refused
    assert '"permissionDecision":"deny"' in user.npm("d")
    user.run("rules", "guard", "off", rule)
    assert user.npm("e") == "" and proposal not in user.run("status")
    user.run("rules", "guard", "set", rule, "hint")
    assert f"sm-{rule}" in user.npm("f")
    user.run("rules", "retire", rule, "--reason", "no longer true")
    assert user.npm("g") == "" and not (user.data / "hooks" / "guards.json").exists()
    user.run("uninstall", "--yes")
    assert not (user.home / ".claude" / "settings.json").exists()
    assert not (user.data / "hooks").exists()


@pytest.mark.rows("GRD-11", "GRD-13")
def test_only_what_a_person_approved_is_checked_and_forgetting_reaches_it(user: User) -> None:
    user.run("init", "--yes", "--agent", "claude")
    assert not (user.data / "hooks" / "guards.json").exists()
    assert "no such rule" in user.run("rules", "guard", "set", "nothing", "deny", code=1)
    user.run("rules", "add", "Use `bun`, not `npm` (zebrawood).")
    user.npm("a")
    assert len(list((user.state / "guards").iterdir())) == 1
    user.run("forget", "--project", "shop", "--yes")
    assert not (user.state / "guards").exists() or not list((user.state / "guards").iterdir())
    table = user.data / "hooks" / "guards.json"
    assert not table.exists() or "zebrawood" not in table.read_text()


def test_words_that_cannot_be_checked_are_refused_with_a_way_out(user: User) -> None:
    user.run("init", "--yes", "--agent", "claude")
    user.run("rules", "add", "Keep it short.")
    rows = user.json("rules", "guard", "list", "--all")["guards"]
    (row,) = rows
    assert row["mode"] == "none"
    output = user.run("rules", "guard", "set", row["id"], "deny", code=8)
    assert "--when" in output
    user.run("rules", "guard", "set", row["id"], "hint", "--when", "command npm")
    assert "Keep it short." in user.npm("a")
    user.run("rules", "guard", "set", row["id"], "hint", "--when", "a | b", code=2)


@pytest.mark.rows("GRD-10")
def test_a_damaged_file_of_decisions_leaves_sessions_their_pages(user: User) -> None:
    user.run("init", "--yes", "--agent", "claude")
    user.run("rules", "add", "Use `bun`, not `npm`.")
    user.run("worker", "run")
    pages = {path: path.unlink() for path in (user.state / "inject").glob("*.json")}
    (user.data / "guards.json").write_text("{")
    run_command("worker", "run", environ=user.environ, directory=user.project)
    assert pages and {*(user.state / "inject").glob("*.json")} == pages.keys()
