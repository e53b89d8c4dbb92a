"""Packages of agents: what init would write, on a machine of which nothing is known."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.install.machine import Machine

from session_memory.packages.build import (
    package_files,
    repository_files,
    standalone_files,
    with_package,
)

AGENTS = ("claude", "codex", "gemini", "opencode", "copilot", "pi")
WITH_HOOKS = ("claude", "codex", "gemini", "copilot")
posix = pytest.mark.skipif(os.name != "posix", reason="the commands of packages are for a shell")


def hooks_of(agent: str) -> dict[str, list[dict[str, Any]]]:
    texts = package_files(agent)
    return json.loads(texts.get("hooks/hooks.json") or texts["hooks.json"])["hooks"]


def hook_command(agent: str, event: str) -> str:
    (group,) = hooks_of(agent)[event]
    handler = group["hooks"][0] if "hooks" in group else group
    return handler.get("command") or handler["bash"]


def server_of(agent: str) -> list[str]:
    texts = package_files(agent)
    entry = json.loads(texts.get(".mcp.json") or texts["gemini-extension.json"])["mcpServers"]
    return [entry["session-memory"]["command"], *entry["session-memory"]["args"]]


def fire(machine: Machine, agent: str, event: str, **environ: str) -> None:
    """Run a package's hook as the agent does."""
    payload = {"session_id": "s1", "cwd": str(machine.home), "hook_event_name": event}
    if agent == "copilot":
        payload = {"sessionId": "s1", "cwd": str(machine.home)}
    done = subprocess.run(
        ["/bin/sh", "-c", hook_command(agent, event)],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env=environment(machine, **environ),
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def environment(machine: Machine, **more: str) -> dict[str, str]:
    """What an agent's process has, with our program installed for its user."""
    program = str(Path(sys.executable).parent)
    return {
        "PATH": f"{program}:/usr/bin:/bin",
        "HOME": str(machine.home),
        "SESSION_MEMORY_HOME": str(machine.memory),
        **more,
    }


def records(machine: Machine) -> list[dict[str, Any]]:
    spool = machine.memory / "state" / "spool"
    return [json.loads(path.read_bytes()) for path in sorted(spool.glob("*.json"))]


def ready(machine: Machine) -> None:
    """Our files, with no worker that would take the records away."""
    assert machine.run("worker", "launchers").code == 0
    without_worker(machine)


def without_worker(machine: Machine) -> None:
    path = machine.memory / "state" / "hook.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "worker": []}))


def first_event(agent: str) -> str:
    return next(event for event in hooks_of(agent) if event.lower() == "sessionstart")


@pytest.mark.rows("PKG-01")
def test_the_agents_that_have_a_package() -> None:
    assert tuple(sorted(with_package())) == tuple(sorted(AGENTS))


@pytest.mark.rows("PKG-01")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_package_can_be_read_and_names_no_path_of_a_machine(agent: str) -> None:
    for name, text in standalone_files(agent).items():
        if name.endswith(".json"):
            json.loads(text)
        if name.endswith(".toml"):
            tomllib.loads(text)
        if name.endswith(".md"):
            assert text.startswith("---\n") and text.count("\n---\n") == 1
        assert sys.prefix not in text and "/nowhere" not in text
        assert "${" not in text or name.endswith(".ts")  # agents would expand it
    skill = standalone_files(agent)
    (text,) = [text for name, text in skill.items() if name.endswith("/session-memory/SKILL.md")]
    assert "fix" in text and "search" in text


@pytest.mark.rows("PKG-01")
def test_what_the_repository_holds_is_what_is_built() -> None:
    root = Path(__file__).resolve().parents[2]
    for name, text in repository_files().items():
        assert (root / name).read_text(encoding="utf-8") == text, f"{name}: run `make docs`"


@posix
@pytest.mark.rows("PKG-02")
@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_a_hook_is_silent_where_the_program_is_not_installed(machine: Machine, agent: str) -> None:
    fire(machine, agent, first_event(agent), PATH="/usr/bin:/bin")
    assert not machine.memory.exists()


@posix
@pytest.mark.rows("PKG-02")
def test_the_first_call_makes_the_launchers_and_is_recorded(machine: Machine) -> None:
    fire(machine, "claude", "SessionStart", SESSION_MEMORY_INTERNAL="")
    assert machine.launcher.exists()
    assert (machine.memory / "state").is_dir()
    without_worker(machine)
    fire(machine, "claude", "SessionStart")
    assert records(machine)[-1]["event"] == "session_start"


@posix
@pytest.mark.rows("PKG-03")
@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_where_init_wired_the_agent_too_an_event_is_recorded_once(
    machine: Machine, agent: str
) -> None:
    ready(machine)
    fire(machine, agent, first_event(agent))
    assert [record["flavor"] for record in records(machine)] == [agent]
    machine.have(agent)
    trust = ["--trust-codex-hooks"] if agent == "codex" else []
    assert machine.run("init", "--yes", "--no-sweep", "--agent", agent, *trust).code == 0
    without_worker(machine)
    fire(machine, agent, first_event(agent))
    assert len(records(machine)) == 1
    machine.uninstall()
    ready(machine)
    fire(machine, agent, first_event(agent))
    assert len(records(machine)) == 2


@posix
@pytest.mark.rows("PKG-03")
def test_hooks_that_codex_skips_do_not_silence_the_package(machine: Machine) -> None:
    machine.have("codex")
    assert machine.run("init", "--yes", "--no-sweep", "--agent", "codex").code == 0
    without_worker(machine)
    fire(machine, "codex", "SessionStart")
    assert len(records(machine)) == 1


@posix
@pytest.mark.rows("PKG-03")
def test_a_wired_project_is_recognised_from_inside(machine: Machine, tmp_path: Path) -> None:
    ready(machine)
    settings = machine.home / "shop" / ".claude" / "settings.local.json"
    settings.parent.mkdir(parents=True)
    (machine.home / "shop" / ".git").mkdir()
    settings.write_text(json.dumps({"hooks": machine.hook("SessionStart", "claude")}))
    payload = {"session_id": "s1", "cwd": str(machine.home / "shop"), "hook_event_name": "Stop"}
    for cwd, count in ((str(machine.home / "shop"), 0), (str(tmp_path), 1)):
        subprocess.run(
            shlex.split(hook_command("claude", "Stop")),
            input=json.dumps({**payload, "cwd": cwd}).encode(),
            env=environment(machine),
            check=True,
        )
        assert len(records(machine)) == count


def tools(
    machine: Machine, words: list[str], client: str = "claude-code", **environ: str
) -> list[str]:
    """The tools a package's server lists to a client."""
    hello = {"protocolVersion": "2025-06-18", "clientInfo": {"name": client}}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = subprocess.run(
        words,
        input="".join(json.dumps(line) + "\n" for line in lines).encode(),
        capture_output=True,
        env=environment(machine, **environ),
        timeout=120,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [tool["name"] for tool in answers[1]["result"]["tools"]]


@posix
@pytest.mark.rows("PKG-04")
def test_the_server_offers_its_tools_once(machine: Machine) -> None:
    words = server_of("claude")
    assert tools(machine, words, PATH="/usr/bin:/bin") == []
    assert len(tools(machine, words)) == 8
    machine.have("claude", "copilot")
    machine.run("init", "--yes", "--no-sweep")
    assert tools(machine, words) == []
    # Where two servers of one name are one, whichever the agent keeps must have the tools.
    assert len(tools(machine, server_of("copilot"), "github-copilot-developer")) == 8
    assert len(tools(machine, machine.server)) == 8


@pytest.mark.rows("PKG-05")
def test_a_build_goes_into_an_empty_folder_or_over_an_earlier_one(
    machine: Machine, tmp_path: Path
) -> None:
    out = tmp_path / "plugin"
    assert "would be written" in machine.run("package", "--agent", "pi", str(out), "--dry-run").out
    assert not out.exists()
    for _ in range(2):
        done = machine.run("package", "--agent", "pi", str(out))
        assert done.code == 0 and f"pi install {out}" in done.out
    built = {p.relative_to(out).as_posix(): p.read_text() for p in out.rglob("*") if p.is_file()}
    assert built == standalone_files("pi")
    (out / "notes.txt").write_text("mine")
    done = machine.run("package", "--agent", "pi", str(out))
    assert done.code == 8 and "notes.txt" in done.err
    done = machine.run("package", "--agent", "zed", str(tmp_path / "other"))
    assert done.code == 2 and "claude" in done.err
    answer = json.loads(
        machine.run("package", "--agent", "codex", str(tmp_path / "c"), "--json").out
    )
    assert answer["install"][1] == "codex plugin add session-memory@session-memory"
    assert ".agents/plugins/marketplace.json" in answer["files"]
