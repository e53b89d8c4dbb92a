"""A hub splits and counts words as the index of a local store does."""

from __future__ import annotations

from session_memory.hub.words import documents_of, lesson_runs, words_of


def test_words_are_folded_as_in_the_local_index() -> None:
    assert words_of("Rückruf der Parsers-Tests") == words_of("RÜCKRUF der parsers tests")


def test_a_lesson_is_one_document() -> None:
    (run,) = lesson_runs("use bun and bun only")
    assert run.seqs == [0]
    assert run.lengths == [5]
    assert lesson_runs("") == []


def test_documents_are_listed_only_for_words_that_are_in_many() -> None:
    assert documents_of([1]) == ""
