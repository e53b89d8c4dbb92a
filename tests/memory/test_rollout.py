"""What a model is shown of a session."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.workbench import Bench

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.schema import EventKind, SessionEvent
from session_memory.memory.rollout import (
    EVERYTHING,
    KINDS,
    Body,
    Filter,
    ItemKind,
    Line,
    array_of,
    filtered_items,
    lines_of,
)


def select_items(lines: Iterable[Line], rules: Filter = EVERYTHING) -> list[Body]:
    return list(filtered_items(lines, rules))


def serialise(items: Iterable[Body], enough: int | None = None) -> bytes:
    return array_of(items, enough).data


def item(kind: ItemKind, number: int = 0) -> Line:
    return Line("response_item", {"type": kind, "number": number}, kind)


COMPACTED = Line("compacted", {"message": "so far: all well", "event": 5})
MIXED = [
    Line("session_meta", {"id": "meta"}),
    Line("turn_context", {"cwd": "context"}),
    Line("event_msg", {"type": "token_count"}),
    *(item(kind) for kind in sorted(KINDS)),
    COMPACTED,
]


@pytest.mark.rows("EXT-12", "EXT-13")
def test_response_and_compacted_items_of_every_kind_are_shown_and_nothing_else() -> None:
    shown = select_items(MIXED)
    assert [one["type"] for one in shown] == [*sorted(KINDS), "message"]
    text = serialise(shown).decode()
    assert not any(word in text for word in ("meta", "turn_context", "token_count", '"cwd"'))


@pytest.mark.rows("EXT-14")
def test_a_compaction_is_what_the_assistant_said_and_goes_with_messages() -> None:
    (said,) = select_items([COMPACTED])
    assert (said["type"], said["role"], said["content"]) == (
        "message",
        "assistant",
        "so far: all well",
    )
    without = Filter(kinds=KINDS - {"message"})
    assert select_items([item("reasoning"), COMPACTED], without) == [item("reasoning").body]


@pytest.mark.rows("EXT-15")
def test_there_are_eleven_kinds_to_choose_from() -> None:
    assert sorted(KINDS) == sorted(
        (
            *("message", "reasoning", "local_shell_call", "function_call", "function_call_output"),
            *("custom_tool_call", "custom_tool_call_output", "web_search_call", "ghost_snapshot"),
            *("compaction", "other"),
        )
    )
    messages = Filter(kinds=frozenset(("message",)))
    assert len(select_items([item("message"), item("function_call")], messages)) == 1


@pytest.mark.rows("EXT-16")
def test_switches_and_the_number_of_items() -> None:
    both = [item("message"), COMPACTED]
    assert select_items(both, Filter(keep_compacted_items=False)) == [item("message").body]
    (kept,) = select_items(both, Filter(keep_response_items=False))
    assert kept["content"] == "so far: all well"
    ten = [item("message", number) for number in range(10)]
    assert len(select_items(ten, Filter(max_items=3))) == 3
    assert select_items(ten, Filter(max_items=0)) == []


@pytest.mark.rows("EXT-17")
@given(st.lists(st.text(), max_size=20))
def test_items_are_one_json_array(texts: list[str]) -> None:
    items = select_items([Line("response_item", {"text": text}, "message") for text in texts])
    decoded = json.loads(serialise(items))
    assert isinstance(decoded, list) and len(decoded) == len(texts)
    assert [one["text"] for one in decoded] == texts


def event(kind: EventKind, text: str, **more: object) -> SessionEvent:
    origin = "harness" if kind == "injected" else "agent"
    return SessionEvent(1, 0, kind, origin, text=text, id=7, **more)  # pyright: ignore


@pytest.mark.rows("EXT-15")
def test_events_of_any_flavour_become_items_of_those_kinds() -> None:
    events = [
        event("user_prompt", "fix it"),
        event("reasoning", "hm"),
        event("tool_call", "{}", tool="Bash", tool_class="shell", command="ls", call_id="a"),
        event("tool_result", "x", call_id="a", exit_code=1, is_error=True),
        event("tool_call", '{"file": 1}', tool="Read", tool_class="read", call_id="b"),
        event("tool_call", "*** Begin Patch", tool="apply_patch", tool_class="edit", call_id="c"),
        event("tool_result", "ok", call_id="c"),
        event("tool_call", "{}", tool="web_search", tool_class="web"),
        event("other", "", label="ghost_snapshot"),
        event("other", "?", label="new_thing"),
        event("compaction", ""),
        event("compaction", "the story so far: " + "we looked at the parser. " * 4),
    ]
    kinds = [line.kind for line in lines_of(events) if line.type == "response_item"]
    assert kinds == [
        *("message", "reasoning", "local_shell_call", "function_call_output", "function_call"),
        *("custom_tool_call", "custom_tool_call_output", "web_search_call", "ghost_snapshot"),
        *("other", "compaction"),
    ]
    assert [line.type for line in lines_of(events)][-1] == "compacted"


@pytest.mark.rows("EXT-13")
def test_instructions_of_the_harness_our_own_packs_and_copies_of_a_fork_are_not_shown() -> None:
    pack = "<session-memory-pack>\nold memory\n</session-memory-pack> and now?"
    events = [
        event("injected", "AGENTS.md says so", label="instructions"),
        event("system", "hook ran"),
        event("error", "overloaded"),
        event("user_prompt", pack),
        event("user_prompt", "told in the parent", inherited=True),
    ]
    shown = serialise(select_items(lines_of(events))).decode()
    assert "and now?" in shown
    for hidden in ("AGENTS.md", "hook ran", "overloaded", "old memory", "told in the parent"):
        assert hidden not in shown


@pytest.mark.rows("EXT-12")
def test_a_genuine_shape_comes_through_whole(bench: Bench) -> None:
    log = ClaudeLog(3)
    log.prompt("fix the parser")
    log.think("let me look")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.compact("the parser was at fault")
    log.say("done")
    bench.space.write(log)
    bench.swept()
    with bench.space.store() as store:
        events = list(store.events(bench.space.session(log.session_id).id, texts=True))
    items = select_items(lines_of(events))
    assert [one["type"] for one in items] == [
        *("message", "reasoning", "local_shell_call", "function_call_output"),
        *("compaction", "message", "message"),
    ]
    assert items[2]["input"] == "pytest -q" and items[3]["exit_code"] == 1
    assert "the parser was at fault" in str(items[5]["content"]) and items[5]["role"] == "assistant"


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(1, 200))
def test_a_bounded_array_keeps_both_ends_and_is_whole_where_it_fits(
    texts: list[str], enough: int
) -> None:
    items = select_items([Line("response_item", {"text": text}, "message") for text in texts])
    whole, held = serialise(items), serialise(items, enough)
    assert isinstance(json.loads(held), list)
    assert held[:enough] == whole[:enough] and held[-enough:] == whole[-enough:]
    if len(whole) <= enough:
        assert held == whole
    longest = max(map(len, map(serialise, ([item] for item in items))), default=2)
    assert len(held) <= 2 * enough + 2 * longest + 4 + len(items)
