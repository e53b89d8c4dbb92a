"""A trace is taken apart into what it says."""

from __future__ import annotations

from tests.memory.test_rule_consolidation import parts


def test_a_trace_is_taken_apart_into_what_it_says() -> None:
    one = parts(
        "a",
        5,
        "partial",
        '- "never push" [e:1] [e:2]',
        failed="- `x` failed: boom [e:3]",
        known="- `make` passes here (exit 0) [e:4]",
    )
    assert (one.title, one.outcome, one.at) == ("Parse empty lines of a", "partial", 5)
    assert (one.rules[0].text, one.rules[0].events) == ('"never push"', (1, 2))
    (task,) = one.tasks
    assert (task.name, task.outcome, task.grounds, task.event) == (
        "task of a",
        "partial",
        "grounds",
        8,
    )
    assert task.bullets("steps") == () and task.bullets("failures")[0].events == (3,)
