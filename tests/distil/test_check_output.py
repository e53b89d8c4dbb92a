"""Whether a verification passed: by its exit code, and where that is lost by its output."""

from __future__ import annotations

import pytest

from session_memory.distil.check_output import check_passed
from session_memory.distil.checks import Check


@pytest.mark.parametrize(
    ("tells", "text", "exit_code", "is_error", "expected"),
    [
        (True, "", 0, False, True),
        (True, "3 passed", 1, True, False),
        (True, "", None, True, False),
        (True, "fine", None, False, True),
        (True, "2 failed, 3 passed", None, False, False),
        (False, "2 failed, 3 passed", 0, False, False),
        (False, "12 passed in 3s", 0, False, True),
        (False, "12 passed, 0 failed", 1, True, True),
        (False, "ok  \tgithub.com/a/b\t0.3s", 0, False, True),
        (False, "--- FAIL: TestX\nFAIL", 0, False, False),
        (False, "src/a.ts(1,2): error TS7006: no", 0, False, False),
        (False, "nothing to see", 0, False, None),
        (False, "", 0, False, None),
        (True, "Command running in background with ID: b1", 0, False, None),
        (True, "Process running with session ID 7", None, False, None),
        (False, " 0 fail\n 12 pass\n", 0, False, True),
        (False, "test result: ok. 5 passed; 0 failed", 0, False, True),
        (False, "[Routes] error: provoked\n 1329 pass\n 0 fail\n", 0, False, True),
        (False, "bash: pytest: command not found", 0, False, False),
        (False, "\x1b[31m2 failed\x1b[0m", 0, False, False),
    ],
)
def test_a_check_is_read_from_its_exit_or_where_that_is_lost_from_its_output(
    tells: bool, text: str, exit_code: int | None, is_error: bool, expected: bool | None
) -> None:
    assert check_passed(Check(("test",), tells), text, exit_code, is_error) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("(Bash completed with no output)", True),
        ("$ tsc --noEmit\n", True),
        ("Checked 286 files in 88ms. No fixes applied.", True),
        ("5 issues:\n* goconst: 5", False),
        ("a/b.go:3:7: cannot use x as y", False),
        ("something was said", None),
    ],
)
def test_compilers_and_linters_are_content_when_silent(text: str, expected: bool | None) -> None:
    assert check_passed(Check(("build", "lint"), False), text, 0, False) is expected
