"""`init` ends with memory prepared for every project it found, and shows an example of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.layout import MEMORY, memory_root

pytestmark = pytest.mark.rows("WIR-08")
HOUR = 3_600_000


def project(machine: Machine, name: str, check: str, *, first_seed: int) -> Path:
    """A repository with three sessions in which a check passed."""
    root = machine.home / "code" / name
    (root / ".git").mkdir(parents=True)
    for seed in range(first_seed, first_seed + 3):
        log = ClaudeLog(seed, cwd=str(root), start=1_790_000_000_000 + seed * HOUR)
        log.prompt(f"Fix the parser, part {seed}. Always keep the old names.")
        log.edit(f"{root}/src/parser.py", "a", "b")
        log.run(check, "12 passed", exit_code=0)
        log.say("The parser is fixed.")
        log.write(machine.home / ".claude")
    return root


def memory_of(machine: Machine, root: Path) -> Path:
    return memory_root(machine.memory / "data", str(root)) / MEMORY


def test_every_project_has_its_memory_and_the_newest_is_shown(machine: Machine) -> None:
    shop = project(machine, "shop", "make check", first_seed=1)
    site = project(machine, "site", "npm test", first_seed=11)
    done = machine.run("init", "--yes")
    assert done.code == 0, done.err
    shown = done.out.partition("memory     ")[2].splitlines()
    assert shown[0] == "made from 6 sessions; new sessions in 2 directories use it"
    assert shown[1] == f"for example, a new session in {site} will be told:"
    assert shown[2] == "- Verify with `npm test` (it passed in 3 sessions)"
    assert memory_of(machine, shop).exists() and memory_of(machine, site).exists()
    pages = [path for path in machine.memory.glob("state/inject/*.json") if len(path.stem) == 64]
    assert any("make check" in path.read_text() for path in pages)
    again = json.loads(machine.run("init", "--yes", "--json").out)["memory"]
    assert (again["sessions"], again["directories"], again["failed"]) == (0, 2, {})
    assert again["example"]["root"] == str(site)


def test_what_one_project_cannot_have_stops_no_other(machine: Machine) -> None:
    shop = project(machine, "shop", "make check", first_seed=1)
    site = project(machine, "site", "npm test", first_seed=11)
    blocked = memory_root(machine.memory / "data", str(site))
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file in the place of the folder")
    done = machine.run("init", "--yes")
    assert done.code == 3
    assert "was not prepared" in done.err
    assert memory_of(machine, shop).exists()
    assert "will be told:" in done.out


def test_without_a_sweep_or_with_memory_off_nothing_is_prepared(machine: Machine) -> None:
    root = project(machine, "shop", "make check", first_seed=1)
    assert "memory  " not in machine.run("init", "--yes", "--no-sweep").out
    assert json.loads(machine.run("init", "--yes", "--no-sweep", "--json").out)["memory"] is None
    off = machine.run("--set", "memory.enabled=false", "init", "--yes")
    assert off.code == 0 and "will be told" not in off.out
    assert not memory_of(machine, root).exists()


def test_sessions_that_prove_nothing_are_said_to(machine: Machine) -> None:
    root = machine.home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    log = ClaudeLog(1, cwd=str(root))
    log.prompt("what is this?")
    log.say("A shop.")
    log.write(machine.home / ".claude")
    done = machine.run("init", "--yes")
    assert done.code == 0, done.err
    assert "a new session is told nothing yet" in done.out


def test_with_a_model_reading_is_left_to_the_worker_and_rules_speak_until_then(
    machine: Machine,
) -> None:
    root = project(machine, "shop", "make check", first_seed=1)
    done = machine.run("--set", "model.provider=claude_cli", "init", "--yes")
    assert done.code == 0, done.err
    assert "made from 0 sessions; new sessions in 1 directory use it" in done.out
    assert "- Verify with `make check`" in done.out
    assert not memory_of(machine, root).exists()
