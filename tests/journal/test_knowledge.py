"""The index has a row for each article."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import article

from session_memory.journal.articles import Article
from session_memory.journal.knowledge import index, index_faults


@pytest.mark.rows("KB-05")
def test_the_index_has_one_row_for_each_article_and_no_other() -> None:
    some: dict[str, Article] = {
        "concepts/a": article("concepts/a", "# a\n\nA | bar, [[x]] <!-- entry=00 -->"),
        "qa/b": article("qa/b", "# b"),
    }
    text = index(some)
    assert "| Article | Summary | Compiled From | Updated |" in text
    assert "| [[concepts/a]] | A / bar, x | daily/2026-03-02.md | 2026-03-02 |" in text
    assert index_faults(text, some) == []
    row = text.splitlines()[-1]
    assert len(index_faults(text + row + "\n", some)) == 1
    assert len(index_faults(text.replace(row + "\n", ""), some)) == 1
    assert len(index_faults(text, {"concepts/a": some["concepts/a"]})) == 1
