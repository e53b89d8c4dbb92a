"""`session-memory project journal compile|query|lint|health` for people and programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.journal.compile_journal import ENTRY, OTHER, Library

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog, text_block
from session_memory.journal.excerpt import write_excerpt
from session_memory.journal.paths import journal_paths
from session_memory.testing.workspace import Workspace


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The journal of the repository we stand in, with one day; there is no store."""
    root = home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    library = Library(Path(os.environ["SESSION_MEMORY_HOME"]) / "data")
    library.journal = journal_paths(library.data, os.path.realpath(root))
    library.add()
    return library


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["project", "journal", *words]) == code
    return capsys.readouterr().out


def data(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    return json.loads(told(capsys, *words, "--json", code=code))


@pytest.mark.rows("KB-02")
def test_compile_takes_what_changed_all_one_or_none(
    shop: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    before = shop.tree()
    assert told(capsys, "compile", "--dry-run") == "2026-03-02.md: would be compiled\n"
    assert data(capsys, "compile", "--dry-run")["logs"] == ["2026-03-02.md"]
    assert shop.tree() == before
    assert "1 created" in told(capsys, "compile")
    assert told(capsys, "compile") == "nothing to compile\n"
    shop.add(OTHER, "s2", day=1)
    assert [one["file"] for one in data(capsys, "compile")["done"]] == ["2026-03-03.md"]
    assert len(data(capsys, "compile", "--all")["done"]) == 2
    assert len(data(capsys, "compile", "--file", "2026-03-03.md")["done"]) == 1
    told(capsys, "compile", "--file", "2020-01-01", code=1)
    told(capsys, "compile", "--all", "--file", "2026-03-03.md", code=2)


@pytest.mark.rows("KB-11")
def test_query_answers_and_files_only_when_asked(
    shop: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "compile")
    shown = told(capsys, "query", "why are tokens cached")
    assert "[[daily/2026-03-02.md]]" in shown and "entry=" not in shown
    assert [path for path in shop.articles if path.startswith("qa/")] == []
    found = data(capsys, "query", "why are tokens cached", "--file-back")
    assert found["filed"] == "qa/why-are-tokens-cached" and found["filed"] in shop.articles
    assert "Nothing found" in told(capsys, "query", "zebra", code=3)
    assert shop.state["query_count"] == 3


@pytest.mark.rows("KB-13")
def test_lint_fails_only_on_errors(shop: Library, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "compile")
    shop.add(OTHER, "s2", day=1)
    assert "0 errors, 1 warnings" in told(capsys, "lint", "--structural-only")
    assert list(shop.journal.reports.glob("lint-*.md")) and shop.state["last_lint"]
    (file,) = (shop.journal.knowledge / "concepts").glob("*.md")
    file.write_text(file.read_text() + "\n[[concepts/none]]\n")
    told(capsys, "lint", code=1)
    rows = data(capsys, "lint", "--fix", code=1)["issues"]
    assert [row["check"] for row in rows if row["severity"] == "error"] == ["broken_link"]


@pytest.mark.rows("KB-16")
def test_health_exits_by_what_it_finds(shop: Library, capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "health")
    keys = {"counts", "pending", "failed_contexts", "last_run", "errors", "attention"}
    assert keys <= set(found) and found["pending"] == ["2026-03-02.md"]
    told(capsys, "health", "--strict", code=3)
    told(capsys, "compile")
    assert "pending logs       none" in told(capsys, "health", "--strict")
    write_excerpt(shop.journal, "s9", 1, "said")
    assert data(capsys, "health", "--strict", code=3)["failed_contexts"]["pending"] == 1
    (file,) = (shop.journal.knowledge / "concepts").glob("*.md")
    file.write_text(file.read_text() + "\n[[concepts/none]]\n")
    told(capsys, "health", code=1)


@pytest.mark.rows("KB-13", "KB-16")
def test_health_and_structural_lint_open_no_model(
    shop: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(capsys, "compile")
    monkeypatch.setattr("session_memory.journal.model_call.JournalModel.ask", _never)
    told(capsys, "health")
    told(capsys, "lint", "--structural-only")
    assert len(shop.articles) == 1


def _never(*_arguments: object) -> None:
    raise AssertionError("asked")


@pytest.fixture
def swept(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Three sessions of one repository, swept."""
    root = home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    space = Workspace(tmp_path / "space")
    space.store_directory = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    for number in range(1, 4):
        log = ClaudeLog(number, cwd=os.path.realpath(root))
        log.prompt(f"make part {number} of the parser faster")
        log.reply(text_block(f"Decision: cache the tokens of part {number}, the lexer is slow."))
        space.write(log)
    space.sweep()
    return space


def test_flush_all_writes_each_session_on_its_own_day_once(
    swept: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = told(capsys, "flush", "--all", "--dry-run")
    assert shown.count("**User:**") == 3
    flushed = data(capsys, "flush", "--all")["sessions"]
    assert [one["outcome"] for one in flushed] == ["saved"] * 3
    assert {one["session_id"]: one["session"] for one in flushed} == {
        session.id: name for name, session in swept.sessions().items()
    }
    assert data(capsys, "flush", "--all")["sessions"] == []
    with swept.store() as store:
        jobs = [job.kind for job in store.jobs.all()]
    assert jobs == ["journal.compile"]
    journal = journal_paths(swept.store_directory, os.path.realpath(os.getcwd()))
    assert {path.name for path in journal.daily.iterdir()} == {"2026-03-02.md"}


def test_retry_failed_compiles_what_it_wrote(
    swept: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journal_paths(swept.store_directory, os.path.realpath(os.getcwd()))
    write_excerpt(journal, "elsewhere", 1, f"**User:** x\n\n**Assistant:** {ENTRY}")
    told(capsys, "flush", "--all")
    assert not journal.state.exists()
    assert "created" in told(capsys, "retry-failed")
    assert journal.state.exists()


@pytest.mark.parametrize("verb", ["compile", "query", "lint", "health"])
def test_every_verb_shows_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Examples:" in told(capsys, verb, "--help")
