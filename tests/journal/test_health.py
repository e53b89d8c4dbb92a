"""Health tells what waits and what is wrong, without asking anybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.journal.compile_journal import OTHER, Library, article
from tests.journal.flush_journal import HOUR, Bench

from session_memory.errors import ModelFailed
from session_memory.journal.excerpt import write_excerpt
from session_memory.journal.flush import retry_failed
from session_memory.journal.flush_records import MAX_RETRIES
from session_memory.journal.health import Health, health


def of(library: Library) -> Health:
    return health(library.journal, library.now, library.warnings.append)


@pytest.mark.rows("KB-16")
def test_a_fresh_and_a_compiled_journal_need_no_attention(library: Library) -> None:
    fresh = of(library)
    assert (fresh.attention, fresh.errors, fresh.last_run.compiled_at) == ((), (), None)
    assert not library.journal.root.exists()
    library.add()
    library.compile()
    found = of(library)
    assert (found.attention, found.errors, found.pending) == ((), (), ())
    assert found.counts == {"daily": 1, "concepts": 1, "connections": 0, "qa": 0, "articles": 1}
    assert found.last_run.compiled_at == "2026-03-02T17:45:00+05:45"


@pytest.mark.rows("KB-16")
def test_logs_that_wait_and_broken_links_are_told(library: Library) -> None:
    library.add()
    library.compile()
    library.add(OTHER, "s2", day=1)
    found = of(library)
    assert found.pending == ("2026-03-03.md",)
    assert found.attention == ("1 logs wait to be compiled",)
    library.put([article("concepts/x", "# x\n\n[[concepts/none]]")])
    assert any("concepts/none" in text for text in of(library).errors)


@pytest.mark.rows("FLU-14", "KB-16")
def test_contexts_that_wait_and_were_given_up_are_counted(bench: Bench) -> None:
    library = Library(bench.data)
    path = write_excerpt(bench.journal, "s1", 1, "said")
    bench.says(*[ModelFailed("down")] * 30)
    bench.flush(path)
    assert (of(library).failed_contexts.pending, of(library).failed_contexts.permanent) == (1, 0)
    for _ in range(MAX_RETRIES):
        bench.now += 7 * HOUR
        retry_failed(bench.flush_context())
    found = of(library)
    assert (found.failed_contexts.pending, found.failed_contexts.permanent) == (0, 1)
    assert any("given up" in text for text in found.attention)
    assert "No answer" in found.last_run.flush or "Flush" in found.last_run.flush


def test_a_compile_that_failed_or_was_cut_off_is_told(library: Library) -> None:
    library.add()
    library.journal.work.mkdir(parents=True, exist_ok=True)
    library.journal.compile_log.write_text("x\nCompile failed: OSError: full\n")
    (library.journal.work / "undo.json").write_text("{}")
    told = " ".join(of(library).attention)
    assert "the last compile failed" in told and "cut off" in told


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_health_writes_nothing(library: Library, tmp_path: Path) -> None:
    library.add()
    library.compile()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    of(library)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
