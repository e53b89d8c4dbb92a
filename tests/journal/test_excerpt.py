"""The context of a flush: the last turns of user and assistant, whole, bounded, without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.journal.flush_journal import CLEAN

from session_memory.adapters.claude.log_builder import ClaudeLog, call_block, text_block
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.journal.excerpt import (
    MAX_CHARS,
    MAX_TURNS,
    Turn,
    file_name,
    make_excerpt,
    session_of,
    turns_in,
    turns_of_session,
    turns_of_transcript,
)
from session_memory.redact import RULES
from session_memory.testing.workspace import Workspace


def spoken(count: int, size: int = 10) -> list[Turn]:
    return [Turn("Assistant" if n % 2 else "User", f"turn {n} " + "x" * size) for n in range(count)]


@pytest.mark.rows("HOK-03")
def test_a_long_session_gives_its_last_thirty_turns() -> None:
    context = make_excerpt(spoken(100), CLEAN)
    turns = turns_in(context)
    assert len(turns) == MAX_TURNS == 30
    assert turns[0].text.startswith("turn 70 ") and turns[-1].text.startswith("turn 99 ")


@pytest.mark.rows("HOK-03")
def test_a_large_tail_is_cut_between_turns() -> None:
    context = make_excerpt(spoken(20, 2_000), CLEAN)
    assert 10_000 < len(context) <= MAX_CHARS == 15_000
    assert context.startswith(("**User:** turn ", "**Assistant:** turn "))
    assert turns_in(context)[-1].text.startswith("turn 19 ")


@pytest.mark.rows("HOK-03")
def test_of_one_turn_that_is_too_long_the_end_is_kept_under_its_label() -> None:
    context = make_excerpt([Turn("User", "a" * 40_000 + "the end")], CLEAN)
    assert len(context) <= MAX_CHARS
    assert context.startswith("**User:** [...] a") and context.endswith("the end\n")


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.text(max_size=20), st.integers(0, 20_000)), max_size=40)
)
def test_a_context_is_bounded_and_begins_with_a_label(said: list[tuple[bool, str, int]]) -> None:
    turns = [Turn("User" if who else "Assistant", text + "y" * n) for who, text, n in said]
    context = make_excerpt(turns, lambda text: text)
    assert len(context) <= MAX_CHARS
    assert not turns or context.startswith(("**User:** ", "**Assistant:** "))


@pytest.mark.rows("HOK-04")
def test_a_raw_transcript_gives_words_only_in_both_nestings() -> None:
    rows = [
        {"type": "user", "message": {"role": "user", "content": "first"}},
        {"role": "assistant", "content": [{"type": "text", "text": "second"}]},
        {
            "type": "assistant",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "name": "Bash", "input": {"command": "hidden"}},
                    {"type": "text", "text": "third"},
                    {"type": "thinking", "thinking": "hidden"},
                ],
            },
        },
        {"message": {"role": "user", "content": [{"type": "tool_result", "content": "hidden"}]}},
        {"role": "user", "content": "fourth"},
        {"role": "system", "content": "hidden"},
        {"message": {"role": ["user"], "content": "hidden"}},
        ["hidden"],
    ]
    lines = ["{broken", *(json.dumps(row) for row in rows), ""]
    assert turns_of_transcript(lines) == [
        Turn("User", "first"),
        Turn("Assistant", "second"),
        Turn("Assistant", "third"),
        Turn("User", "fourth"),
    ]


@pytest.mark.rows("HOK-04")
def test_a_stored_session_of_any_flavour_gives_the_same(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    claude = ClaudeLog(1)
    claude.prompt("fix the parser")
    claude.reply(call_block("c1", "Bash", {"command": "hidden-command"}), text_block("it is fixed"))
    space.write(claude)
    codex = CodexLog(2)
    codex.header().turn().prompt("fix the parser")
    codex.answer("it is fixed")
    codex.write(space.flavor_home("codex"))
    space.sweep()
    for name in (claude.session_id, codex.thread):
        with space.store() as store:
            turns = turns_of_session(store, store.find_session(name).id)
        assert turns == [Turn("User", "fix the parser"), Turn("Assistant", "it is fixed")]


def test_what_we_put_before_the_agent_does_not_come_back() -> None:
    own = "<!-- session-memory:begin flush -->\nsecret plan\n<!-- session-memory:end -->"
    (turn,) = turns_of_transcript([json.dumps({"role": "user", "content": f"hello {own} there"})])
    assert "secret plan" not in turn.text and "hello" in turn.text


@pytest.mark.rows("HOK-10")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_secret_reaches_a_context(rule: object) -> None:
    for sample in rule.must_match:  # type: ignore[attr-defined]
        text = sample if isinstance(sample, str) else sample.decode()
        context = make_excerpt([Turn("User", f"look:\n{text}\n")], CLEAN)
        assert text not in context, "the sample stands there as it was"
        assert "[REDACTED_SECRET]" in context


@pytest.mark.rows("HOK-10")
def test_a_secret_is_found_before_the_cut_goes_through_it() -> None:
    token = "ghp_" + "a1B2" * 9
    room = MAX_CHARS - len("**User:** [...] \n") - 1
    for visible in (8, 20, len(token) - 1):
        text = "z" * 30_000 + " " + token + " " + "w" * (room - visible - 1)
        context = make_excerpt([Turn("User", text)], CLEAN)
        assert token[-8:] not in context


def test_any_session_name_is_fit_for_a_file() -> None:
    for name in ("plain-1", "../../etc/passwd", "a b", "é:*?", ".", ".."):
        assert "/" not in file_name(name)
        assert session_of(Path(f"{file_name(name)}--17.md")) == name
    long = "x" * 500
    assert len(file_name(long)) == 64
    assert session_of(Path(f"{file_name(long)}--17.md")) == file_name(long)
