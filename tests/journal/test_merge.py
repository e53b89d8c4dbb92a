"""New points join what an article says already."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import OTHER, Library, answer, written

from session_memory.journal.merge import shared_names


@pytest.mark.rows("KB-03")
def test_what_is_known_is_updated_and_never_doubled(library: Library) -> None:
    library.add()
    library.add(OTHER, "s2", day=1)
    library.says(
        answer(written("Token cache", "Tokens are cached.", aliases=["lexer cache"])),
        answer(
            written("Lexer  Cache!", "The cache holds a thousand tokens."),
            written("Cache of tokens", "It is cleared at the end.", updates="concepts/token-cache"),
            written("Slots", "Slots halve the memory.", aliases=["token cache", "small tokens"]),
        ),
    )
    report = library.compile()
    assert report.failed == {}
    found = library.articles
    assert sorted(found) == ["concepts/token-cache"]
    body = found["concepts/token-cache"].body
    assert all(
        text in body
        for text in ("are cached", "a thousand tokens", "at the end", "halve the memory")
    )
    assert found["concepts/token-cache"].sources == ("daily/2026-03-02.md", "daily/2026-03-03.md")
    assert shared_names(found) == []
