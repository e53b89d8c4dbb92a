"""Whatever stands in traces, or comes back from a model, a memory is whole and bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.errors import Refused
from session_memory.memory.outputs import MAX_MEMORY_BYTES, check_inputs, final_files
from session_memory.memory.rule_consolidation import make_memory
from session_memory.memory.stale import UnknownTree, mark_gone
from session_memory.memory.trace_parser import parse_trace
from session_memory.memory.trace_text import TASK_HEADINGS
from session_memory.memory.user_part import page_with_user_part, user_part_of
from session_memory.store.memories import Trace

LINES = st.sampled_from(
    [
        "# title (success)",
        "User preferences:",
        "## Task: do it [e:3]",
        "Outcome: success (verified)",
        "Outcome: fail",
        *TASK_HEADINGS,
        "- `make test` passes here in `src` (exit 0) [e:4]",
        "- `make test` failed with exit 2: boom; it worked with `make all` [e:5] [e:6]",
        '- "never push" [e:7]',
        '- "push" [e:8]',
        "- `src/a.py`: changed here, 3 times",
        "- The agent reported: All tests pass. Changed it.",
        "- Decided: use tabs",
        "- Blocked: no key",
        "- [x](skills/none/SKILL.md) <!-- end of yours -->",
    ]
)
TEXTS = st.lists(st.one_of(LINES, st.text(max_size=40)), max_size=25).map("\n".join)


def same(text: str) -> str:
    return text


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_any_traces_give_a_page_that_may_be_kept(texts: list[str]) -> None:
    traces = [Trace(n, f"thread-{n}", "/w", text, "s", n) for n, text in enumerate(texts)]
    parts = [parse_trace(trace) for trace in reversed(traces)]
    files = {trace.thread_id: f"trace_summaries/{trace.thread_id}_x.md" for trace in traces}
    made = make_memory(parts, files, UnknownTree()).files
    page = made["MEMORY.md"]
    assert "<!--" not in page and page.startswith("# Memory\n")
    bullets = [line for line in page.splitlines() if line.startswith("- ")]
    assert all("trace" in line or "](" in line or "thread-" in line for line in bullets)
    kept = final_files(
        made, list(files.values()), same
    )  # whatever a trace holds, it is not refused
    assert set(kept) == set(made)


def test_a_trace_that_says_too_much_is_bounded() -> None:
    bullets = "\n".join(f"- word{n} " + "x " * 3_000 + f" end{n}" for n in range(500))
    tasks = "".join(
        f"## Task: t{n}\nOutcome: success\n{TASK_HEADINGS[2]}\n{bullets[:9_000]}\n"
        for n in range(60)
    )
    text = f"# t (success)\nUser preferences:\n{bullets}\n{tasks}"
    traces = [Trace(n, f"thread-{n}", "/w", text, "s", n) for n in range(3)]
    page = make_memory([parse_trace(trace) for trace in traces], {}, UnknownTree()).files[
        "MEMORY.md"
    ]
    assert len(page.encode()) < MAX_MEMORY_BYTES


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_marking_is_idempotent_and_only_adds(text: str) -> None:
    class Nothing(UnknownTree):
        def has_path(self, path: str) -> bool | None:
            return False

        def has_program(self, program: str) -> bool | None:
            return False

    once = mark_gone(text, Nothing())
    assert mark_gone(once, Nothing()) == once
    assert once.replace(" (gone?)", "") == text.replace(" (gone?)", "")


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_the_users_part_survives_every_rewriting(mine: bytes) -> None:
    text = mine.decode("utf-8", "surrogateescape")
    if "<!--" in text or not text.strip():
        return
    page = page_with_user_part(
        user_part_of(page_with_user_part(text, "# Memory\n\n- one\n")), "# Memory\n\n- two\n"
    )
    assert user_part_of(page).encode("utf-8", "surrogateescape") == mine


SKILL = "---\nname: a\ndescription: b\n---\n"


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({}, "no MEMORY.md"),
        ({"MEMORY.md": "  \n"}, "no MEMORY.md"),
        ({"MEMORY.md": "x", "skills/A B/SKILL.md": SKILL}, "no place"),
        ({"MEMORY.md": "x", "skills/a/../b/SKILL.md": SKILL}, "no "),
        ({"MEMORY.md": "x", "skills/a/.hidden": SKILL}, "no name"),
        ({"MEMORY.md": "x", "skills/a/SKILL.md": "no front matter"}, "SKILL.md"),
        ({"MEMORY.md": "x", "skills/a/SKILL.md": SKILL + "y" * 40_000}, "larger"),
        ({"MEMORY.md": "[a](trace_summaries/none.md)"}, "not there"),
        (
            {
                "MEMORY.md": "x",
                **{f"skills/a/f{n}.md": "x" for n in range(30)},
                "skills/a/SKILL.md": SKILL,
            },
            "more than",
        ),
    ],
)
def test_what_a_model_made_is_refused(made: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        final_files(made, [], same)


def test_files_of_the_project_are_named_and_every_skill_is_linked() -> None:
    page = (
        "# M\n\n- see [it](src/a.py), [web](https://example.org) and [t](trace_summaries/t_x.md)\n"
    )
    kept = final_files(
        {"MEMORY.md": page, "skills/a/SKILL.md": SKILL}, ["trace_summaries/t_x.md"], same
    )
    assert "it (`src/a.py`)" in kept["MEMORY.md"]
    assert "[web](https://example.org)" in kept["MEMORY.md"]
    assert "[t](trace_summaries/t_x.md)" in kept["MEMORY.md"]
    assert "[a](skills/a/SKILL.md)" in kept["MEMORY.md"]


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda text: text, False),
        (lambda text: text + "\nsee skills/a/\n", False),
        (lambda text: text.replace("two", "three"), True),
        (lambda text: text.partition("\n")[0], True),
        (lambda text: "other words\n" + text, True),
    ],
)
def test_phase_one_may_only_gain_references(change: Callable[[str], str], refused: bool) -> None:
    before = {"memory_summary.md": "one\ntwo\n"}
    after = {"memory_summary.md": change(before["memory_summary.md"])}
    if refused:
        with pytest.raises(Refused):
            check_inputs(before, after)
    else:
        check_inputs(before, after)
