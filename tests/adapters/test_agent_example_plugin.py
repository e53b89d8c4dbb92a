"""The agent that docs/adapters.md shows is a real package: installed, captured, wired, taught."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sysconfig
import time
import tomllib
import venv
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

import session_memory
from session_memory.adapters.agent import Agent, HookFacts, McpFacts
from session_memory.adapters.common import Adapter
from session_memory.testing.workspace import Workspace

PACKAGE = Path(__file__).parent / "example_plugin"
PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"
AT = 1_772_442_000_000

LINES: list[dict[str, Any]] = [
    {"type": "start", "at": AT, "cwd": "/work/shop", "version": "1.2"},
    {"type": "user", "at": AT + 1000, "text": "fix the test"},
    {"type": "call", "at": AT + 2000, "id": "c1", "tool": "bash", "input": {"command": "make"}},
    {"type": "result", "at": AT + 3000, "id": "c1", "text": "1 failed", "exit": 2},
    {"type": "dream", "at": AT + 4000, "about": "sheep"},
    {
        "type": "agent",
        "at": AT + 5000,
        "text": "It fails.",
        "response": "r1",
        "model": "m",
        "tokens": {"input": 10, "output": 4},
    },
]


def log(home: Path, lines: list[dict[str, Any]], session: str = "one") -> Path:
    """Write a session as the imagined agent would."""
    path = home / "sessions" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def install(target: Path, value: str = "AGENT") -> None:
    """What an installer leaves behind, made from the package's own pyproject.toml."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    shutil.copy(PACKAGE / "session_memory_notes.py", target)
    metadata = target / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    text = ""
    for group, points in project["entry-points"].items():
        text += f"[{group}]\n" + "".join(f"{name} = {to}\n" for name, to in points.items())
    (metadata / "entry_points.txt").write_text(text.replace(":AGENT", f":{value}"))


