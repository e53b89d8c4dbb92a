"""Lines of MEMORY.md and cures among the results, each by a score of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.recall.store_builder import ROOT, SHOP, Memory
from tests.store.test_search_rank import said

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.event_ids import event_id
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.memory.user_part import page_with_user_part
from session_memory.recall.context import RecallContext
from session_memory.recall.memory_lines import lines_of, named_line
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import FoundItem, search
from session_memory.store.search_rank import share_by_session
from session_memory.testing.workspace import Workspace


def remembered(memory: Memory, generated: str, own: str = "") -> RecallContext:
    """The context of a store whose project has this MEMORY.md."""
    folder = memory_root(memory.directory, ROOT)
    folder.mkdir(parents=True)
    page = page_with_user_part(own, f"# Memory\n\nMade of 2 heron sessions.\n\n{generated}")
    (folder / MEMORY).write_text(page, encoding="utf-8")
    return RecallContext(memory.store, memory.context.clock, data=memory.directory)


def found(context: RecallContext, query: str, **given: str | int) -> list[FoundItem]:
    return list(search(context, SearchRequest(query, **given)).items)  # pyright: ignore[reportArgumentType]


@pytest.mark.rows("SRC-17")
def test_a_line_of_memory_that_holds_more_of_the_words_stands_first(memory: Memory) -> None:
    session = said(memory, "a", "the heron is a bird", "the cache is a store")
    made = f"- Clear the heron cache before a release (trace 1a2b) [e:{event_id(session, 1)}]\n"
    context = remembered(memory, made)
    first, *others = found(context, "heron cache release")
    assert (first.memory_kind, first.summary) == (
        "memory",
        "Clear the heron cache before a release",
    )
    assert (first.session_id, first.turn_id) == (session, event_id(session, 1))
    assert first.project_key == "shop"
    assert {item.memory_kind for item in others} == {"event"}
    assert [item.rank for item in (first, *others)] == list(range(1, len(others) + 2))


@pytest.mark.rows("SRC-17")
def test_what_the_user_wrote_is_found_and_names_itself(memory: Memory) -> None:
    said(memory, "a", "nothing about birds")
    context = remembered(memory, "", "\n- pelicans are fed at noon\n")
    (item,) = found(context, "when are pelicans fed", project_key="shop")
    assert (item.session_id, item.turn_id, item.project_key) == (None, None, "shop")
    line = named_line(memory.directory, item.id)
    assert line is not None and line.text == "pelicans are fed at noon"
    assert named_line(memory.directory, "m" + "0" * 12) is None


@pytest.mark.rows("SRC-17")
def test_lines_of_memory_keep_to_their_project_and_fit_no_other_filter(memory: Memory) -> None:
    session = said(memory, "a", "nothing about birds")
    other = replace(SHOP, key="other", root="/work/other")
    memory.session("elsewhere", ("decision", "Keep the tiles"), cwd="/work/other", project=other)
    context = remembered(memory, "- pelicans are fed at noon\n")
    assert len(found(context, "pelicans")) == 1
    assert found(context, "pelicans", project_key="other") == []
    assert found(context, "pelicans", session_id=session) == []
    assert found(context, "pelicans", since=1) == []


@pytest.mark.rows("SRC-17")
def test_two_lines_at_most_and_no_line_about_files_or_sessions(memory: Memory) -> None:
    said(memory, "a", "nothing about birds")
    lines = "".join(f"- pelican number {n}\n" for n in range(5))
    context = remembered(memory, f"{lines}\n## Skills\n\n- [pelican](skills/pelican)\n")
    assert len(list(lines_of(memory.directory))) == 5
    assert [item.memory_kind for item in found(context, "pelican")] == ["memory"] * 2
    (memory_root(memory.directory, ROOT) / MEMORY).unlink()
    assert found(context, "pelican") == []


@pytest.mark.rows("SRC-15")
@pytest.mark.parametrize("query", ["unrecognized subcommand bun", "bun run pelican"])
def test_a_cure_is_found_by_its_error_and_by_what_helped(tmp_path: Path, query: str) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("Run all of them please")
    log.run("rtk bun run pelican", "error: unrecognized subcommand 'bun'", exit_code=2)
    log.run("bun run pelican", "3 pass\n0 fail")
    log.say("All of them pass.")
    space.write(log)
    space.sweep()
    with space.store() as store:
        items = search(RecallContext(store, lambda: space.now), SearchRequest(query)).items
    cures = [item for item in items if item.memory_kind == "cure"]
    (cure,) = cures
    assert "unrecognized subcommand" in cure.summary
    assert cure.cure == "bun run pelican"
    assert cure.turn_id is not None


def test_a_session_tells_more_where_more_of_the_rare_words_occur() -> None:
    one, two, three = (event_id(session, 1) for session in (1, 2, 3))
    told = share_by_session({"heron": {one}, "cache": {one, two, three}})
    assert told[1] == 1.0
    assert told[2] == told[3] < 1.0
    assert share_by_session({}) == {}
