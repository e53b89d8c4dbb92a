"""Entries without a model: lessons are what another session would look up."""

from __future__ import annotations

import pytest
from tests.journal.compile_journal import DAY_MS, ENTRY, NOON, Library

from session_memory.core.schema import Cure, CureKind, Digest, RuleStance, RuleStatement
from session_memory.journal import daily
from session_memory.journal.model_compile import log_excerpt
from session_memory.journal.rule_compile import propose_articles
from session_memory.journal.rule_entry import SessionFacts, entry_text
from session_memory.journal.sections import sections_for
from session_memory.journal.statements import statements_of


def cured(failed: str, error: str, works: str, kind: CureKind = "command") -> Cure:
    return Cure(error, error, 1, failed, kind, (works,), (2,), works, 3)


def rule(text: str, stance: RuleStance = "against") -> RuleStatement:
    return RuleStatement(text, 1, 1, "says so", firm=True, stance=stance)


def lessons(*cures: Cure, rules: tuple[RuleStatement, ...] = ()) -> list[str]:
    digest = Digest(
        *("claude", "make the parser faster", "success", "high", (), "f"),
        corrections=("no, not like this",),
        cures=cures,
        rules=rules,
    )
    text = entry_text(SessionFacts(digest=digest))
    found = statements_of("2026-03-02.md", [daily.Entry("s", "k", text)])
    return [statement.text for statement in found if statement.section == "lesson"]


RTK = cured("rtk bun test", "error: unknown subcommand", "bun test 2>&1 | tail -5")


@pytest.mark.rows("KB-17")
def test_lessons_are_calls_that_fail_with_what_works_and_wishes_that_last() -> None:
    found = lessons(
        RTK,
        cured("make lint", "Found 3 errors.", "make lint-fix"),
        cured("tsc", "a.ts(3,4): error", "Edit /work/a.ts", "edit"),
        cured("git push", "! [rejected] (fetch first)", "git pull --rebase"),
        cured("gh pr diff 8 --stat", "unknown flag: --stat", "gh pr diff 8"),
        cured("Edit /work/a.ts", "File has not been read yet", "Read /work/a.ts"),
        rules=(rule("never push to main without asking"), rule("we should call ours workers")),
    )
    assert found == [
        "`rtk bun test` fails (error: unknown subcommand); `bun test` works",
        "What `make lint` finds, `make lint-fix` mends",
        'The user wants: "never push to main without asking"',
    ]
    assert lessons() == []  # a correction is about its moment


@pytest.mark.rows("KB-17")
def test_a_trap_of_two_sessions_is_one_article_that_names_it() -> None:
    text = f"**Context:** draft PR please\n\n**Lessons Learned:**\n- {lessons(RTK)[0]}"
    first = statements_of("2026-03-02.md", [daily.Entry("s1", "k1", text)])
    second = statements_of("2026-03-03.md", [daily.Entry("s2", "k2", text)])
    assert propose_articles(first, first) == []
    (article,) = propose_articles(second, [*first, *second])
    assert (article.title, len(article.points)) == ("rtk bun test fails", 1)
    third = statements_of("2026-03-04.md", [daily.Entry("s3", "k3", text)])
    (again,) = propose_articles(third, [*first, *second, *third])
    assert again == article  # said once, however often it was met


@pytest.mark.rows("KB-17")
def test_a_title_that_says_nothing_gives_way_to_what_was_decided() -> None:
    decided = "Cache the tokens of the lexer, since reading them twice took most of the time here."
    text = f"**Context:** can you address the PR comment?\n\n**Decisions Made:**\n- {decided}"
    found = statements_of("2026-03-02.md", [daily.Entry("s1", "k1", text)])
    (article,) = propose_articles(found, found)
    assert article.title.startswith("Cache the tokens of the lexer")


@pytest.mark.rows("KB-18")
def test_notes_of_our_own_machinery_never_reach_a_model(library: Library) -> None:
    name = library.add(ENTRY, "s1")
    nothing = daily.Entry("s2", "ab" * 12, daily.NOTHING, daily.MAINTENANCE)
    daily.append_entry(library.journal, nothing, NOON)
    text = (library.journal.daily / name).read_text()
    assert "FLUSH_OK" in text
    shown = log_excerpt(name, text, incremental=False)
    assert "FLUSH_OK" not in shown.text and "Memory Flush" not in shown.text
    assert "Cache the tokens" in shown.text and len(shown.labels) == 1
    told = "".join(one.text for one in sections_for(library.data, "/work/shop", NOON))
    assert "Cache the tokens" in told and "FLUSH_OK" not in told
    daily.append_entry(library.journal, nothing, NOON + DAY_MS)
    tomorrow = "".join(one.text for one in sections_for(library.data, "/work/shop", NOON + DAY_MS))
    assert "FLUSH_OK" not in tomorrow and "Cache the tokens" in tomorrow  # of yesterday
