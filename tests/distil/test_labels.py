"""Labelled lines become statements of the type their label names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.distil.labels import labelled

LINES = {
    "Decision: use SQLite": ("decision", "use SQLite"),
    "**Decision:** keep the old API. It is in use.": ("decision", "keep the old API."),
    "Decided: ship on Friday": ("decision", "ship on Friday"),
    "Objective: parse every log": ("objective", "parse every log"),
    "Goal: fewer clicks": ("objective", "fewer clicks"),
    "- **Target**: the mobile app": ("objective", "the mobile app"),
    "Mission: one memory for all agents": ("objective", "one memory for all agents"),
    "Constraint: no network": ("constraint", "no network"),
    "> Restriction: Python 3.11 only": ("constraint", "Python 3.11 only"),
    "Rule: never push to main": ("constraint", "never push to main"),
    "Project DoD: all rows are tested": ("project_dod", "all rows are tested"),
    "Mission DoD: users can undo": ("mission_dod", "users can undo"),
    "Session DoD: make check passes": ("session_dod", "make check passes"),
    "Pending: write the docs": ("pending_item", "write the docs"),
    "TODO: remove the flag": ("pending_item", "remove the flag"),
    "3. Remaining: the Windows path": ("pending_item", "the Windows path"),
    "Open item: ask the vendor": ("pending_item", "ask the vendor"),
    "Done: the parser": ("completed_item", "the parser"),
    "✅ Completed: schema migration": ("completed_item", "schema migration"),
    "Finished: e.g. the tests and more": ("completed_item", "e.g. the tests and more"),
    "Unblocked: the CI runner": ("completed_item", "the CI runner"),
    "Blocker: no access to staging": ("blocker", "no access to staging"),
    "Blocked by: the review": ("blocker", "the review"),
    "⚠️ Risk: data loss on crash": ("blocker", "data loss on crash"),
    "Status: done": ("completion_claim", "Status: done"),
    "Pending: x. More prose": ("pending_item", "x."),
}


@pytest.mark.rows("OBS-03")
@pytest.mark.parametrize("line", LINES)
def test_a_labelled_line_gives_its_type_and_text(line: str) -> None:
    assert len(LINES) >= 20
    assert [(found.type, found.text) for found in labelled(line)] == [LINES[line]]
    framed = f"Some words before.\n\n{line}\n\nSome words behind."
    assert [(found.type, found.text) for found in labelled(framed)] == [LINES[line]]


@pytest.mark.rows("OBS-03")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Pending: a; Blocker: b", [("pending_item", "a"), ("blocker", "b")]),
        ("Pending: a; b; c", [("pending_item", "a"), ("pending_item", "b"), ("pending_item", "c")]),
        ("Done: x. Blocker: y. More.", [("completed_item", "x."), ("blocker", "y.")]),
        (
            "Remaining:\n- docs\n- tests\n\nBye",
            [("pending_item", "docs"), ("pending_item", "tests")],
        ),
        ("**Todo:**\n- [ ] one\n- [x] two", [("pending_item", "one")]),
    ],
)
def test_one_line_or_list_may_hold_several_statements(
    line: str, expected: list[tuple[str, str]]
) -> None:
    assert [(found.type, found.text) for found in labelled(line)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "no label here",
        "The goal: this is prose in a sentence",
        "```\nTODO: inside code\n```",
        "Pending: none",
        "Blockers: n/a",
        "Status: running",
        "Decision: Standard vs Skill",
        "Rules:",
        "Goal: here is what follows:",
        "https://done: x",
    ],
)
def test_what_is_no_statement_gives_nothing(text: str) -> None:
    assert labelled(text) == []


@given(st.text(alphabet="Done:;. \n*-#`Pending", max_size=400))
def test_any_text_gives_short_statements_on_one_line(text: str) -> None:
    for found in labelled(text):
        assert found.text
        assert "\n" not in found.text
        assert len(found.text) <= 500
