"""What is forgotten leaves articles, index, build log and reports, at once and for good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.journal.compile_journal import ENTRY, OTHER, Library, answer, written
from tests.journal.flush_journal import CLEAN
from tests.journal.test_forget import holding

from session_memory.core.forget import FORGOTTEN
from session_memory.journal.compile import pending_logs
from session_memory.journal.forget import count_edits, forget_sessions, rewrite
from session_memory.journal.lint import lint, read_lint_input, structural_issues
from session_memory.journal.paths import journal_paths
from session_memory.journal.query import query
from session_memory.model.port import Request

SECRET_PLAN = ENTRY.replace("tokens", "zebras").replace("parser", "zebra reader")


def clean(library: Library) -> bool:
    base = read_lint_input(library.journal, library.now, library.warnings.append)
    return not [one for one in structural_issues(base) if one.severity == "error"]


def used(library: Library) -> Library:
    """Two sessions compiled, a question filed about both, a lint reported."""
    library.add(SECRET_PLAN, "gone-id")
    library.add(OTHER, "kept-id", day=1)
    library.compile()
    query(library.context(), "what about zebras in the lexer?", file_back=True)
    query(library.context(), "what halves the memory of a file?", file_back=True)
    lint(library.context(), structural_only=True)
    return library


def test_a_forgotten_session_leaves_no_word_in_the_knowledge(library: Library) -> None:
    used(library)
    assert holding(library.data, "zebra")
    assert forget_sessions(library.data, "", {"gone-id"}, library.now) > 0
    assert holding(library.data, "zebra", "gone-id") == []
    assert "a thousand tokens" in library.articles["concepts/src-lexer-py"].body
    assert "concepts/a-smaller-memory-footprint" in library.articles
    assert clean(library)
    assert forget_sessions(library.data, "", {"gone-id"}, library.now) == 0


def test_the_day_of_a_forgotten_session_is_compiled_whole_again(library: Library) -> None:
    used(library)
    library.add(ENTRY, "third-id")
    library.compile()
    forget_sessions(library.data, "", {"gone-id"}, library.now)
    assert "2026-03-02.md" in pending_logs(library.journal, library.now, library.warnings.append)
    (done, *_) = library.compile().done
    assert not done.incremental
    assert "Cache the tokens" in "".join(one.body for one in library.articles.values())
    assert holding(library.data, "zebra") == [] and clean(library)


def test_words_a_model_drew_from_a_forgotten_session_go_with_it(library: Library) -> None:
    library.add(SECRET_PLAN, "gone-id")
    library.add(OTHER, "kept-id")
    library.says(
        answer(
            written("Zebra cache", "Zebras are cached.", aliases=["stripes"], summary="On zebras."),
            written("Slots", "Slots halve the memory.", entry="E2", related=["Zebra cache"]),
            {
                "title": "Small memory",
                "summary": "Zebras and slots.",
                "points": [
                    {"text": "Slots are small.", "entry": "E2"},
                    {"text": "So is it.", "entry": "E1"},
                ],
            },
        )
    )
    library.compile()
    library.model = None
    forget_sessions(library.data, "", {"gone-id"}, library.now)
    assert holding(library.data, "ebra", "stripes", "Small memory") == []
    assert list(library.articles) == ["concepts/slots"]
    assert clean(library)


def test_other_names_that_a_forgotten_session_brought_go_too(library: Library) -> None:
    library.add(OTHER, "kept-id")
    library.add(SECRET_PLAN, "gone-id", day=1)
    library.says(
        answer(written("Slots", "Slots halve the memory.")),
        answer(written("Zebras", "Zebras have slots.", updates="concepts/slots", tags=["zebra"])),
    )
    library.compile()
    assert library.articles["concepts/slots"].front["aliases"] == ("Zebras",)
    forget_sessions(library.data, "", {"gone-id"}, library.now)
    assert holding(library.data, "ebra") == []
    assert "Slots halve" in library.articles["concepts/slots"].body


def test_a_forgotten_text_in_a_title_takes_the_file_name_along(library: Library) -> None:
    used(library)
    assert any("zebra" in path for path in library.articles)
    assert rewrite(library.data, "", lambda text: re.sub("zebra", FORGOTTEN, text, flags=re.I)) > 0
    assert holding(library.data, "zebra", "Zebra") == []
    assert clean(library)
    library.compile()
    assert holding(library.data, "zebra", "Zebra") == [] and clean(library)


def test_a_secret_found_later_leaves_articles_too(library: Library) -> None:
    used(library)
    token = "ghp_" + "a1B2" * 9
    file = library.journal.knowledge / "concepts" / "src-lexer-py.md"
    file.write_text(file.read_text() + f"\n{token}\n")
    assert count_edits(library.data, "", CLEAN) == 1
    assert rewrite(library.data, "", CLEAN) == 1
    assert holding(library.data, token) == []


@pytest.mark.parametrize("left", ["undo", "half"])
def test_a_change_that_was_cut_off_hides_nothing(library: Library, left: str) -> None:
    used(library)
    if left == "undo":
        text = '{"knowledge/concepts/old.md": "zebra"}'
        (library.journal.work / "undo.json").write_text(text)
    else:
        (library.journal.knowledge / "qa" / "x.md.17.new").write_text("zebra")
    rewrite(library.data, "", lambda text: re.sub("zebra", FORGOTTEN, text, flags=re.I))
    assert holding(library.data, "zebra") == []


def test_notes_beside_articles_in_a_vault_stay(tmp_path: Path) -> None:
    vault = str(tmp_path / "vault")
    library = Library(tmp_path / "data")
    library.journal = journal_paths(library.data, "/work/shop", vault)
    note = tmp_path / "vault" / "Zebra notes.md"
    note.parent.mkdir()
    note.write_text("my zebra")
    used(library)
    forget_sessions(library.data, vault, {"gone-id"}, library.now)
    assert note.read_text() == "my zebra"
    assert holding(tmp_path / "vault" / "knowledge", "zebra") == []


def test_what_is_forgotten_while_a_model_thinks_does_not_come_back(library: Library) -> None:
    library.add(SECRET_PLAN, "gone-id")
    library.add(OTHER, "kept-id", day=1)
    library.says(answer(written("Zebra cache", "Zebras are cached.")), answer())
    library.compile()
    library.add(ENTRY, "third-id", day=2)

    def forgetting(_request: Request) -> str:
        forget_sessions(library.data, "", {"gone-id"}, library.now)
        return answer(written("More on zebras", "Zebras again."))

    library.says(forgetting)
    report = library.compile()
    assert "lost something" in report.failed["2026-03-04.md"]
    assert holding(library.data, "ebra") == []


def test_an_answer_about_what_was_forgotten_meanwhile_is_not_filed(library: Library) -> None:
    library.add(SECRET_PLAN, "gone-id")
    library.compile()

    def forgetting(_request: Request) -> str:
        forget_sessions(library.data, "", {"gone-id"}, library.now)
        return "Zebras are cached [[daily/2026-03-02.md]]."

    library.says(forgetting)
    assert query(library.context(), "what of zebras?", file_back=True).filed is None
    assert holding(library.data, "ebra") == []
