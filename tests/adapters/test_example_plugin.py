"""The flavour that docs/adapters.md shows is a real package: installed, found, swept with."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

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


def log(home: Path, lines: list[dict[str, Any]]) -> None:
    """Write a session as the imagined agent would."""
    path = home / "sessions" / "one.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def install(target: Path) -> None:
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
    (metadata / "entry_points.txt").write_text(text)


def run(target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The program as a process that has the package on its path."""
    return subprocess.run(
        [sys.executable, "-m", "session_memory", *arguments],
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


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
def test_an_installed_package_adds_a_flavour_to_every_verb(tmp_path: Path, home: Path) -> None:
    target = tmp_path / "site"
    target.mkdir()
    log(home / ".notes", LINES)
    assert "notes" not in run(target, "agents", "--json").stdout
    install(target)
    done = run(target, "sweep", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert "notes 1.2: dream" in done.stdout
    assert report["schema_version"] == 1
    (agent,) = json.loads(run(target, "agents", "--json").stdout)["agents"]
    assert (agent["flavor"], agent["files"], agent["sessions"]) == ("notes", 1, 1)
    assert (agent["client_versions"], agent["unread"]) == (["1.2"], {"1.2: dream": 1})
    off = run(target, "--set", "sources.notes.enabled=false", "agents", "--json")
    assert json.loads(off.stdout)["agents"] == []


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


def test_the_page_explains_every_field_of_the_record() -> None:
    explained = re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), re.M)
    assert explained == [field.name for field in msgspec.structs.fields(Adapter)]
