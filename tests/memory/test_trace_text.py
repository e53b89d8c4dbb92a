"""The final form of a trace and of its summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.workbench import GOOD

from session_memory.core.schema import Session
from session_memory.errors import ModelFailed
from session_memory.memory.context import redact_with
from session_memory.memory.rule_consolidation import make_memory
from session_memory.memory.trace_parser import parse_trace
from session_memory.memory.trace_text import (
    FALLBACKS,
    MAX_SUMMARY_BYTES,
    MAX_TRACE_BYTES,
    NO_PREFERENCES,
    SUMMARY_CUT,
    TASK_HEADINGS,
    TRACE_CUT,
    final_summary,
    final_trace,
    is_structured,
    missing_parts,
    outcomes_in,
    slug,
    trace_page,
    wrapped,
)
from session_memory.memory.working_tree import look_into
from session_memory.redact import Redactor
from session_memory.store.memories import Trace

REDACT = redact_with(Redactor(b"k" * 32))
SECRET = "sk-abcdefghijklmnopqrstuvwxyz123456"

FALLBACK = """# Trace Summary

Trace context: extracted from rollout (normalized fallback structure).

User preferences: none observed

## Task: Extracted Memory
Outcome: uncertain
Key steps:
- See the raw notes at the end.
Things that did not work / things that can be improved:
- The notes do not list this on its own.
Reusable knowledge:
- Check a claim against the session before relying on it.
Pointers and references (annotate why each item matters):
- The raw notes name what there is.

