"""Each check finds its fault and nothing else; a sound knowledge base has none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.journal.compile_journal import OTHER, Library, answer, article, written

from session_memory.errors import BudgetSpent
from session_memory.journal.articles import Article
from session_memory.journal.knowledge import index
from session_memory.journal.lint import (
    Check,
    Issue,
    Severity,
    lint,
    read_lint_input,
    structural_issues,
)
from session_memory.model.port import Answer, Usage

LONG = "word " * 200
A, B = "concepts/a", "concepts/b"


def sound(library: Library, *more: Article) -> None:
    """Two long articles that link each other, of a day that was compiled, with their index."""
    library.add()
    library.says(answer())
    library.compile()
    library.model = None
    library.put([article(A, f"# a\n\n{LONG}[[{B}]]"), article(B, f"# b\n\n{LONG}[[{A}|A]]"), *more])
    reindex(library)


def reindex(library: Library) -> None:
    (library.journal.root / "knowledge/index.md").write_text(index(library.articles))


def found(library: Library) -> list[Issue]:
    return structural_issues(read_lint_input(library.journal, library.now, library.warnings.append))


def broken(library: Library) -> None:
    library.put([article(A, f"# a\n\n{LONG}[[{B}]] [[concepts/none]]")])


def orphan(library: Library) -> None:
    library.put([article("concepts/c", f"# c\n\n{LONG}")])
    reindex(library)


def uncompiled(library: Library) -> None:
    library.add(OTHER, "s2", day=1)


def stale(library: Library) -> None:
    library.put([article(B, f"# b\n\n{LONG}[[{A}]]", sources=("daily/2026-01-01.md",))])
    library.add(OTHER, "s2")


def one_way(library: Library) -> None:
    body = f"# c\n\n{LONG}[[{A}]] [[{B}]]"
    library.put([article("concepts/c", body), article(A, f"# a\n\n{LONG}[[{B}]] [[concepts/c]]")])
    reindex(library)


def sparse(library: Library) -> None:
    library.put([article(A, f"# a\n\n{'word ' * 150}[[{B}]] <!-- {LONG} -->")])
    reindex(library)


@pytest.mark.rows("KB-12")
@pytest.mark.parametrize(
    ("damage", "check", "severity"),
    [
        (broken, "broken_link", "error"),
        (orphan, "orphan_page", "warning"),
        (uncompiled, "orphan_source", "warning"),
        (stale, "stale_article", "warning"),
        (one_way, "missing_backlink", "suggestion"),
        (sparse, "sparse_article", "suggestion"),
    ],
)
def test_each_fault_is_found_once_and_a_sound_base_has_none(
    library: Library, damage: Callable[[Library], None], check: Check, severity: Severity
) -> None:
    sound(library)
    assert found(library) == []
    damage(library)
    assert [(one.check, one.severity) for one in found(library)] == [(check, severity)]


@pytest.mark.rows("KB-12")
def test_contradictions_are_what_the_model_names(library: Library) -> None:
    sound(library)
    model = library.says(
        "NO_ISSUES",
        f"- CONTRADICTION: [[{A}]] vs [[{B}]] - tabs or spaces\nwell",
        "INCONSISTENCY: x",
    )
    assert lint(library.context()).issues == ()
    (issue,) = lint(library.context()).issues
    assert (issue.check, issue.severity, issue.where) == ("contradiction", "warning", A)
    assert "tabs or spaces" in issue.what
    assert len(lint(library.context()).issues) == 1
    assert f"File {A}.md:" in model.requests[0].user and "NO_ISSUES" in model.requests[0].user


@pytest.mark.rows("KB-13")
def test_a_structural_lint_asks_nobody_and_writes_its_report(library: Library) -> None:
    sound(library)
    model = library.says()
    one_way(library)
    done = lint(library.context(), structural_only=True)
    assert model.requests == []
    assert done.report.endswith("reports/lint-2026-03-02.md")
    report = library.text("reports/lint-2026-03-02.md")
    assert "## Errors: 0" in report and "- missing_backlink: concepts/b: " in report
    assert library.state["last_lint"] == "2026-03-02T17:45:00+05:45"


@pytest.mark.rows("KB-14")
@pytest.mark.parametrize(
    "text", ["```\n[[x]]\n```", "`[[x]]`", f"[[{B}|shown]]", "[[daily/2026-01-01.md]]", "[[index]]"]
)
def test_code_aliases_and_days_are_no_broken_links(library: Library, text: str) -> None:
    sound(library)
    library.put([article(A, f"# a\n\n{LONG}[[{B}]]\n\n{text}")])
    assert found(library) == []


def test_the_index_and_double_names_are_checked_too(library: Library) -> None:
    sound(library)
    library.put([article(A, f"# a\n\n{LONG}[[{B}]]", aliases=("B",))])
    assert [one.check for one in found(library)] == ["double_name"]
    sound(library)
    index_file = library.journal.root / "knowledge/index.md"
    index_file.write_text(index_file.read_text() + "| [[concepts/gone]] | x | y | z |\n")
    (issue,) = found(library)
    assert (issue.check, issue.severity) == ("index", "error")
    index_file.unlink()
    assert len(found(library)) == 2, "one for each article without its row"


def test_a_file_that_is_no_article_is_an_error(library: Library) -> None:
    sound(library)
    (library.journal.knowledge / "concepts" / "notes.md").write_text("notes")
    assert [(one.check, one.severity) for one in found(library)] == [("bad_article", "error")]


def test_fixing_adds_backlinks_and_rows_and_no_more(library: Library) -> None:
    sound(library)
    one_way(library)
    (library.journal.root / "knowledge/index.md").write_text("# Knowledge Index\n")
    done = lint(library.context(), structural_only=True, fix=True)
    assert (done.issues, done.fixed) == ((), 4)
    assert "[[concepts/c]]" in library.articles[B].body
    assert lint(library.context(), structural_only=True, fix=True).fixed == 0


def test_notes_of_a_vault_can_be_linked_to(library: Library) -> None:
    sound(library)
    (library.journal.root / "People").mkdir()
    (library.journal.root / "People" / "Ada.md").write_text("x")
    library.put([article(A, f"# a\n\n{LONG}[[{B}]] [[Ada]] [[People/Ada]]")])
    assert found(library) == []
    library.put([article(A, f"# a\n\n{LONG}[[{B}]] [[Bob]]")])
    assert [one.check for one in found(library)] == ["broken_link"]


def test_a_model_that_cannot_be_asked_is_told_and_no_error(library: Library) -> None:
    sound(library)
    library.says(BudgetSpent("the cap of the day is reached"))
    (issue,) = lint(library.context()).issues
    assert (issue.check, issue.severity) == ("not_checked", "suggestion")
    assert "cap of the day" in issue.what


def test_what_a_lint_costs_is_counted(library: Library) -> None:
    sound(library)
    library.says(Answer("NO_ISSUES", "m", Usage(usd=0.125)))
    lint(library.context())
    assert library.state["total_cost"] == 0.125


def test_a_compile_by_a_model_is_clean_too(library: Library) -> None:
    library.add()
    library.says(answer(written("One", "first"), written("Two", "second"), written("Three", "x")))
    library.compile()
    assert {one.check for one in found(library)} == {"sparse_article"}
