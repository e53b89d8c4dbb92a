"""Without a model: what recurs and what was decided, and never junk."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import ENTRY, OTHER, Library

from session_memory.journal.daily import MAINTENANCE, NOTHING, Entry
from session_memory.journal.lint import read_lint_input, structural_issues
from session_memory.journal.rule_compile import MAX_CONCEPTS, propose_articles
from session_memory.journal.statements import (
    Statement,
    statements_of,
)

DAY = "2026-03-02.md"


def items(content: str, session: str = "s1", day: str = DAY) -> list[Statement]:
    return statements_of(day, [Entry(session, f"{session}-key", content)])


def test_statements_are_read_under_their_headings() -> None:
    content = (
        "**Context:** the parser (outcome: success)\n\nstray line\n\n## Decisions Made:\n- one\n"
        "  goes on\n* two\n- (3 more)\n\n**Lessons Learned**:\n1. three\n\n**Action Items:**\n- x"
    )
    found = [(item.section, item.text) for item in items(content)]
    assert found == [
        ("context", "the parser (outcome: success) stray line"),
        ("decision", "one goes on"),
        ("decision", "two"),
        ("lesson", "three"),
        ("action", "x"),
    ]
    assert statements_of(DAY, [Entry("s", "k", NOTHING, MAINTENANCE)]) == []


def test_a_thing_of_one_session_is_no_concept_and_one_of_two_is() -> None:
    first, second = items(ENTRY), items(OTHER, "s2", "2026-03-03.md")
    assert "src/lexer.py" not in {one.title for one in propose_articles(first, first)}
    (topic, *_) = propose_articles(second, [*first, *second])
    assert (topic.title, topic.tags) == ("src/lexer.py", ("file",))
    assert {point.day for point in topic.points} == {DAY, "2026-03-03.md"}
    again = items(ENTRY, "s1", "2026-03-03.md")
    assert "src/lexer.py" not in {one.title for one in propose_articles(again, [*first, *again])}


def test_things_that_come_together_are_connected() -> None:
    one = items(ENTRY)
    two = items(ENTRY.replace("twice", "again and again").replace("hides", "may hide"), "s2")
    found = propose_articles(two, [*one, *two])
    (connection,) = [each for each in found if each.kind == "connections"]
    assert set(connection.connects) == {"src/lexer.py", "pytest -q tests/lexer"}
    assert len({point.entry for point in connection.points}) == 2


@pytest.mark.parametrize(
    "content",
    [
        "**Context:** x\n\n**Decisions Made:**\n- ok",
        "**Lessons Learned:**\n- "
        + "Seen 4 times: cannot find the module that was asked for at all " * 2,
        "**Action Items:**\n- " + "write many more tests for all of it " * 5,
        "**Decisions Made:**\n- " + "!? " * 30,
        "plain words " * 40,
    ],
)
def test_what_says_little_becomes_no_article(library: Library, content: str) -> None:
    library.add(content)
    library.compile()
    assert library.articles == {}


def test_a_log_gives_a_handful_of_concepts_and_the_result_is_clean(library: Library) -> None:
    reason = "because it is simpler than the other way round"
    for number in range(20):
        library.add(
            f"**Context:** task {number} of {'abcdefghijklmnopqrst'[number]}\n\n"
            "**Decisions Made:**\n"
            f"- Use approach {number} in `src/part{number % 3}.py` {reason}.\n"
            f"- And `src/part{(number + 1) % 3}.py` follows, as `run_all_parts` needs both.",
            f"s{number}",
        )
    library.compile()
    found = library.articles
    concepts = [path for path in found if path.startswith("concepts/")]
    assert 3 <= len(concepts) <= MAX_CONCEPTS
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    assert {one.check for one in structural_issues(base)} <= {"sparse_article"}


def test_hostile_statements_cannot_link_hide_or_end_anything(library: Library) -> None:
    many = "and so on for very many more words indeed, so that it is long enough"
    evil = f"[[concepts/x]] <!-- entry=00 --> | cell | [[../../etc/passwd]] {many}"
    library.add(f"**Context:** [[{'a' * 9}]] | x\n\n**Decisions Made:**\n- {evil}")
    library.compile()
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    assert [one for one in structural_issues(base) if one.severity == "error"] == []
    assert len(library.articles) == 1
