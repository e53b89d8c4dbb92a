"""What is forgotten, or found to be a secret, leaves the journal wherever it stands in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.journal.flush_journal import CLEAN, Bench

from session_memory.core.forget import FORGOTTEN
from session_memory.errors import ModelFailed
from session_memory.journal import daily
from session_memory.journal.excerpt import write_excerpt
from session_memory.journal.forget import count_edits, forget_sessions, rewrite
from session_memory.journal.paths import journal_paths
from session_memory.store.derived import is_registered

TOKEN = "ghp_" + "a1B2" * 9


def holding(folder: Path, *words: str) -> list[str]:
    """Files with one of the words in their content or name."""
    return [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(w.encode() in path.read_bytes() or w in path.name for w in words)
    ]


def used(bench: Bench) -> Bench:
    """A journal through which two sessions went, one of them with every kind of leftover."""
    bench.says("plans of gone", "plans of kept")
    bench.flush(bench.excerpt("1"), "gone-id")
    bench.flush(bench.excerpt("2"), "kept-id")
    bench.says(*[ModelFailed("gone-id is down")] * 3)
    waiting = write_excerpt(bench.journal, "gone-id", 9, "words of gone")
    bench.flush(waiting, "gone-id")
    bench.journal.flushed.with_name("last-flush.json.corrupt-1").write_text("gone-id")
    for folder in (bench.journal.daily, bench.journal.excerpts):
        (folder / "half.md.17.new").write_text("words of gone")
    return bench


def test_the_folder_is_registered() -> None:
    assert is_registered("data/journal")


def test_a_forgotten_session_leaves_nothing_and_others_stay(bench: Bench) -> None:
    used(bench)
    assert holding(bench.data, "gone-id", "of gone")
    assert forget_sessions(bench.data, "", {"gone-id"}, bench.now) > 0
    assert holding(bench.data, "gone-id", "of gone") == []
    assert [entry.content for entry in bench.entries()] == ["plans of kept"]
    assert bench.today().startswith("# Daily Log: 2026-03-02\n\n## Sessions\n")
    before = bench.today()
    assert forget_sessions(bench.data, "", {"gone-id"}, bench.now) == 0
    assert forget_sessions(bench.data, "", (), bench.now) == 0
    assert bench.today() == before


def test_a_session_with_an_unwieldy_name_is_found_too(bench: Bench) -> None:
    name = "gone/" + "x" * 300
    write_excerpt(bench.journal, name, 9, "words of gone")
    forget_sessions(bench.data, "", {name}, bench.now)
    assert holding(bench.data, "words of gone") == []


def test_a_forgotten_text_is_replaced_everywhere(bench: Bench) -> None:
    used(bench)
    (bench.journal.knowledge / "concepts").mkdir(parents=True)
    article = bench.journal.knowledge / "concepts" / "a.md"
    article.write_text("the PLANS OF gone")
    assert (
        rewrite(bench.data, "", lambda text: re.sub("plans of", FORGOTTEN, text, flags=re.I)) >= 2
    )
    assert holding(bench.data, "plans of", "PLANS OF") == []
    assert article.read_text() == "the [FORGOTTEN] gone"
    assert len(bench.entries()) == 2


def test_secrets_found_later_are_taken_out_of_every_file(bench: Bench) -> None:
    used(bench)
    day = bench.journal.day("2026-03-02")
    day.write_text(day.read_text().replace("plans of gone", f"use {TOKEN} here"))
    write_excerpt(bench.journal, "s3", 1, f"use {TOKEN} too")
    assert count_edits(bench.data, "", CLEAN) == 2
    assert holding(bench.data, TOKEN) != []
    assert rewrite(bench.data, "", CLEAN) == 2
    assert holding(bench.data, TOKEN) == []
    assert count_edits(bench.data, "", CLEAN) == 0
    assert len(bench.entries()) == 2


def test_the_last_entry_is_found_without_a_line_break_behind_it(bench: Bench) -> None:
    used(bench)
    day = bench.journal.day("2026-03-02")
    day.write_text(day.read_text().rstrip())
    assert len(bench.entries()) == 2


@pytest.mark.parametrize("action", ["redact", "forget"])
def test_in_a_vault_the_users_own_notes_are_left_alone(bench: Bench, action: str) -> None:
    vault = str(bench.data.parent / "vault")
    journal = journal_paths(bench.data, "/work/shop", vault)
    daily.append_entry(journal, daily.Entry("gone-id", "a0", f"use {TOKEN}"), bench.now)
    day = journal.day("2026-03-02")
    note = f"my own note with {TOKEN}\n"
    day.write_text(day.read_text() + note)
    if action == "redact":
        assert rewrite(bench.data, vault, CLEAN) == 1
        assert "use [REDACTED_SECRET]" in day.read_text()
    else:
        forget_sessions(bench.data, vault, {"gone-id"}, bench.now)
        assert "gone-id" not in day.read_text()
    assert day.read_text().count(TOKEN) == 1 and day.read_text().endswith(note)
