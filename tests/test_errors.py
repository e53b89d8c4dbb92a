"""Errors bring their exit code and a hint."""

from __future__ import annotations

from session_memory import errors
from session_memory.errors import SessionMemoryError, StoreLocked, StoreMissing


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, SessionMemoryError)
    ]
    page = errors.__doc__ or ""
    missing = [kind.__name__ for kind in kinds if f"{kind.__name__} ({kind.exit_code})" not in page]
    assert missing == []


def test_a_hint_can_be_given_and_is_otherwise_that_of_the_kind() -> None:
    assert StoreMissing("none").hint == StoreMissing.default_hint
    assert StoreMissing("none", hint="look there").hint == "look there"
    assert StoreLocked("held").transient
