"""Lists end where a screen would scroll away, and say so; -v says more in each verb, -q less."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from session_memory import audit
from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

RULE = "e27ec571fd43"


def run(space: Workspace, *words: str, code: int = 0) -> str:
    done = space.run("--config", str(space.write_config()), *words)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture
def samples(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    write_samples(space.claude)
    run(space, "sweep")
    return space


@pytest.mark.rows("CLI-10")
def test_many_candidates_projects_and_observations_are_cut_with_a_word(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    for number in range(60):
        log = ClaudeLog(number + 1, cwd=f"/work/p{number}", start=START + number * 60_000)
        log.prompt(f"Fix the parser of part {number}.")
        for tool in range(3):
            command = f"tool{tool}{chr(97 + number % 12)} build"
            log.run(command, f"{command}: refused by the server", exit_code=1)
            log.run(f"{command} --force", "done")
        log.say("Done.")
        space.write(log)
    run(space, "sweep")
    shown = run(space, "rules", "detect", "--all")
    count = len([line for line in shown.splitlines() if line[:4].strip(" .").isdigit()])
    assert count > 4
    few = run(space, "rules", "detect", "--min-frequency", "1", "--limit", "3")
    assert " more: --all" in few and "  4. " not in few
    filters = ("--min-frequency", "1", "--limit", "3")
    everything = json.loads(run(space, "rules", "detect", *filters, "--json"))
    assert len(everything) > 3, "JSON is complete"

    projects = run(space, "project", "list")
    assert len(projects.splitlines()) == 52 and projects.endswith("10 more: --all\n")
    assert len(run(space, "project", "list", "--all").splitlines()) == 61

    requests = run(
        space, "project", "observations", "--type", "user_request", "--all", "--limit", "5"
    )
    assert len(requests.splitlines()) == 6 and requests.endswith("55 more: --limit 60\n")

    sessions = run(space, "sessions")
    assert sessions.endswith("40 more: --all\n")
    assert "more" not in run(space, "-q", "sessions"), "a hint is no result"


@pytest.mark.rows("CLI-10")
def test_the_audit_shows_the_last_writes_and_says_how_many_came_before(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    for number in range(60):
        entry = audit.Written(
            at=START + number,
            by="init",
            path=f"/home/f{number}",
            why="a test",
            before=None,
            after=None,
        )
        audit.append(space.store_directory, entry)
    text = run(space, "store", "audit")
    assert "/home/f59" in text and "/home/f9 " not in text and "10 more: --all" in text
    assert "/home/f9 " in run(space, "store", "audit", "--all")
    assert len(json.loads(run(space, "store", "audit", "--json"))["written"]) == 60


@pytest.mark.rows("CLI-10")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
def test_settings_at_a_terminal_are_those_that_were_set(tmp_path: Path) -> None:
    from tests.e2e.pseudo_terminal import Seat, at_terminal

    space = Workspace(tmp_path)
    file = tmp_path / "c.toml"
    file.write_text("[retention]\nraw_max_age_days = 90\n")
    seat = Seat({**space.environ(), "PAGER": "cat", "TERM": "xterm"}, tmp_path)
    program = ("session_memory", "--config", str(file), "config", "show")
    seen = at_terminal(seat, _python(*program))
    assert "retention.raw_max_age_days" in seen.screen and "keys have their default" in seen.screen
    assert len(seen.screen.splitlines()) < 6
    assert len(at_terminal(seat, _python(*program, "--all")).screen.splitlines()) > 60
    piped = space.run("--config", str(file), "config", "show").stdout
    assert len(piped.splitlines()) > 60 and "default" in piped, "a program gets every key"
    one = space.run("--config", str(file), "config", "show", "retention").stdout.splitlines()
    assert len(one) > 2 and all(line.startswith("retention.") for line in one[1:])
    assert space.run("--config", str(file), "config", "show", "nothing").returncode == 4


def _python(*words: str) -> list[str]:
    import sys

    return [sys.executable, "-m", *words]


@pytest.mark.rows("CLI-11")
def test_the_numbers_of_detect_name_rules_at_once(samples: Workspace) -> None:
    assert "  1. Run `pytest` as" in run(samples, "rules", "detect")
    assert run(samples, "rules", "show", "1").startswith(RULE)
    run(samples, "rules", "reject", "1", "--reason", "a one-off")
    assert f"[{RULE}] (rejected)" in run(samples, "rules", "list", "--status", "rejected")


@pytest.mark.rows("CLI-12")
@pytest.mark.parametrize(
    ("words", "more"),
    [
        (("sessions",), "4b5c3992-2198-468d-b41f-399cf30e2501"),
        (("show", "1"), "analyzed"),
        (("search", "never", "push"), "(score "),
        (("fix", "No module named 'shop'"), "claude:"),
        (("usage",), "prices of "),
        (("status",), "worktrees"),
        (("rules",), "2026-03-03  claude:"),
        (("help",), "How much evidence a rule needs (gate)\n\nTwo floors"),
        (("project", "pack", "--project", "shop"), "left out"),
    ],
)
def test_verbose_says_more(samples: Workspace, words: tuple[str, ...], more: str) -> None:
    assert more not in run(samples, *words)
    assert more in run(samples, *words, "-v")


@pytest.mark.rows("CLI-12")
def test_quiet_says_less(samples: Workspace) -> None:
    assert "Try" in run(samples) and "Try" not in run(samples, "-q")
    again = run(samples, "-q", "sweep")
    assert again.startswith("stored     0 events, 0 new sessions") and again.count("\n") == 1
    done = samples.run("--config", str(samples.write_config()), "rules", "-q")
    assert "await your decision" not in done.stderr and RULE in done.stdout
