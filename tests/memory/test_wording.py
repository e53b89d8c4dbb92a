"""Words of a trace: citations, code, and what a request is about."""

from __future__ import annotations

from session_memory.memory.wording import answer_of, cite, code, gist, headline


def test_events_are_cited_once_each() -> None:
    assert cite(3, 7, 3, 0) == " [e:3] [e:7]"
    assert cite() == ""


def test_code_with_backticks_stays_one_piece_of_code() -> None:
    assert code("make test") == "`make test`"
    assert code("echo `date`") == "`` echo `date` ``"


def test_a_gist_is_made_of_whole_sentences() -> None:
    said = "The parser reads tabs now. Shall I go on? Tests pass."
    assert gist(said, 30) == "The parser reads tabs now."
    assert "?" not in gist(said, 200, questions=False)


def test_a_headline_has_no_address() -> None:
    assert headline("Fix the cart https://example.org/i/1 please", 80).startswith("Fix the cart")
    assert "example.org" not in headline("Fix the cart https://example.org/i/1 please", 80)


def test_the_answer_of_a_summary_stands_behind_its_arrow() -> None:
    assert answer_of("fix it → fixed the cart") == "fixed the cart"
    assert answer_of("fixed the cart") == "fixed the cart"