### Raw trace notes
loose notes only
"""


def plain(text: str) -> str:
    return text


@pytest.mark.rows("EXT-27")
@pytest.mark.parametrize("empty", ["", "   ", "\n\t "])
def test_empty_texts_are_errors_and_others_are_trimmed(empty: str) -> None:
    with pytest.raises(ModelFailed, match="traceMemory"):
        final_trace(empty, REDACT)
    with pytest.raises(ModelFailed, match="summary"):
        final_summary(empty, REDACT)
    assert final_trace(f"  \n{GOOD}\n ", REDACT) == GOOD
    assert final_summary("  short \n", REDACT) == "short"


@pytest.mark.rows("EXT-28")
@given(st.integers(MAX_TRACE_BYTES // 2 - 120, MAX_TRACE_BYTES // 2 + 10))
def test_no_part_of_a_secret_survives_the_cut_of_a_trace(place: int) -> None:
    text = GOOD + "\n" + "x" * (place - len(GOOD) - 2) + " " + SECRET + " " + "y" * 200_000
    final = final_trace(text, REDACT)
    assert len(final.encode()) <= MAX_TRACE_BYTES
    assert "sk-a" not in final and SECRET[-12:] not in final


@pytest.mark.rows("EXT-28")
@given(st.integers(MAX_SUMMARY_BYTES // 2 - 80, MAX_SUMMARY_BYTES // 2 + 40))
def test_no_part_of_a_secret_survives_the_cut_of_a_summary(place: int) -> None:
    final = final_summary("x" * place + " " + SECRET + " " + "y" * 2_000, REDACT)
    assert len(final.encode()) <= MAX_SUMMARY_BYTES
    assert "sk-a" not in final and SECRET[-12:] not in final


@pytest.mark.rows("EXT-28", "EXT-29")
def test_a_secret_over_two_lines_of_a_summary_is_seen_because_white_space_goes_first() -> None:
    # Collapsed first, then redacted: the value stands behind its name on the same line.
    assert (
        final_summary("password = mysecret123456\n\nsmall", REDACT)
        == "password = [REDACTED_SECRET] small"
    )
    assert final_summary("a\t b \n\n c", REDACT) == "a b c"


@pytest.mark.rows("EXT-36")
def test_limits_are_bytes() -> None:
    assert (MAX_TRACE_BYTES, MAX_SUMMARY_BYTES) == (300_000, 1_200)
    assert len(final_trace("x" * 400_000, plain).encode()) <= 300_000
    accents = final_summary("é" * 700, plain)  # 700 characters, 1400 bytes
    assert len(accents.encode()) <= 1_200 and SUMMARY_CUT in accents
    assert final_summary("é" * 600, plain) == "é" * 600


@pytest.mark.rows("EXT-37")
@given(st.text(min_size=700, max_size=3_000))
def test_a_cut_keeps_both_ends_around_one_marker(text: str) -> None:
    compact = " ".join(text.encode("utf-8", "replace").decode().split())
    final = final_summary("begin " + compact + " end", plain)
    whole = "begin " + compact + " end"
    if len(whole.encode()) <= MAX_SUMMARY_BYTES:
        assert final == whole.replace("  ", " ")
        return
    head, marker, tail = final.partition(SUMMARY_CUT)
    assert marker and whole.startswith(head) and whole.endswith(tail)
    assert len(final.encode()) <= MAX_SUMMARY_BYTES and final.count(SUMMARY_CUT) == 1
    assert abs(len(head.encode()) - len(tail.encode())) <= 8


@pytest.mark.rows("EXT-37")
def test_the_marker_of_a_trace_stands_alone_between_its_halves() -> None:
    text = GOOD + "\n" + "m" * 400_000 + "\nthe end"
    final = final_trace(text, plain)
    assert TRACE_CUT == "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
    assert final.count("[... TRACE MEMORY TRUNCATED ...]") == 1
    assert final.startswith(GOOD) and final.endswith("\nthe end")


@pytest.mark.rows("EXT-66")
def test_a_bullet_that_only_fills_a_heading_is_never_taken_for_knowledge() -> None:
    trace = Trace(1, "t", "/work/shop", wrapped("loose notes only"), "s", 5)
    (task,) = parse_trace(trace).tasks
    assert [task.bullets(place) for place in ("steps", "failures", "knowledge", "pointers")] == [
        ()
    ] * 4
    page = make_memory([parse_trace(trace)], {}, look_into("/work/shop")).files["MEMORY.md"]
    assert not any(words in page for words in FALLBACKS) and len(FALLBACKS) == 4


@pytest.mark.rows("EXT-38", "EXT-60", "EXT-66")
def test_loose_notes_are_wrapped_and_a_structured_text_stays_byte_for_byte() -> None:
    assert wrapped("loose notes only") == FALLBACK
    assert final_trace("loose notes only", plain) == FALLBACK
    assert is_structured(FALLBACK)
    assert final_trace(GOOD, plain) == GOOD


@pytest.mark.rows("EXT-38")
@pytest.mark.parametrize(
    "part", ["# ", "Trace context:", "User preferences:", "## Task:", "Outcome: success"]
)
def test_each_part_of_the_structure_is_needed(part: str) -> None:
    broken = GOOD.replace(part, "", 1) if part != "# " else GOOD[2:]
    assert is_structured(GOOD) and not is_structured(broken)
    assert "### Raw trace notes" in final_trace(broken, plain)


@pytest.mark.rows("EXT-54")
@pytest.mark.parametrize(
    ("part", "instead", "missing"),
    [
        ("# Fixed the parser", "Fixed the parser", "# summary"),
        ("# Fixed the parser", "## Fixed the parser", "# summary"),
        ("Trace context: shop", "shop", "Trace context:"),
        ("User preferences: none observed", "none", "User preferences:"),
        ("User preferences: none observed", "User preferences: nothing", NO_PREFERENCES),
        ("User preferences: none observed", "User preferences:\nnone", NO_PREFERENCES),
        ("## Task: fix the parser", "Task: fix the parser", "## Task:"),
        ("Outcome: success", "Outcome: done", "Outcome:"),
        *((heading, "Other:", heading) for heading in TASK_HEADINGS),
    ],
)
def test_each_part_that_is_asked_for_is_missed(part: str, instead: str, missing: str) -> None:
    assert missing_parts(GOOD) == [] == missing_parts(FALLBACK)
    stated = GOOD.replace("User preferences: none observed", "User preferences:\n- use tabs")
    assert missing_parts(stated) == []
    assert missing_parts(GOOD.replace(part, instead)) == [missing]


@pytest.mark.rows("EXT-54")
def test_every_task_is_looked_at() -> None:
    _, _, task = GOOD.partition("## Task:")
    assert missing_parts(f"{GOOD}\n\n## Task:{task}") == []
    short = task.replace("Key steps:", "Steps:").replace("Outcome: success", "Outcome: yes")
    assert missing_parts(f"{GOOD}\n\n## Task:{short}") == ["Key steps:", "Outcome:"]


@pytest.mark.rows("EXT-53")
def test_only_the_four_labels_are_outcomes() -> None:
    for label in ("success", "partial", "fail", "uncertain"):
        assert outcomes_in(f"Outcome: {label}") == [label]
    assert outcomes_in("- **Outcome:** Partial (tests fail)") == ["partial"]
    for label in ("done", "successful", "failed", "", "success|partial"):
        assert outcomes_in(f"Outcome: {label}") is None
    claimed = GOOD.replace("Outcome: success", "Outcome: done")
    assert outcomes_in(final_trace(claimed, plain).partition("### Raw")[0]) == ["uncertain"]


@pytest.mark.rows("EXT-40")
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix: the Bug!!", "fix_the_bug"),
        ("", "trace"),
        ("###", "trace"),
        ("Größe ändern", "gr_e_ndern"),
        ("漢字", "trace"),
        ("a" * 63 + " b", "a" * 63),
        ("../../etc/passwd", "etc_passwd"),
    ],
)
def test_a_slug_is_fit_for_a_file_name(title: str, expected: str) -> None:
    assert slug(title) == expected


@pytest.mark.rows("EXT-40")
@given(st.text(max_size=200))
def test_every_slug_is_short_plain_and_not_empty(title: str) -> None:
    made = slug(title)
    assert 0 < len(made) <= 64 and made.strip("_") == made and "__" not in made
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")


@pytest.mark.rows("EXT-41")
def test_the_page_of_a_trace_with_and_without_a_time() -> None:
    known = Session(1, "claude", "T", cwd="/work/shop", ended_at=1_772_442_000_000)
    assert trace_page(known, "T", "/logs/T.jsonl", "\n# A\nbody \n\n") == (
        "thread_id: T\n"
        "cwd: /work/shop\n"
        "rollout_path: /logs/T.jsonl\n"
        "updated_at: 2026-03-02T09:00:00.000Z\n"
        "\n"
        "# A\nbody\n"
    )
    unknown = Session(1, "claude", "T", cwd="/work/shop\nthread_id: forged")
    assert trace_page(unknown, "T", "/logs/T.jsonl", "# A") == (
        "thread_id: T\ncwd: /work/shop thread_id: forged\nrollout_path: /logs/T.jsonl\n\n# A\n"
    )
