"""The hook stands alone: no import of ours, none that is slow, and a copy of it works anywhere."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hooks.hook_process import ENTRY, command, environment, spooled

PAYLOAD = {"session_id": "s1", "hook_event_name": "SessionEnd", "cwd": "/h/p"}
# `os` and what it is made of, and three extension modules; all else costs the agent time.
ALLOWED = {
    *("os", "stat", "_stat", "posixpath", "ntpath", "genericpath", "_collections_abc", "nt"),
    *("_json", "_thread", "fcntl", "msvcrt", "time"),
}
LAZY = {"json", "tomllib", "subprocess", "typing", "collections"}


def loaded(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        input=json.dumps(PAYLOAD).encode(),
        env=environment(),
        capture_output=True,
        check=True,
    )
    lines = done.stderr.decode().splitlines()[1:]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.rows("HOK-01")
def test_an_event_loads_only_quick_modules() -> None:
    bare = loaded("-I", "-S", "-c", "pass")
    ours = loaded("-I", "-S", str(ENTRY), "SessionEnd")
    assert ours - bare <= ALLOWED
    assert len(spooled()) == 1


def test_the_source_imports_nothing_but_the_standard_library() -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(ENTRY.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add((node.module or "").partition(".")[0])
    assert names <= ALLOWED | LAZY | {"sys"}
    assert names <= sys.stdlib_module_names


def test_a_copy_works_alone(tmp_path: Path) -> None:
    copy = shutil.copy(ENTRY, tmp_path / "hook.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", copy, "SessionEnd"],
        input=json.dumps(PAYLOAD).encode(),
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [record["session"] for record in spooled()] == ["s1"]


def test_it_does_without_the_quick_json(tmp_path: Path) -> None:
    """Another interpreter, or a later one, may lack the C scanner or change it."""
    program = (
        "import runpy, sys\n"
        "sys.modules['_json'] = None\n"
        f"sys.argv = ['entry.py', 'SessionEnd']\n"
        f"runpy.run_path({str(ENTRY)!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        input=b'{"session_id": "s1", "cwd": "C:\\Users\\x"}',
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [(record["session"], record["cwd"]) for record in spooled()] == [("s1", r"C:\Users\x")]


@pytest.mark.rows("HOK-01")
def test_the_transcript_is_never_opened(tmp_path: Path) -> None:
    """So its size cannot matter: a pipe in its place would block whoever opens it."""
    pipe = tmp_path / "transcript.jsonl"
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(pipe)
    done = subprocess.run(
        command("SessionEnd"),
        input=json.dumps({**PAYLOAD, "transcript_path": str(pipe)}).encode(),
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and spooled()[0]["transcript"] == str(pipe)
