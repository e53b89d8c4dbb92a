"""`session-memory project journal` for people and programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog, text_block
from session_memory.testing.workspace import Workspace


@pytest.fixture
def log(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeLog:
    """A swept session of the repository we stand in."""
    mask = os.umask(0o077)
    os.umask(mask)
    root = home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    space = Workspace(tmp_path / "space")
    space.store_directory = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    log = ClaudeLog(1, cwd=os.path.realpath(root))
    log.prompt("make the parser faster")
    log.reply(text_block("Decision: cache the tokens, since the lexer is slow."))
    space.write(log)
    space.sweep()
    return log


def report_lines(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["project", "journal", *words]) == code
    return capsys.readouterr().out


def test_flush_writes_the_latest_session_here_into_the_log_of_its_day(
    log: ClaudeLog, capsys: pytest.CaptureFixture[str]
) -> None:
    context = report_lines(capsys, "flush", "--dry-run")
    assert "**User:** make the parser faster" in context
    report_lines(capsys, "today", code=1)
    done = json.loads(report_lines(capsys, "flush", "--json"))
    assert (done["session"], done["outcome"]) == (log.session_id, "saved")
    day = "2026-03-02"  # the session's own, however late it is flushed
    assert "cache the tokens" in report_lines(capsys, "show", day)
    report_lines(capsys, "flush", log.session_id[:8])
    shown = json.loads(report_lines(capsys, "show", day, "--json"))
    (entry,) = shown["entries"]
    assert entry["session"] == log.session_id and "cache the tokens" in entry["content"]
    assert "cache the tokens" in report_lines(capsys, "show", shown["date"], "--project", "shop")


def test_retry_failed_tells_what_waits(log: ClaudeLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(report_lines(capsys, "retry-failed", "--json"))["pending"] == 0
    from session_memory.journal.excerpt import write_excerpt
    from session_memory.journal.paths import journal_paths

    data = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    path = write_excerpt(journal_paths(data, log.cwd), log.session_id, 1, "**User:** x\n")
    shown = json.loads(report_lines(capsys, "retry-failed", "--dry-run", "--json", code=3))
    assert (shown["pending"], shown["permanent"], path.exists()) == (1, 0, True)
    report_lines(capsys, "retry-failed")
    assert not path.exists()


def test_a_journal_that_is_turned_off_writes_nothing(
    log: ClaudeLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--set", "journal.enabled=false", "project", "journal", "flush"]) == 8
    report_lines(capsys, "today", code=1)
    assert log.session_id


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Examples:" in report_lines(capsys, "--help")


def test_a_redaction_rule_that_cannot_be_used_is_warned_of(
    log: ClaudeLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rules = tmp_path / "leaks.toml"
    rules.write_text("[[rules]]\nid = 'bad'\nregex = '(?<=a)b'\n", encoding="utf-8")
    monkeypatch.setenv("SESSION_MEMORY_REDACT_GITLEAKS", str(rules))
    capsys.readouterr()
    assert main(["project", "journal", "flush", log.session_id]) == 0
    assert "rule bad is not used" in capsys.readouterr().err
