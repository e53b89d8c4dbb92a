"""Calls with their results, and equal neighbours counted."""

from __future__ import annotations

from tests.distil.test_digest import Story


def test_an_unpaired_call_has_no_exit_and_parallel_results_find_their_calls() -> None:
    story = Story()
    for name in ("one", "two", "three"):
        story.add("tool_call", tool="Bash", tool_class="shell", command=name, call_id=name)
    story.add("tool_result", call_id="two", exit_code=2, is_error=True)
    story.add("tool_result", call_id="one", exit_code=0)
    digest = story.digest()
    assert [(run.command, run.exit) for run in digest.commands] == [
        ("one", 0),
        ("two", 2),
        ("three", None),
    ]


def test_equal_neighbours_are_one_command_with_a_count() -> None:
    digest = Story().shell("ls").shell("ls").shell("ls", 1).shell("ls").digest()
    assert [(run.exit, run.count) for run in digest.commands] == [(0, 2), (1, 1), (0, 1)]
