"""Weeks of genuine logs: every session on its day, compiled, and clean under lint."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.journal.flush_journal import CLEAN

from session_memory.cli.journal_context import sessions_to_flush
from session_memory.journal import daily
from session_memory.journal.compile import compile_logs, select_logs
from session_memory.journal.context import JournalContext, compile_context
from session_memory.journal.health import health
from session_memory.journal.jobs import flush_session
from session_memory.journal.lint import lint, read_lint_input, structural_issues
from session_memory.journal.paths import JournalPaths, all_journals
from session_memory.model.port import Model, Request
from session_memory.settings import Config
from session_memory.testing.scripted_model import ScriptedModel
from session_memory.testing.workspace import Workspace

_ENTRY = re.compile(r"\[entry (E\d+)\]\n(.*?)(?=\n### |\n<<<end)", re.DOTALL)


def compiled_by_rule(request: Request) -> str:
    """What a plain-minded model answers: an article for each entry, of its longest lines."""
    if request.purpose != "journal.compile":
        return "NO_ISSUES"
    log = request.user[request.user.index("<<<daily-log") :]
    articles = []
    for label, text in _ENTRY.findall(log)[:7]:
        lines = sorted(text.strip().splitlines(), key=len, reverse=True)[:3]
        points = [{"text": line, "entry": label} for line in lines if line.strip("# -*")]
        if points:
            articles.append({"title": f"About {points[0]['text'][:40]}", "points": points})
    return json.dumps({"articles": articles})


@pytest.mark.shared
@pytest.mark.rows("KB-12")
@pytest.mark.parametrize("with_model", [False, True])
def test_weeks_of_genuine_sessions_compile_into_a_clean_base(
    tmp_path: Path, shared: Path, with_model: bool
) -> None:
    space = Workspace(tmp_path)
    for folder in sorted((shared / "logs" / "claude").glob("*/projects/*")):
        shutil.copytree(
            folder, space.flavor_home("claude") / "projects" / folder.name, dirs_exist_ok=True
        )
    space.now = 1_795_000_000_000  # later than all of them
    space.sweep()
    model: Model | None = ScriptedModel([compiled_by_rule] * 200) if with_model else None
    with space.store() as store:
        context = JournalContext(
            space.store_directory, Config(), lambda: space.now, store, None, CLEAN
        )
        for session in sessions_to_flush(context, store):
            flush_session(context, session, "end", session.ended_at or 0)
            assert session.ended_at is not None
        context = JournalContext(
            space.store_directory, Config(), lambda: space.now, store, model, CLEAN
        )
        journals = list(all_journals(space.store_directory))
        assert sum(len(daily.days(journal)) for journal in journals) >= 14
        made = sum(_compile(context, journal) for journal in journals)
    assert made >= 3  # few, and only what is looked up again


def _compile(context: JournalContext, journal: JournalPaths) -> int:
    """Compile one journal, check it, and tell how many articles it has."""
    compiling = compile_context(context, journal, lambda _text: None)
    report = compile_logs(compiling, select_logs(compiling))
    assert report.failed == {}
    assert lint(compiling).count("error") == lint(compiling).count("warning") == 0
    base = read_lint_input(journal, context.clock(), compiling.warn)
    assert {one.severity for one in structural_issues(base)} <= {"suggestion"}
    assert health(journal, context.clock(), compiling.warn).attention == ()
    assert compile_logs(compiling, select_logs(compiling)).done == ()
    return len(base.articles)
