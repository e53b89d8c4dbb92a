"""Two lines are the same error by their words, or by their shape."""

from __future__ import annotations

from session_memory.detect.same_error import (
    error_text,
    is_exact,
    is_same_shape,
    task_of,
    telling_words,
)

FIRST = "ModuleNotFoundError: No module named 'requests'"


def test_the_same_words_are_the_same_error() -> None:
    assert is_exact(error_text(FIRST), error_text(FIRST))
    assert not is_exact(error_text(FIRST), error_text("TypeError: cart is not iterable"))


def test_a_line_that_was_cut_matches_by_its_beginning() -> None:
    line = "error: cannot find type Cart in module shop while compiling checkout"
    assert is_same_shape(error_text(line), error_text(line[:60] + "…"))
    assert not is_same_shape(error_text(line), error_text("TypeError: cart is not iterable"))


def test_a_line_that_only_says_that_something_failed_tells_nothing() -> None:
    assert telling_words("Process exited with code 1") == []
    assert telling_words(FIRST)


def test_the_task_of_a_runner_is_named_with_the_runner() -> None:
    assert task_of("make: *** [Makefile:3: lint] Error 1") == "make lint"
    assert task_of(FIRST) == ""
