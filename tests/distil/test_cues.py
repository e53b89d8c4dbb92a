"""Cheap questions before expressions: whatever an expression finds has one of its cues."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.distil.labels import labelled

PAIRS = [
    ("attempts", "_SAYS_ERROR", "_ERROR_CUES"),
    ("check_output", "_FAILED", "_FAILED_CUES"),
    ("conclusion", "_ENDS_AS_STATE", "_STATES"),
    ("deliveries", "_HINTS", "_HINT_WORDS"),
    ("deliveries", "_REFUSES", "_REFUSAL_CUES"),
    ("git_state", "_REFUSED", "_REFUSED_CUES"),
    ("git_state", "_STOPPED", "_STOPPED_CUES"),
    ("inputs", "_PROBE", "_PROBE_WORDS"),
    ("inputs", "_TAKES_BACK", "_TAKES_BACK_CUES"),
    ("outcome", "_CLAIMS", "_CLAIM_CUES"),
    ("plans", "_DECISION", "_DECISION_WORDS"),
    ("plans", "_TODO", "_TODO_WORDS"),
    ("prompts", "_REJECTS", "_REJECT_CUES"),
    ("prompts", "_STOPS", "_STOPS_CUES"),
    ("put_right", "_WRONG_CALL", "_WRONG_CALL_CUES"),
    ("substance", "_HEDGES", "_HEDGE_CUES"),
    ("substance", "_QUOTED_OR_CITED", "_QUOTE_SIGNS"),
    ("substance", "_WORDING", "_WORDING_CUES"),
    ("turns", "_BOASTS", "_BOAST_CUES"),
    ("work", "_SHIPS", "_SHIPS_CUES"),
]


@pytest.mark.parametrize(("module", "expression", "table"), PAIRS)
def test_what_an_expression_finds_has_one_of_its_cues(
    module: str, expression: str, table: str
) -> None:
    parts = import_module(f"session_memory.distil.{module}")
    pattern: re.Pattern[str] = getattr(parts, expression)
    cues: tuple[str, ...] = getattr(parts, table)
    # Cues are looked for in lower case where the expression looks so, or ignores case.
    folds = all(cue == cue.lower() for cue in cues)
    plain = st.from_regex(pattern, alphabet=st.characters(codec="ascii"), fullmatch=True)

    @settings(max_examples=200, derandomize=True, deadline=None, database=None)
    @given(plain)
    def holds(found: str) -> None:
        text = found.lower() if folds else found
        assert any(cue in text for cue in cues)

    holds()


LABELS = [
    *("decision", "decisions", "decided", "objective", "objectives", "goal", "goals", "target"),
    *("mission", "constraint", "constraints", "restriction", "restrictions", "rule", "rules"),
    *("project dod", "mission-dod", "session definition of done", "pending", "todo", "to-do"),
    *("remaining", "open item", "open items", "still open", "not done", "followup", "follow-up"),
    *("followups", "follow-ups", "done", "completed", "finished", "unblocked", "resolved"),
    *("blocker", "blockers", "blocked", "blocked by", "blocked on", "risk", "risks"),
]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    "line", ["{}: use SQLite", "- **{}:** use SQLite", "1. {} **： use SQLite"]
)
def test_every_label_is_found_in_every_spelling(label: str, line: str) -> None:
    for name in (label, label.upper(), label.capitalize()):
        text = f"See this: there\n```\ncode: here\n```\n{line.format(name)}\nand so on."
        assert [found.text for found in labelled(text)] == ["use SQLite"]