class Installation(NamedTuple):
    """A Python environment of its own, in which this program is installed."""

    python: Path
    packages: Path
    """Where an installer puts packages."""

    def run(self, *words: str, code: int = 0) -> str:
        """One command of the program; its output."""
        done = subprocess.run(
            [self.python, "-I", "-m", "session_memory", *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    def json(self, *words: str) -> Any:
        """The same for a command that prints JSON."""
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Agents start our hook, worker and server with this interpreter, isolated from variables."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    packages = Path(paths["purelib"])
    ours = [str(Path(session_memory.__file__).parents[1]), sysconfig.get_paths()["purelib"]]
    (packages / "session_memory.pth").write_text("\n".join(ours) + "\n")
    return Installation(folder / "bin" / "python", packages)


@pytest.fixture
def adapter() -> Adapter:
    """The package's record, without an installation."""
    file = PACKAGE / "session_memory_notes.py"
    spec = importlib.util.spec_from_file_location("session_memory_notes", file)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ADAPTER


@pytest.mark.rows("CAP-09")
@pytest.mark.parametrize("value", ["AGENT", "ADAPTER"])
def test_an_installed_package_adds_a_flavour_to_every_verb(
    installation: Installation, home: Path, value: str
) -> None:
    log(home / ".notes", LINES)
    assert "notes" not in installation.run("config", "agents", "--json")
    install(installation.packages, value)
    swept = installation.run("sweep", "--json")
    assert "notes 1.2: dream" in swept
    assert json.loads(swept)["schema_version"] == 1
    (agent,) = installation.json("config", "agents")["agents"]
    assert (agent["flavor"], agent["files"], agent["sessions"]) == ("notes", 1, 1)
    assert (agent["client_versions"], agent["unread"]) == (["1.2"], {"1.2: dream": 1})
    assert (
        installation.json("--set", "sources.notes.enabled=false", "config", "agents")["agents"]
        == []
    )


@pytest.mark.rows("CAP-09")
@pytest.mark.skipif(os.name != "posix", reason="the launcher is a shell script")
def test_an_agent_from_outside_is_captured_wired_taught_and_unwired(
    installation: Installation, home: Path, tmp_path: Path
) -> None:
    install(installation.packages)
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    data = Path(os.environ["SESSION_MEMORY_HOME"]) / "data" / "store.db"
    settings = home / ".notes" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"theme": "dark"}\n')

    # Wired: hooks and server stand in its settings, and its hook wakes a worker that captures.
    installation.run("init", "--agent", "notes", "--yes", "--no-sweep")
    wired = json.loads(settings.read_text())
    assert set(wired) == {"theme", "hooks", "mcpServers"}
    for number in range(3):
        path = log(home / ".notes", failing(str(shop), number), f"push-{number}")
        assert call_hook(wired, "SessionEnd", path, shop) == ""
    deadline = time.monotonic() + 60  # the worker is on its own by now
    while not (data.exists() and len(installation.json("sessions")["sessions"]) == 3):
        assert time.monotonic() < deadline
    assert "hooks wired, mcp wired" in installation.run("doctor", "--quick")

    # Given memory: the hook knows the agent, and prints what its model is to know of the project.
    installation.run("worker", "run")
    given = json.loads(call_hook(wired, "SessionStart", home / ".notes" / "next.jsonl", shop))
    told = given["hookSpecificOutput"]["additionalContext"]
    assert told.startswith("Today is ") and "Verify with `npm test`" in told

    # Taught: what recurs is approved, and goes into the file this agent reads.
    installation.run("rules", "detect")
    installation.run("rules", "propose", "--all")
    patterns = installation.json("rules", "list")["patterns"]
    push = next(row["id"] for row in patterns if row["locus"].startswith("git push"))
    installation.run("rules", "approve", push)
    installation.run("--set", "distribute.targets=NOTES.md", "rules", "distribute")
    assert push in (shop / "NOTES.md").read_text()
    installation.run("rules", "withdraw", "--all")
    assert not (shop / "NOTES.md").exists()

    # Unwired: its settings are as they were, to the byte.
    installation.run("uninstall", "--yes")
    assert settings.read_text() == '{"theme": "dark"}\n'


@pytest.mark.rows("CAP-09")
def test_what_was_written_for_a_package_that_is_gone_is_named(
    installation: Installation, home: Path
) -> None:
    install(installation.packages)
    installation.run("init", "--agent", "notes", "--yes", "--no-sweep")
    settings = home / ".notes" / "settings.json"
    (installation.packages / "session_memory_notes.py").unlink()
    shutil.rmtree(next(installation.packages.glob("*.dist-info")))
    problems = json.loads(installation.run("uninstall", "--yes", "--json", code=3))["problems"]
    assert [(one["path"], one["agent"]) for one in problems] == [(str(settings), "notes")]
    install(installation.packages)
    installation.run("uninstall", "--yes")
    assert not settings.exists()


def call_hook(settings: Any, event: str, transcript: Path, cwd: Path) -> str:
    """Do what the agent does at an event: run the command that its settings name."""
    payload = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "cwd": str(cwd),
        "hook_event_name": event,
    }
    return subprocess.run(
        settings["hooks"][event][0]["hooks"][0]["command"],
        shell=True,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def failing(cwd: str, number: int) -> list[dict[str, Any]]:
    """A session in which the tests pass and the same command fails twice."""
    at = AT + number * 3_600_000
    lines: list[dict[str, Any]] = [
        {"type": "start", "at": at, "cwd": cwd, "version": "1.2"},
        {"type": "user", "at": at + 1000, "text": f"ship release {number}"},
    ]
    for step in range(2):
        call, command = f"c{number}-{step}", {"command": "git push origin main"}
        row = {"id": call, "at": at + 2000 * (step + 1)}
        lines.append({**row, "type": "call", "tool": "bash", "input": command})
        lines.append({**row, "type": "result", "text": "fatal: refused", "exit": 1})
    check = {"id": f"t{number}", "at": at + 9000}
    lines.append({**check, "type": "call", "tool": "bash", "input": {"command": "npm test"}})
    lines.append({**check, "type": "result", "text": "3 passed", "exit": 0})
    return lines


@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_the_example_keeps_the_promises_of_the_page(
    tmp_path: Path, adapter: Adapter, cut: int
) -> None:
    dumps: list[list[dict[str, Any]]] = []
    for name, steps in (("grown", (cut, len(LINES))), ("whole", (len(LINES),))):
        space = Workspace(tmp_path / name)
        space.adapters = {"notes": adapter}
        space.paths = {"notes": (str(space.root / "notes"),)}
        unknown = 0
        for count in steps:
            log(space.root / "notes", LINES[:count])
            unknown += space.sweep().unknown["notes 1.2: dream"]
        assert unknown == 1
        dumps.append(space.dump())
    assert dumps[0] == dumps[1]
    events = space.events("one")
    kinds = ["user_prompt", "tool_call", "tool_result", "other", "assistant_text"]
    assert [event.kind for event in events] == kinds
    assert (events[1].command, events[2].exit_code, events[2].is_error) == ("make", 2, True)
    session = space.session("one")
    assert (session.cwd, session.cost.input, session.cost.output) == ("/work/shop", 10, 4)


def test_the_page_shows_the_package_as_it_is() -> None:
    blocks = re.findall(r"```(?:toml|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    files = ("pyproject.toml", "session_memory_notes.py")
    assert blocks[:2] == [(PACKAGE / name).read_text(encoding="utf-8") for name in files]


@pytest.mark.parametrize("record", [Agent, HookFacts, McpFacts, Adapter])
def test_the_page_explains_every_field_of_the_record(record: type[msgspec.Struct]) -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"## {record.__name__}")
    explained = re.findall(r"^\| `(\w+)", section.partition("\n## ")[0], re.M)
    assert explained == list(record.__struct_fields__)
