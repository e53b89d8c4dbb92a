"""Cheap questions before expressions: whatever an expression finds has one of its cues."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from session_memory.distil.labels import labelled

PAIRS = [
    ("attempts", "_SAYS_ERROR", "_ERROR_CUES"),
    ("check_output", "_FAILED", "_FAILED_CUES"),
    ("conclusion", "_ENDS_AS_STATE", "_STATES"),
    ("deliveries", "_HINTS", "_HINT_WORDS"),
    ("deliveries", "_REFUSES", "_REFUSAL_CUES"),
    ("git_state", "_REFUSED", "_REFUSED_CUES"),
    ("git_state", "_STOPPED", "_STOPPED_CUES"),
    ("git_state", "_STOPPABLE", "_STOPPABLE_VERBS"),
    ("git_state", "_SWITCHED", "_SWITCHED_CUES"),
    ("inputs", "_PROBE", "_PROBE_WORDS"),
    ("inputs", "_TAKES_BACK", "_TAKES_BACK_CUES"),
    ("outcome", "_CLAIMS", "_CLAIM_CUES"),
    ("plans", "_DECISION", "_DECISION_WORDS"),
    ("plans", "_TODO", "_TODO_WORDS"),
    ("prompts", "_CORRECTS", "_CORRECT_CUES"),
    ("prompts", "_REJECTS", "_REJECT_CUES"),
    ("prompts", "_STOPS", "_STOPS_CUES"),
    ("put_right", "_NO_PROGRAM", "_NO_PROGRAM_CUES"),
    ("put_right", "_WRONG_CALL", "_WRONG_CALL_CUES"),
    ("put_right", "_ADVICE", "_BEFORE_ADVICE"),
    ("substance", "_HEDGES", "_HEDGE_CUES"),
    ("rule_terms", "_SHORT_FORMS", "_SHORT_CUES"),
    ("substance", "_QUOTED", "_QUOTE_SIGNS"),
    ("substance", "_WORDING", "_WORDING_CUES"),
    ("turns", "_BOASTS", "_BOAST_CUES"),
    ("turns", "_OFFERS", "_OFFER_CUES"),
    ("turns", "_SHIPS", "_SHIPS_CUES"),
    ("work", "_SHIPS", "_SHIPS_CUES"),
]


_ONE_OF = {
    "CATEGORY_DIGIT": "1",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_WORD": "-",
}


CONCLUSION: Any = import_module("session_memory.distil.conclusion")
SUBSTANCE: Any = import_module("session_memory.distil.substance")
SIMILARITY: Any = import_module("session_memory.core.text.similarity")
USER_WORDS: Any = import_module("session_memory.distil.user_words")


def samples(parsed: Any) -> list[str]:
    """Short texts that a parsed expression may find, with each of its alternatives once."""
    found = [""]
    for kind, value in parsed:
        first, *others = _samples_of(str(kind), value)
        found = [*(text + first for text in found), *(found[0] + other for other in others)]
    return found


def _samples_of(kind: str, value: Any) -> list[str]:
    if kind == "LITERAL":
        return [chr(value)]
    if kind == "IN":
        members = [(str(name), member) for name, member in value]
        if members[0][0] == "NEGATE":
            return [" ", "x"]
        return [_member(name, member) for name, member in members]
    if kind == "BRANCH":
        return [text for branch in value[1] for text in samples(branch)]
    if kind == "SUBPATTERN":
        return samples(value[-1])
    if kind.endswith("_REPEAT"):
        least, _, repeated = value
        texts = samples(repeated)
        return [text * least for text in texts] if least else [*texts, ""]
    return [" "] if kind in ("ANY", "NOT_LITERAL") else [""]  # an assertion takes no characters


def _member(name: str, member: Any) -> str:
    if name == "CATEGORY":
        return _ONE_OF.get(str(member), "x")
    return chr(member[0] if name == "RANGE" else member)


@pytest.mark.parametrize(("module", "expression", "table"), PAIRS)
def test_what_an_expression_finds_has_one_of_its_cues(
    module: str, expression: str, table: str
) -> None:
    parts = import_module(f"session_memory.distil.{module}")
    pattern: re.Pattern[str] = getattr(parts, expression)
    cues: tuple[str, ...] = getattr(parts, table)
    # Cues are looked for in lower case where the expression looks so, or ignores case.
    folds = all(cue == cue.lower() for cue in cues)
    texts = samples(import_module("re._parser").parse(pattern.pattern, pattern.flags))
    found = [text for text in texts if pattern.search(text)]
    assert len(found) * 2 > len(texts)
    for text in found:
        if (
            text.isascii() or table != "_REJECT_CUES"
        ):  # prompts in other letters are always searched
            assert any(cue in (text.lower() if folds else text) for cue in cues), text


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


def test_what_leads_up_to_something_begins_as_the_table_says() -> None:
    pattern = CONCLUSION._LEADS_UP
    texts = samples(import_module("re._parser").parse(pattern.pattern, pattern.flags))
    found = [text for text in texts if text and pattern.match(text)]
    assert len(found) > 100
    for text in found:
        assert CONCLUSION._leads_up(text), text


@pytest.mark.parametrize(
    "text",
    [
        "fix `reader.py` — it’s slow → use SQLite’s C-API ✅ (v1.2)…",
        "1️⃣ first_step … “second-step”",
        "größer — Straße",
        "日本語 and English",
    ],
)
def test_words_between_other_signs_are_found_as_by_the_expression_for_all_letters(
    text: str,
) -> None:
    assert SUBSTANCE._tokens(text) == SUBSTANCE._TOKEN.findall(text.replace("’", "'"))
    plain = text.replace("’", "'").casefold()
    assert SIMILARITY._words(text) == SIMILARITY._WORD.findall(plain)


def test_what_was_pasted_below_its_source_is_left_out_and_the_rest_stays() -> None:
    text = "See the log:\nline 1\nline 2\n\nDo this:\nnow\n\nThe docs say:\n\nquoted: here\n\nend"
    kept = "See the log\n\nDo this:\nnow\n\nThe docs say\n\nend"
    assert USER_WORDS._without_sources(text) == kept
