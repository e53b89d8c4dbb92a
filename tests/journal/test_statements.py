"""What an entry states: files, commands, symbols and errors."""

from __future__ import annotations

import pytest
from tests.journal.test_rule_compile import items

from session_memory.journal.statements import Topic, short_path, subject_of, topics_of


def test_what_an_entry_was_about_is_told_without_its_wrapping() -> None:
    wrapped = "Implement the following plan: # Plan: see https://x.test/1 Faster lexer"
    text = f"**Context:** {wrapped} (outcome: fail)"
    assert subject_of(items(text)) == "see Faster lexer"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/lexer.py:12 and ./src/lexer.py", [Topic("file", "src/lexer.py")]),
        ("at /home/x/shop/src/lexer.py", [Topic("file", "src/lexer.py")]),
        ("run `pytest -q tests`", [Topic("command", "pytest -q tests")]),
        (
            "`max_retries` and `RetryLoop` and `word`",
            [Topic("symbol", "max_retries"), Topic("symbol", "RetryLoop")],
        ),
        ("https://x.test/a.html or v1.2.3", []),
        ("Seen 3 times: cannot find module 'x'", [Topic("error", "cannot find module <str>")]),
        ("Seen 3 times: Found 1 error.", []),
    ],
)
def test_statements_name_files_commands_symbols_and_errors(text: str, found: list[Topic]) -> None:
    assert list(topics_of(text)) == found


def test_a_path_is_short_wherever_the_project_lies() -> None:
    assert short_path("~/code/shop/a.py") == short_path("/srv/shop/a.py") == "shop/a.py"
