"""A pattern has one name in every store."""

from __future__ import annotations

from session_memory.core.loop.patterns import kind_of, pattern_id


def test_a_name_depends_on_what_was_found_and_where() -> None:
    names = {
        pattern_id("recurring_error", "npm test"),
        pattern_id("recurring_error", "npm ci"),
        pattern_id("retry", "npm test"),
        pattern_id("recurring_error", "npm test", "about the lock file"),
    }
    assert len(names) == 4
    assert pattern_id("recurring_error", "npm test") in names


def test_trouble_is_told_from_what_worked() -> None:
    assert kind_of("recurring_error") == "problem"
