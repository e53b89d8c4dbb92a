"""Failures that no field flags: what the words of a result say about how a call ended."""

from __future__ import annotations

import pytest

from session_memory.adapters.emit_events import is_stated_failure, stated_exit_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2 failed\n\nExit code 65", 65),
        ("1 failed\nexit code: 1", 1),
        ("Command exited with code 3.", 3),
        ("Process exited with status 127", 127),
        ("exit status code: -9\n", -9),
        ("Exit code 0\nall well", 0),
        ("Exit code 2\n" + "line\n" * 500 + "last line", 2),
        ("Exit code 1\n" + "line\n" * 500 + "Exit code 4", 4),
        ("line\n" * 500 + "grep: exit code 7\n" + "line\n" * 500, None),
        ("the exit codes are listed below", None),
        ("exit code unknown", None),
        ("", None),
    ],
)
def test_an_exit_code_is_read_at_either_end_of_a_result(text: str, code: int | None) -> None:
    assert stated_exit_code(text) == code


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("ERROR while calling tool: no such file", True),
        ("\nError: ENOENT", True),
        ("Error executing command", True),
        ("ERROR: denied", True),
        ("Errors were found in two files", False),
        ("fixed. Error: none", False),
    ],
)
def test_a_failed_tool_says_so_in_its_first_words(text: str, failed: bool) -> None:
    assert is_stated_failure(text) is failed
