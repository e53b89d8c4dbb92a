"""A search within a project goes from entry to entry of it, and finds what reading all would."""

from __future__ import annotations

import random

import pytest
from tests.recall.store_builder import Memory

from session_memory.core.project.identity import Resolution
from session_memory.store import open_store
from session_memory.store.port import EventDraft, Store, TextFilter
from session_memory.store.search_rank import Hit
from session_memory.store.sqlite import search_scope as index
from session_memory.testing.old_stores import back_to_version_21
from session_memory.testing.store_drafts import START, Said, capture, event, turn

WORDS = ["heron", "cache", "parser", "port", "index", "login", "split", "rename", "speed", "module"]
PROJECTS = ("shop", "mill", "barn")


def resolution(name: str) -> Resolution:
    return Resolution(key=name, root=f"/work/{name}", source="cwd:.git", confidence="high")


def assign(store: Store, session: int, project: str) -> None:
    with store.writing() as writer:
        writer.assign_project(session, f"/work/{project}/{session}", resolution(project), "general")


def said(chance: random.Random, name: str) -> Said:
    """A session of turns, failures and calls in words that many others use."""
    made = [turn, failure, call]
    drafts = tuple(
        made[chance.randrange(3)](pos, " ".join(chance.choices(WORDS, k=chance.randint(2, 9))))
        for pos in range(chance.randint(1, 8))
    )
    return Said(name, f"/logs/{name}", drafts)


def failure(pos: int, text: str) -> EventDraft:
    return event(pos, text, kind="tool_result", origin="tool", is_error=True, index_text=text)


def call(pos: int, text: str) -> EventDraft:
    return event(pos, text, kind="tool_call", origin="agent", tool="Bash", index_text=text)


def fill(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(40):
        (session,) = capture(store, said(chance, f"s{seed}-{number}"))
        assign(store, session, chance.choice(PROJECTS))
        if chance.random() < 0.5:  # goes on when its project is known
            more = said(chance, f"s{seed}-{number}")
            later = tuple(
                turn(20 + n, draft.index_text or "") for n, draft in enumerate(more.events)
            )
            capture(store, Said(f"s{seed}-{number}", f"/logs/s{seed}-{number}", later))


def answers(store: Store, seed: int) -> list[list[Hit]]:
    chance = random.Random(seed)
    projects = [project.id for project in store.projects()]
    questions = [" ".join(chance.sample(WORDS, chance.randint(1, 4))) for _ in range(6)]
    return [
        store.scopes.find(question, TextFilter(project_id=project, errors_only=only))
        for project in projects
        for question in questions
        for only in (False, True)
    ]


def plain(found: list[list[Hit]]) -> list[list[tuple[int | None, float]]]:
    return [[(hit.event, round(hit.score, 6)) for hit in hits] for hits in found]


@pytest.mark.rows("SRC-18")
@pytest.mark.parametrize("seed", range(6))
def test_a_project_is_searched_alike_by_its_places_its_runs_and_as_a_whole(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    fill(memory.store, seed)
    by_place = answers(memory.store, seed)
    monkeypatch.setattr(index, "MOST_PLACES", -1)
    monkeypatch.setattr(index, "FEW_RUNS", 1_000)
    by_run = answers(memory.store, seed)
    monkeypatch.setattr(index, "FEW_RUNS", -1)  # SQLite's own score, over every entry
    assert plain(by_place) == plain(by_run) == plain(answers(memory.store, seed))
    assert sum(map(len, by_place)) > 100


@pytest.mark.rows("SRC-18")
def test_a_session_is_found_in_the_project_it_came_to_and_no_longer_in_the_other(
    memory: Memory,
) -> None:
    store = memory.store
    for name in PROJECTS:
        (session,) = capture(store, Said(name, f"/logs/{name}", (turn(0, f"a heron in {name}"),)))
        assign(store, session, name)
    with store.writing() as writer:
        number = {project.key: project.id for project in store.projects()}
        writer.merge_project(number["mill"], number["shop"])
    found = {
        project.key: len(store.scopes.find("heron", TextFilter(project_id=project.id)))
        for project in store.projects()
    }
    assert (found["shop"], found["barn"]) == (2, 1)


@pytest.mark.rows("SRC-18")
def test_a_store_of_an_older_version_is_searched_alike_and_gets_its_places(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory.store, 1)
    expected = plain(answers(memory.store, 1))
    memory.close()
    back_to_version_21(memory.directory)
    for read_only in (True, False):
        with open_store(str(memory.directory), START, read_only=read_only) as store:
            assert plain(answers(store, 1)) == expected
    with open_store(str(memory.directory), START) as store:
        store.sweep_orphans()
        by_place = plain(answers(store, 1))
        monkeypatch.setattr(index, "MOST_PLACES", -1)
        assert plain(answers(store, 1)) == by_place
    assert memory.select("SELECT count(*) FROM session WHERE place IS NULL") == [(0,)]


@pytest.mark.rows("SRC-18")
def test_what_is_taken_out_in_the_transaction_that_brought_it_leaves_no_entry(
    memory: Memory,
) -> None:
    with memory.store.writing() as writer:
        source = writer.source("claude", "/logs/a")
        session = writer.session("claude", "a", None)
        writer.link(session, source)
        writer.append(session, source, [turn(0, "a heron"), turn(1, "a crane")])
        kept = (session.id << 24) + 1
        assert writer.retire(source, {kept}, delete=True) == 1
    assert [hit.event for hit in memory.store.scopes.find("heron crane")] == [kept]
    assert memory.store.fsck() == []
