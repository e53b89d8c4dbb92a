"""Whatever bounds keep a search fast, it finds the same: filters, scopes and far-away hits."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recall.store_builder import SHOP, Memory

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store.sqlite import search as index
from session_memory.store.sqlite import search_scope
from session_memory.store.values import EventDraft
from session_memory.testing.store_drafts import START, Said, capture, event, lived, turn
from session_memory.testing.workspace import Workspace

DAY = 86_400_000


def failed(pos: int, text: str) -> EventDraft:
    return event(pos, text, kind="tool_result", origin="tool", is_error=True, index_text=text)


@pytest.mark.rows("SRC-16")
def test_words_side_by_side_stand_before_the_same_words_far_apart(memory: Memory) -> None:
    apart = "heron one two three four five six seven cache eight nine ten eleven twelve"
    close = "one two three heron cache four five six seven eight nine ten eleven twelve"
    for name, text in (("b", close), ("a", apart)):
        capture(memory.store, Said(name, f"/logs/{name}", (turn(0, text),)))
    first, second = search(memory.context, SearchRequest("heron cache")).items
    assert "heron cache" in first.summary
    assert second.score is not None and second.score < 1


@pytest.mark.rows("SRC-16")
def test_a_failure_far_behind_newer_rows_is_found(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MOST_SCORED", 20)
    capture(memory.store, Said("old", "/logs/old", (failed(0, "the heron broke"),)))
    newer = tuple(turn(number, f"a heron, number {number}") for number in range(60))
    capture(memory.store, Said("new", "/logs/new", newer))
    for query in ("heron", "heron the"):
        (item,) = search(memory.context, SearchRequest(query, errors_only=True)).items
        assert item.summary == "the heron broke"


@pytest.mark.rows("SRC-16")
@pytest.mark.parametrize("most_scored", [16, 4_000])
@pytest.mark.parametrize("few_runs", [-1, 12])
def test_a_time_is_kept_to_within_a_session_and_over_many(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, most_scored: int, few_runs: int
) -> None:
    monkeypatch.setattr(index, "MOST_SCORED", most_scored)
    monkeypatch.setattr(search_scope, "FEW_RUNS", few_runs)
    for number in range(12):  # every second one is of the day after
        at = (number % 2) * DAY
        texts = tuple(turn(pos, f"a heron, {number} {pos}", at=START + at) for pos in range(3))
        said = Said(f"s{number}", f"/logs/{number}", texts, lived(at, at))
        capture(memory.store, said)
    spread = tuple(turn(pos, f"heron of day {pos}", at=START + pos * DAY) for pos in range(3))
    capture(memory.store, Said("spread", "/logs/spread", spread, lived(0, 2 * DAY)))

    early = {f"a heron, {number} {pos}" for number in range(0, 12, 2) for pos in range(3)}
    late = {f"a heron, {number} {pos}" for number in range(1, 12, 2) for pos in range(3)}
    for expected, given in (
        (early | {"heron of day 0"}, {"until": START + DAY}),
        (late | {"heron of day 1", "heron of day 2"}, {"since": START + DAY}),
        (late | {"heron of day 1"}, {"since": START + DAY, "until": START + 2 * DAY}),
    ):
        items = search(memory.context, SearchRequest("heron", limit=50, **given)).items
        found = {item.summary for item in items}
        # Where a word is too common to be scored, the newest are enough.
        assert found == expected if most_scored > 100 else found and found <= expected


@pytest.mark.rows("SRC-16")
def test_a_scope_is_searched_alike_session_by_session_and_as_a_whole(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        texts = (turn(0, f"heron {number}"), failed(1, f"the heron number {number} broke"))
        (session,) = capture(memory.store, Said(f"s{number}", f"/logs/{number}", texts))
        if number % 2:
            with memory.store.writing() as writer:
                writer.assign_project(session, "/work/shop", SHOP, "general")
    memory.session("noted", ("decision", "Keep the heron"))
    answers: list[list[tuple[int, int | None]]] = []
    for few in (100, 0):
        monkeypatch.setattr(search_scope, "FEW_SESSIONS", few)
        monkeypatch.setattr(search_scope, "FEW_OF_ALL", 1_000)
        found = search(memory.context, SearchRequest("heron broke", "shop", limit=50)).items
        answers.append([(item.session_id, item.turn_id) for item in found])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 9


@pytest.mark.rows("SRC-16")
def test_a_tool_is_found_by_its_calls_and_their_results(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("What about the heron?")
    log.run("ls heron", "heron.txt")
    log.read("/work/heron.py", "a heron in a file")
    space.write(log)
    space.sweep()
    with space.store() as store:
        context = RecallContext(store, lambda: 0)
        found = search(context, SearchRequest("heron", tool="Bash")).items
    assert sorted((item.type, item.summary) for item in found) == [
        ("tool_call", "ls heron"),
        ("tool_result", "heron.txt"),
    ]
