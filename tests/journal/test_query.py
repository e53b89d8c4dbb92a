"""Questions are answered from articles and logs, with citations, or told that there is nothing."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import ENTRY, OTHER, Library, article

from session_memory.errors import ModelFailed
from session_memory.journal.articles import list_of
from session_memory.journal.knowledge import index_faults
from session_memory.journal.links import link_targets
from session_memory.journal.lint import read_lint_input, structural_issues
from session_memory.journal.query import query, select_articles
from session_memory.model.port import Answer, Usage

QUESTION = "Why do we cache tokens?"


def filled(library: Library) -> Library:
    """Two days, compiled."""
    library.add()
    library.add(OTHER, "s2", day=1)
    library.compile()
    return library


@pytest.mark.rows("KB-11")
def test_the_model_is_shown_the_index_first_then_a_few_articles(library: Library) -> None:
    filled(library)
    model = library.says(
        "Reading them twice was slow [[concepts/speeding-up-the-parser]] [[concepts/invented]]."
    )
    found = query(library.context(), QUESTION)
    (request,) = model.requests
    asked = request.user
    assert asked.index("| Article | Summary |") < asked.index("File concepts/")
    assert asked.index("File concepts/") < asked.rindex(QUESTION)
    assert 3 <= asked.count("File c") <= 10
    assert found.cites == ("concepts/speeding-up-the-parser",)
    assert "invented" in found.text and "[[concepts/invented" not in found.text
    assert request.purpose == "journal.query"


@pytest.mark.rows("KB-11")
@pytest.mark.parametrize("with_model", [True, False])
def test_without_filing_only_the_count_is_written(library: Library, with_model: bool) -> None:
    filled(library)
    before = library.tree()
    if with_model:
        library.says(Answer("Since it is slow [[daily/2026-03-02.md]].", "m", Usage(usd=0.5)))
    query(library.context(), QUESTION)
    after = library.tree()
    before.pop("state.json"), after.pop("state.json")
    assert after == before
    assert library.state["query_count"] == 1
    assert library.state["total_cost"] == (0.5 if with_model else 0.0)


@pytest.mark.rows("KB-11")
@pytest.mark.parametrize("with_model", [True, False])
def test_a_filed_answer_is_an_article_with_its_row_and_entry(
    library: Library, with_model: bool
) -> None:
    filled(library)
    if with_model:
        library.says("Since it is slow [[concepts/speeding-up-the-parser]].")
    found = query(library.context(), QUESTION, file_back=True)
    assert found.filed == "qa/why-do-we-cache-tokens"
    made = library.articles[found.filed]
    assert made.front["question"] == QUESTION
    assert "concepts/speeding-up-the-parser" in list_of(made.front["consulted"])
    assert index_faults(library.text("knowledge/index.md"), library.articles) == []
    assert "query (filed) | qa/why-do-we-cache-tokens" in library.text("knowledge/log.md")
    assert library.state["query_count"] == 1
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    assert {one.severity for one in structural_issues(base)} <= {"suggestion"}


@pytest.mark.rows("KB-11")
def test_without_a_model_lines_are_found_and_cited(library: Library) -> None:
    filled(library)
    found = query(library.context(), QUESTION)
    assert "since reading them twice took most of the time" in found.text
    assert "concepts/speeding-up-the-parser" in link_targets(found.text)
    assert "daily/2026-03-02" in link_targets(found.text)
    assert not found.nothing


def test_what_is_only_in_a_log_is_found_there(library: Library) -> None:
    library.add("**Key Exchanges:**\n- the printer jams on thick paper")
    found = query(library.context(), "what about the printer")
    assert "jams on thick paper" in found.text and found.cites == ("daily/2026-03-02",)


@pytest.mark.rows("KB-11")
@pytest.mark.parametrize("question", ["zebra crossing", "", "?!"])
def test_nothing_found_is_said_and_never_filed(library: Library, question: str) -> None:
    filled(library)
    model = library.says()
    before = set(library.articles)
    found = query(library.context(), question, file_back=True)
    assert found.nothing and found.text.startswith("Nothing found") and found.filed is None
    assert model.requests == [] and set(library.articles) == before
    library.says("Nothing found about tokens.")
    assert query(library.context(), QUESTION, file_back=True).filed is None


def test_an_empty_journal_answers_and_gets_no_folders(library: Library) -> None:
    assert query(library.context(), QUESTION).nothing
    assert set(library.tree()) == {"state.json"}


def test_three_to_ten_articles_are_picked() -> None:
    some = {f"concepts/t{n}": article(f"concepts/t{n}", f"# t{n}\n\nword{n}") for n in range(20)}
    assert len(select_articles("word3", some)) == 3
    assert select_articles("word3", some)[0].path == "concepts/t3"
    common = {path: article(path, "# x\n\ntokens") for path in some}
    assert len(select_articles("tokens", common)) == 10
    assert select_articles("nothing of it", some) == []


def test_the_same_question_again_replaces_its_answer(library: Library) -> None:
    filled(library)
    query(library.context(), QUESTION, file_back=True)
    library.add(ENTRY.replace("tokens", "tokens and lines"), "s4", day=2)
    library.compile()
    query(library.context(), QUESTION, file_back=True)
    assert [path for path in library.articles if path.startswith("qa/")] == [
        "qa/why-do-we-cache-tokens"
    ]
    assert library.state["query_count"] == 2


def test_a_model_that_fails_fails_the_question_and_counts_nothing(library: Library) -> None:
    filled(library)
    library.says(ModelFailed("busy"))
    with pytest.raises(ModelFailed):
        query(library.context(), QUESTION)
    assert library.state["query_count"] == 0


def test_secrets_in_a_question_or_answer_are_not_filed(library: Library) -> None:
    filled(library)
    token = "ghp_" + "a1B2" * 9
    library.says(f"use {token} [[concepts/speeding-up-the-parser]]")
    query(library.context(), f"does {token} cache tokens?", file_back=True)
    assert not any(token.encode() in data for data in library.tree().values())
