"""Imports point down only, and nothing grows past what one person can hold in mind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.syntax import syntax_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 500, 80, 5
# Nobody can tell what such a file is for.
VAGUE = {"utils", "util", "helpers", "helper", "manager", "base", "misc"}


def name(path: Path) -> str:
    """A path as a person would name it."""
    return str(path.relative_to(ROOT))


def test_imports_point_down_only() -> None:
    program = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_core_does_no_input_or_output() -> None:
    forbidden = {"sqlite3", "apsw", "subprocess", "socket", "urllib", "time", "click", "rich"}
    found = [
        f"{name(path)}: {module}"
        for path in SOURCES
        if "core" in path.parts
        for module in sorted(syntax_of(path).imports)
        if module.partition(".")[0] in forbidden
    ]
    assert found == []


# Those that may know which database is behind the store, and why.
KNOWS_THE_DATABASE = {
    "src/session_memory/testing/faults.py": "makes the database's own disk operations fail",
    "src/session_memory/testing/old_stores.py": "makes stores of earlier schemas",
    "src/session_memory/testing/new_stores.py": "copies an empty database instead of making one",
    "src/session_memory/hub/words.py": "splits texts into words as the local index does",
    "src/session_memory/adapters/sqlite_log.py": "reads the databases of other programs",
    "src/session_memory/adapters/opencode/log_builder.py": "writes one for tests",
    "src/session_memory/adapters/crush/log_builder.py": "writes one for tests",
    "src/session_memory/adapters/kiro/log_builder.py": "writes one for tests",
    "src/session_memory/adapters/zed/log_builder.py": "writes one for tests",
    "src/session_memory/adapters/cursor/log_builder.py": "writes one for tests",
}


def test_only_the_store_knows_its_database() -> None:
    found = {
        f"{name(path)}: {module}"
        for path in SOURCES
        if "store" not in path.relative_to(ROOT).parts and name(path) not in KNOWS_THE_DATABASE
        for module in sorted(syntax_of(path).imports)
        if module.startswith(("session_memory.store.sqlite", "apsw", "sqlite3"))
    }
    assert found == set()


def test_files_stay_short() -> None:
    # The hook is one file by design: agents run it alone, wherever it was copied.
    lengths = {
        name(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCES
        if name(path) != "src/session_memory/hooks/entry.py"
    }
    assert {path: count for path, count in lengths.items() if count > MAX_FILE} == {}


def test_functions_stay_short_and_take_few_parameters() -> None:
    functions = [
        (f"{name(path)}:{function.name}", function)
        for path in SOURCES
        for function in syntax_of(path).functions
    ]
    long = [place for place, function in functions if function.lines >= MAX_FUNCTION]
    wide = [place for place, function in functions if function.parameters > MAX_PARAMETERS]
    assert (long, wide) == ([], [])


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_every_module_says_what_it_owns(path: Path) -> None:
    assert path.stem not in VAGUE
    assert syntax_of(path).docstring, f"{name(path)} has no docstring"
