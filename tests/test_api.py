"""The Python API: typed, read only, lazy, and strict about what it is asked."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import session_memory
from session_memory import api, open_store
from session_memory.errors import NotFound, ScopeMismatch, StoreError, StoreMissing
from session_memory.settings.load import variable
from session_memory.store.sqlite.connection import SCHEMA_VERSION
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
EXAMPLES = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A store with the sample sessions, which is the one this user is set up with."""
    built = Workspace(tmp_path / "space")
    write_samples(built.claude)
    built.sweep()
    monkeypatch.setenv(variable("store.path"), str(built.store_directory))
    return built


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import session_memory;"
        "new = set(sys.modules) - before - {'session_memory', '__future__'};"
        "print(sorted(n for n in new if not n.startswith('encodings')))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(Path(session_memory.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_what_the_package_offers_is_there() -> None:
    assert [name for name in session_memory.__all__ if not hasattr(session_memory, name)] == []
    assert [name for name in api.__all__ if not hasattr(api, name)] == []
    assert session_memory.open_store is api.open_store
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = session_memory.nothing
    assert (Path(session_memory.__file__).parent / "py.typed").is_file()


def test_a_user_program_type_checks_against_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from session_memory import Memory, open_store\n"
        "def titles(memory: Memory) -> list[str | None]:\n"
        "    return [session.title for session in memory.sessions(limit=3)]\n"
        "def outcome(memory: Memory, name: str) -> str:\n"
        "    digest = memory.digest(name)\n"
        "    return 'unknown' if digest is None else digest.outcome\n"
        "with open_store() as memory:\n"
        "    reveal_type(memory.pack('shop').text)\n"
        "    wrong: int = memory.search('x').items[0].title\n",
        "utf-8",
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("basedpyright"), "--pythonpath", sys.executable, program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'Type of "memory.pack(\'shop\').text" is "str"' in done.stdout
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert len(errors) == 1
    assert '"str" is not assignable to "int"' in done.stdout


def test_a_named_directory_is_opened_and_a_missing_one_is_told(
    space: Workspace, tmp_path: Path
) -> None:
    with open_store(space.store_directory) as memory:
        assert len(memory.sessions()) == len(space.sessions())
    with pytest.raises(StoreMissing) as caught:
        open_store(tmp_path / "nowhere")
    assert caught.value.hint == "run `session-memory sweep` first"
    assert not (tmp_path / "nowhere").exists()


def test_every_question_leaves_the_store_as_it_was(space: Workspace) -> None:
    database = space.store_directory / "store.db"
    before = database.read_bytes()
    with open_store() as memory:
        for session in memory.sessions():
            assert memory.session(session.id) == memory.session(session.external_id) == session
            assert sum(1 for _ in memory.events(session)) == session.event_count
            assert memory.digest(session) is not None
            memory.observations(session=session)
            memory.search("discount", session=session)
            memory.pack(session=session)
        memory.usage("day")
    assert database.read_bytes() == before


def test_filters_take_moments_and_kinds(space: Workspace) -> None:
    day = datetime(2026, 3, 5, tzinfo=UTC)
    with open_store() as memory:
        late = memory.sessions(since=day)
        assert late == memory.sessions(since=round(day.timestamp() * 1000))
        assert 0 < len(late) < len(memory.sessions())
        session = late[0]
        prompts = list(memory.events(session, kinds=["user_prompt"]))
        assert {event.kind for event in prompts} == {"user_prompt"}
        assert [e.text for e in memory.events(session, texts=False)] == [None] * 4
    assert space.session(session.external_id) == session


def test_a_wrong_pair_and_an_unknown_name_are_errors(space: Workspace) -> None:
    with open_store() as memory:
        session = memory.sessions(project="shop-site")[0]
        with pytest.raises(ScopeMismatch):
            memory.search("page", project="shop", session=session)
        with pytest.raises(ScopeMismatch):
            memory.pack("shop", session=session)
        with pytest.raises(NotFound):
            memory.session("no such session")
    assert space.findings() == []


def test_an_older_store_is_told_and_left_alone(space: Workspace) -> None:
    database = str(space.store_directory / "store.db")
    connection = apsw.Connection(database)
    connection.pragma("user_version", SCHEMA_VERSION - 1)
    connection.close()
    with pytest.raises(StoreError, match="has schema") as caught:
        open_store()
    assert "session-memory status" in (caught.value.hint or "")


def failures(text: str) -> list[str]:
    """What the examples of a page print that it does not say; they follow on each other."""
    names: dict[str, Any] = {}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(verbose=False)
    told: list[str] = []
    for number, block in enumerate(EXAMPLES.findall(text), 1):
        test = parser.get_doctest(block, names, f"example {number}", str(PAGE), 0)
        assert test.examples, f"example {number} has nothing to run"
        test.globs = names
        runner.run(test, out=told.append, clear_globs=False)
    return told


@pytest.mark.usefixtures("space")
def test_every_example_of_the_page_is_true() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(EXAMPLES.findall(text)) >= 8
    assert failures(text) == []


@pytest.mark.usefixtures("space")
def test_a_wrong_example_is_noticed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert failures(text.replace("['shop', 'shop-site']", "['shop']")) != []
