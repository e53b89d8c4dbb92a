"""Digests are bounded, merged after an eviction, and say which sessions are worth mining."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.cli.test_terminal_small_answers import space
from tests.distil.test_digest import OUTCOMES, SESSION, Story, _events, build_digest

from session_memory.core.digest import (
    LABEL_CHARS,
    MAX_ERRORS,
    MAX_FILES,
    is_poorer,
    low_value_reason,
    merge_digests,
    title_of,
)
from session_memory.core.schema import Session, SessionEvent
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_errors_and_files_are_bounded_and_counted() -> None:
    story = Story()
    for number in range(400):
        word = "".join(chr(97 + int(digit)) for digit in str(number))
        story.shell("run it", 1, f"error {word} is bad")
        story.tool("Read", "read", {})
        story.events[-2] = msgspec.structs.replace(story.events[-2], files=(f"f{number}.py",))
    story.shell("run it", 1, "error a is bad").edit("edited.py")
    digest = story.digest()
    assert len(digest.errors) == MAX_ERRORS
    assert digest.errors[0].template == "error a is bad"
    assert digest.errors[0].count == 2
    assert len(digest.files) == MAX_FILES
    assert digest.files["edited.py"] == 1
    assert digest.dropped["errors"] == 350
    assert digest.dropped["files"] == 101


@pytest.mark.rows("DIG-03")
def test_what_came_after_eviction_is_merged_into_the_kept_digest() -> None:
    first = Story().user("Write a parser").edit("a.py").shell("pytest -q", 0, "1 passed")
    later = (
        Story().user("Also the writer").edit("a.py").edit("b.py").shell("pytest -q", 1, "1 failed")
    )
    old = first.digest()
    new = build_digest(SESSION, later.events, continued=True)
    both = merge_digests(old, new)
    assert both.events == old.events + new.events
    assert both.turns == 2
    assert both.objective == "Write a parser"
    assert both.files == {"a.py": 2, "b.py": 1}
    assert both.tools == {"Edit": 3, "Bash": 2}
    assert both.tests_run == 2
    assert (both.outcome, both.grounds) == (new.outcome, new.grounds)
    assert both.source_fingerprint not in (old.source_fingerprint, new.source_fingerprint)
    assert not is_poorer(both, old)


def test_a_merge_keeps_the_old_verdict_where_the_new_part_has_none() -> None:
    old = Story().user("Write a parser").edit("a.py").shell("pytest -q", 0, "1 passed").digest()
    chat = build_digest(SESSION, Story().user("what is a parser?").says("It parses.").events)
    assert merge_digests(old, chat).outcome == "success"
    assert merge_digests(old, build_digest(SESSION, [])) == old
    unverified = build_digest(SESSION, Story().user("one more change").edit("b.py").events)
    assert merge_digests(old, unverified).outcome == "partial"
    fails = Story().user("Write").edit("a.py").shell("pytest", 1, "1 failed").digest()
    thanks = build_digest(SESSION, Story().user("thanks, works now").events, continued=True)
    assert merge_digests(fails, thanks).outcome == "success"


@pytest.mark.rows("DIG-05")
def test_a_digest_of_fewer_events_is_poorer() -> None:
    story = Story().user("Write a parser").says("Written.")
    whole = story.digest()
    part = build_digest(SESSION, story.events[:1])
    assert is_poorer(part, whole)
    assert not is_poorer(whole, part)
    assert not is_poorer(whole, whole)


def test_sessions_not_worth_mining_say_why() -> None:
    def reason(story: Story, session: Session = SESSION) -> str | None:
        return low_value_reason(session, story.digest(session))

    assert reason(Story()) == "no user prompt and no tool call"
    assert reason(Story().user("/usage")) == "only slash commands"
    command = Story().add("injected", "/clear", label="command", origin="harness")
    assert reason(command) == "only slash commands"
    assert reason(Story().user("hi").says("Hello!")) == "nothing was asked for"
    assert reason(Story().user("fix the build")) is None
    assert reason(Story().shell("ls")) is None
    internal = Session(1, "codex", "x", source_kind="internal")
    assert reason(Story().user("extract memories"), internal) == "internal session of the agent"


@settings(max_examples=60)
@given(_events(), _events())
def test_merging_adds_up_for_any_two_parts(
    first: list[SessionEvent], later: list[SessionEvent]
) -> None:
    old, new = build_digest(SESSION, first), build_digest(SESSION, later, continued=True)
    both = merge_digests(old, new)
    assert both.events == len(first) + len(later)
    assert both.turns == old.turns + new.turns
    assert sum(both.tools.values()) == sum(old.tools.values()) + sum(new.tools.values())
    assert both.outcome in OUTCOMES
    assert not is_poorer(both, old)


def test_a_title_that_was_cut_ends_in_an_ellipsis(space: Workspace) -> None:
    session = next(iter(space.sessions().values()))
    label = ("word " * LABEL_CHARS)[: LABEL_CHARS - 2] + "wo"
    cut = replace(session, title=None, metadata={"operational_label": label})
    assert title_of(cut).endswith("word…")
