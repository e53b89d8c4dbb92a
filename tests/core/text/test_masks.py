"""Error texts become templates that are equal when the errors are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.text.masks import TEMPLATE_CHARS, error_line, excerpt, mask, window


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("ls: cannot access 'types/': No such file", "ls: cannot access <str>: No such file"),
        ("src/a/b.ts(218,25): error TS7006: bad", "<path>(<n>): error TS7006: bad"),
        ("cache\\file_map.go:204:13: possible misuse", "<path>:<n>: possible misuse"),
        ("open /home/me/x.txt: denied", "open <path>: denied"),
        ("open D:\\repo\\src\\ansi: denied", "open <path>: denied"),
        ("2026-06-25T02:07:10.123Z failed", "<time> failed"),
        ("at 12:01:59 job 019efc87-fa98-7971-91df-0c9512a065da", "at <time> job <uuid>"),
        ("could not apply fb89908... fix", "could not apply <hex>... fix"),
        ("segfault at 0xdeadBEEF", "segfault at <hex>"),
        ("GET https://example.test/a?b=1 failed", "GET <url> failed"),
        ("took 12ms, 3.5s and 40%", "took <n>ms, <n>s and <n>%"),
        ("No commit found (HTTP 404)", "No commit found (HTTP 404)"),
        ("failed (os error 2)", "failed (os error 2)"),
        (
            "The user doesn't want to go on, user's choice",
            "The user doesn't want to go on, user's choice",
        ),
        ("key [REDACTED_SECRET:a1b2c3d4] leaked", "key [REDACTED_SECRET] leaked"),
        ("\x1b[31mError:\x1b[0m  too\tmany", "Error: too many"),
        ("pytest: command not found", "pytest: command not found"),
        ("and/or", "and/or"),
        ("E501 line", "E501 line"),
    ],
)
def test_what_varies_is_masked_and_what_names_the_error_stays(text: str, template: str) -> None:
    assert mask(text) == template


@given(st.text(alphabet="ab19 '\"`/\\.:<>-n[]xTZ~", max_size=80))
def test_masking_twice_changes_nothing_that_matters(text: str) -> None:
    once = mask(text)
    assert mask(mask(once)) == mask(once)
    assert len(once) <= TEMPLATE_CHARS
    assert "\n" not in once


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_do_not_tell_errors_apart(one: int, other: int) -> None:
    assert mask(f"line {one}: bad") == mask(f"line {other}: bad")


def test_the_telling_line_is_found_behind_headers() -> None:
    assert error_line("Exit code 127\n/usr/bin/bash: line 1: ruby: command not found").endswith(
        "ruby: command not found"
    )
    assert error_line("<tool_use_error>File has not been read yet.</tool_use_error>") == (
        "File has not been read yet."
    )
    assert error_line("Exit code 2\n$ tsc --noEmit\na.ts(1,2): error TS1: x\n") == (
        "a.ts(1,2): error TS1: x"
    )
    assert error_line("collected 3\n0 errors\nE assert failed here") == "E assert failed here"
    assert error_line("⚠ Unknown setting 'x' is ignored\nError: no such place") == (
        "Error: no such place"
    )
    assert error_line("Exit code 1") == ""
    assert error_line("") == ""


def test_a_traceback_is_named_by_what_was_raised() -> None:
    text = (
        "Exit code 1\nTraceback (most recent call last):\n"
        '  File "a.py", line 3, in <module>\n    fail()\nValueError: no such colour: 3\n'
    )
    assert error_line(text) == "ValueError: no such colour: 3"


def test_a_footer_that_says_there_was_no_error_is_none() -> None:
    """Qwen Code ends the result of every command with it."""
    footer = "Error: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: (none)"
    trace = 'Traceback (most recent call last):\n  File "a.py", line 2\nAssertionError: no sum'
    assert error_line(f"Command: x\nOutput: {trace}\n{footer}") == "AssertionError: no sum"
    assert error_line(f"Command: x\nOutput: make: *** [all] Error 2\n{footer}").endswith("Error 2")


def test_only_head_and_tail_of_a_long_output_are_read() -> None:
    body = "noise\n" * 200_000
    assert error_line(body + "fatal: the end\n") == "fatal: the end"
    assert error_line("fatal: the start\n" + body) == "fatal: the start"
    assert len(window(body)) < 10_000
    assert window("short") == "short"


def test_an_excerpt_is_one_line_cut_at_a_word() -> None:
    assert excerpt("a  b\nc", 10) == "a b c"
    assert excerpt("a\x0cb\u2003\x1b[31mc\x1b[0m\x00", 10) == "a b c"
    assert excerpt("alpha beta gamma delta", 12) == "alpha beta…"
    assert len(excerpt("x" * 1000, 50)) == 50
