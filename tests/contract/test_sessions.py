"""What the store knows about sessions: their fields, names, projects and digests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from session_memory.core.facts import Fact
from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Cost, ErrorSeen
from session_memory.errors import Ambiguous, NotFound, UsageError
from session_memory.store.port import SessionQuery, Store
from session_memory.store.values import OldDigests, SessionFigures, Whereabouts
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    distilled,
    event,
    evict,
    lived,
    number,
)


def add(store: Store, *names: str, **fields: Any) -> list[int]:
    """Sessions of one event each."""
    said = [
        Said(name, f"/logs/{name}", (event(i, name, fingerprint=number(name)),), **fields)
        for i, name in enumerate(names)
    ]
    return capture(store, *said)


def found(key: str, root: str) -> Resolution:
    return Resolution(key, root, repo=root, source="cwd:.git", confidence="high")


def listed(store: Store, **query: Any) -> list[str]:
    return [session.external_id for session in store.sessions(SessionQuery(**query))]


@pytest.mark.parametrize("order", [1, -1])
def test_each_fact_has_its_rule_whatever_file_comes_first(store: Store, order: int) -> None:
    first = (
        Fact("cwd", "/work", 3),
        Fact("cwd", "/later", 9),
        Fact("branch", "main", 3),
        Fact("branch", "topic", 9),
        Fact("model", "b", 3),
        Fact("started_at", 50, 3),
        Fact("ended_at", 60, 3),
        Fact("title.ai", "a title", 3),
    )
    second = (
        Fact("cwd", "/elsewhere", 1),
        Fact("branch", "last", 1),
        Fact("model", "a", 1),
        Fact("started_at", 40, 1),
        Fact("ended_at", 55, 1),
        Fact("title.custom", "mine", 1),
        Fact("client_version", "2.0", 1),
    )
    files = [
        Said("one", "/logs/a", (event(0, "x"),), first),
        Said("one", "/logs/b", (event(1, "y"),), second),
    ]
    for said in files[::order]:
        capture(store, said)
    session = store.find_session("one")
    assert (session.cwd, session.branch, session.models) == ("/work", "last", ("a", "b"))
    assert (session.started_at, session.ended_at) == (40, 60)
    assert (session.title, session.client_version) == ("mine", "2.0")


def test_facts_of_a_source_that_is_read_again_are_stated_anew(store: Store) -> None:
    (session_id,) = capture(store, Said("one", "/a", (event(0),), (Fact("branch", "old", 5),)))
    with store.writing() as writer:
        source_id = writer.source("claude", "/a")
        session = writer.session("claude", "one", None)
        writer.restart_source(source_id)
        writer.add_facts(session, source_id, [Fact("branch", "new", 1)])
        writer.settle({session_id})
        assert writer.whereabouts(session_id) == Whereabouts()
    assert store.session(session_id).branch == "new"


def test_a_session_is_found_by_its_whole_id_and_by_its_number(store: Store) -> None:
    (one, _) = add(store, "abc", "abcdef")
    assert store.find_session("abc").id == one
    assert store.find_session(f" {one} ").id == one
    assert store.session(one).external_id == "abc"


def test_digits_alone_are_the_number_whatever_an_id_begins_with(store: Store) -> None:
    one, two = add(store, "2", "1" * 12)
    assert store.find_session("2").id == two
    assert store.find_session("1").id == one
    assert store.find_session("id:2").id == one
    assert store.find_session("id:1").id == two


@pytest.mark.parametrize("digits", ["01", "07", "777", "7" * 40])
def test_digits_that_are_no_number_of_ours_say_how_to_name_an_id(store: Store, digits: str) -> None:
    (one,) = add(store, f"{digits}-more")
    with pytest.raises(NotFound, match=f"number {digits}") as refused:
        store.find_session(digits)
    assert f"`id:{digits}`" in (refused.value.hint or "")
    assert store.find_session(f"id:{digits}").id == one


def test_a_session_is_found_by_a_prefix_that_fits_one(store: Store) -> None:
    one, two = add(store, "abc-1", "abd-2")
    assert store.find_session("abc").external_id == "abc-1"
    with pytest.raises(Ambiguous) as refused:
        store.find_session("ab")
    assert f"{one} claude abc-1; {two} claude abd-2" in refused.value.message


def test_a_session_is_distinguished_from_its_sub_agents(store: Store) -> None:
    add(store, *(f"abc1:agent-{i}" for i in range(8)), parent="abc1")
    add(store, "abc1")
    assert store.find_session("abc").external_id == "abc1"
    assert store.find_session("agent-3").external_id == "abc1:agent-3"
    assert store.find_session("agent-3").parent_external_id == "abc1"


def test_a_prefix_is_ambiguous_however_many_sub_agents_stand_between(store: Store) -> None:
    add(store, "abc1", *(f"abc1:agent-{i}" for i in range(8)), "abc2")
    with pytest.raises(Ambiguous, match="fits 2 sessions"):
        store.find_session("abc")


def test_a_session_does_not_stand_for_sub_agents_of_another(store: Store) -> None:
    add(store, "abc1", "abc2:agent-1")
    with pytest.raises(Ambiguous):
        store.find_session("abc")


def test_an_id_that_two_agents_use_is_ambiguous_and_the_agent_decides(store: Store) -> None:
    add(store, "same")
    capture(store, Said("same", "/logs/codex", (event(9),), flavor="codex"))
    with pytest.raises(Ambiguous, match="codex same"):
        store.find_session("same")
    assert store.own_session("same") is None
    found = store.own_session("same", "codex")
    assert found is not None and found.flavor == "codex"
    assert store.own_session("sam", "codex") is None


def test_only_so_many_sessions_are_listed(store: Store) -> None:
    add(store, *(f"ab-{i}" for i in range(9)))
    with pytest.raises(Ambiguous, match=r"fits 9 sessions: .*; and 3 more"):
        store.find_session("ab")


@pytest.mark.parametrize("reference", ["", " ", "id:"])
def test_an_empty_reference_names_no_session(store: Store, reference: str) -> None:
    add(store, "abc")
    with pytest.raises(UsageError, match="empty"):
        store.find_session(reference)


@pytest.mark.parametrize(
    "reference",
    ["nothing", "%", "_", "a%", "' OR 1", "999", "0", "²", "9" * 30, "id:1", "-1", "\udcff"],
)
def test_an_unknown_session_is_not_found(store: Store, reference: str) -> None:
    add(store, "abc")
    with pytest.raises(NotFound):
        store.find_session(reference)
    with pytest.raises(NotFound):
        store.session(12345)


def test_sessions_come_newest_first_and_can_be_narrowed(store: Store) -> None:
    capture(
        store,
        Said("old", "/a", (event(0),), lived(0, 10)),
        Said("new", "/b", (event(1),), lived(90, 100)),
        Said("undated", "/c", (event(2),)),
        Said("codex", "/d", (event(3),), lived(40, 50), flavor="codex"),
        Said("new:sub", "/e", (event(4),), lived(91, 95), parent="new"),
    )
    assert listed(store) == ["new", "new:sub", "codex", "old", "undated"]
    assert listed(store, limit=2) == ["new", "new:sub"]
    assert listed(store, limit=2, offset=1) == ["new:sub", "codex"]
    assert listed(store, flavor="codex") == ["codex"]
    assert listed(store, include_subagents=False) == ["new", "codex", "old", "undated"]
    assert listed(store, since=START + 50, until=START + 91) == ["new", "codex"]
    assert listed(store, flavor="grok") == []
    sub, main = store.find_session("new:sub"), store.find_session("new")
    assert sub.parent_id == main.id


def test_sessions_can_be_narrowed_by_what_became_of_them(store: Store) -> None:
    good, bad, _ = add(store, "good", "bad", "open")
    analyze(store, good)
    analyze(store, bad, distilled(outcome="fail"))
    evict(store, bad)
    assert store.outcomes() == {good: "success", bad: "fail"}
    assert store.outcomes({bad, 99}) == {bad: "fail"}
    assert store.digest_versions() == {good: 1, bad: 1}
    assert store.old_digests() == OldDigests(waiting=0, kept=1)
    assert store.digest_stamps() == {}  # neither has a project
    assert listed(store, outcome="fail") == ["bad"]
    assert listed(store, state="analyzed") == ["good"]
    assert listed(store, state="raw_evicted") == ["bad"]
    assert listed(store, state="captured") == ["open"]


def test_sessions_are_counted_by_the_day_they_began_on(store: Store) -> None:
    day = 86_400_000
    begun = {"one": 0, "two": 5, "later": 2 * day, "before": -9 * day}
    for place, (name, at) in enumerate(begun.items()):
        facts = lived(at, at + 10)
        capture(store, Said(name, f"/logs/{name}", (event(place, name),), facts))
    today = datetime.fromtimestamp(START / 1000, UTC).date()
    assert store.sessions_by_day(START - day) == {today: 2, today + timedelta(days=2): 1}


def test_the_figures_of_digests_are_listed_without_sub_agents(store: Store) -> None:
    said = [
        Said("main", "/logs/main", (event(0, "main"),), lived(0, 10)),
        Said("old", "/logs/old", (event(0, "old"),), lived(-90, -80)),
        Said("sub", "/logs/sub", (event(0, "sub"),), lived(0, 10), parent="main"),
    ]
    error = ErrorSeen("no module <NAME>", 3, "no module yaml")
    digest = distilled(first_at=START, calls_before_edit=4, errors=(error,), cost=Cost(usd=0.5))
    for number_of in capture(store, *said):
        analyze(store, number_of, digest)
    assert store.session_figures(START) == [SessionFigures("success", START, 4, 1, 0.5)]


def test_a_directory_resolved_once_keeps_its_project(store: Store) -> None:
    one, two = add(store, "one", "two")
    here = found("app", "/src/app")
    moved = found("big", "/src")
    with store.writing() as writer:
        writer.assign_project(one, "/src/app", here, "work")
        writer.assign_project(two, "/src/app", moved, "other")
    assert [(p.key, p.root, p.domain, p.aliases) for p in store.projects()] == [
        ("app", "/src/app", "work", ("/src/app",))
    ]
    session = store.session(two)
    assert (session.project_key, session.repo, session.domain) == ("app", "/src/app", "work")
    assert sorted(listed(store, project="app")) == ["one", "two"]
    assert listed(store, project="big") == []
    assert store.info().projects == 1


def test_two_projects_of_one_name_get_two_keys(store: Store) -> None:
    one, two = add(store, "one", "two")
    with store.writing() as writer:
        for session_id, root in ((one, "/a/app"), (two, "/b/app")):
            writer.assign_project(session_id, root, found("app", root), "x")
    keys = {project.root: project.key for project in store.projects()}
    assert keys["/a/app"] == "app"
    assert keys["/b/app"].startswith("app-")


def test_a_digest_makes_a_session_analyzed_until_it_grows(store: Store) -> None:
    (session_id,) = add(store, "one")
    assert store.unanalyzed() == [session_id]
    assert store.digest(session_id) is None
    digest = distilled("über 👋 \0 text", files={"a.py": 2}, errors=(), tools={"Bash": 3})
    analyze(store, session_id, digest)
    assert store.digest(session_id) == digest
    assert store.unanalyzed() == []
    assert store.session(session_id).state == "analyzed"
    capture(store, Said("one", "/logs/one", (event(50, "more"),)))
    assert store.unanalyzed() == [session_id]
    assert store.digest(session_id) == digest  # the stale one, until there is a new one
    newer = analyze(store, session_id, distilled("newer"))
    assert store.digest(session_id) == newer


def test_why_a_session_is_not_worth_mining_is_kept(store: Store) -> None:
    (session_id,) = add(store, "one")
    with store.writing() as writer:
        writer.save_digest(session_id, distilled(), "no prompt")
    assert store.session(session_id).low_value == "no prompt"


@pytest.mark.rows("DIG-02")
def test_a_session_without_a_digest_is_no_candidate_of_the_normal_passes(store: Store) -> None:
    fresh, done, grown = add(store, "fresh", "done", "grown")
    analyze(store, done)
    analyze(store, grown)
    capture(store, Said("grown", "/logs/grown", (event(50, "more"),)))
    assert {raw.session_id: raw.analyzed for raw in store.raw_sessions()} == {
        fresh: False,
        done: True,
        grown: False,
    }
    assert sorted(store.unanalyzed()) == sorted([fresh, grown])
    assert store.info().unanalyzed == 2


def test_the_oldest_analyzed_session_with_raw_text_is_known(store: Store) -> None:
    one, two = capture(
        store,
        Said("one", "/a", (event(0),), lived(0, 10)),
        Said("two", "/b", (event(1),), lived(20, 30)),
    )
    assert store.oldest_analyzed() is None
    analyze(store, two)
    assert store.oldest_analyzed() == START + 30
    analyze(store, one)
    assert store.oldest_analyzed() == START + 10
    evict(store, one)
    assert store.oldest_analyzed() == START + 30


def test_sessions_of_which_only_a_hash_of_their_root_is_known(store: Store) -> None:
    (one,) = add(store, "one", facts=(Fact("root_hash", "abc", 1),))
    with store.writing() as writer:
        assert writer.whereabouts(one).root_hash == "abc"
        writer.assign_project(one, "", Resolution(), "x")
    assert store.hashed_roots() == {one: "abc"}
    with store.writing() as writer:
        writer.assign_project(one, "/src/app", found("app", "/src/app"), "x")
    assert store.hashed_roots() == {}


def test_merged_projects_are_one_and_come_apart_again(store: Store) -> None:
    one, two = add(store, "one", "two")
    with store.writing() as writer:
        writer.assign_project(one, "/src/app", found("app", "/src/app"), "work")
        writer.assign_project(two, "/src/copy", found("copy", "/src/copy"), "play")
    app, copy = store.projects()
    with store.writing() as writer:
        assert writer.merge_project(copy.id, app.id) == 1
    (joined,) = store.projects()
    assert (joined.key, joined.merged, "/src/copy" in joined.aliases) == ("app", ("copy",), True)
    assert listed(store, project="app") == ["two", "one"]
    assert [project.key for project in store.found_projects()] == ["app", "copy"]
    assert store.projects_only_in({two}) == {copy.id}
    assert store.projects_only_in({one}) == set(), "the other one is in it too"
    with store.writing() as writer:
        assert writer.split_project(copy.id) == 1
    assert store.projects() == [app, copy]
    assert listed(store, project="copy") == ["two"]


def test_a_project_can_be_renamed_and_back(store: Store) -> None:
    (one,) = add(store, "one")
    with store.writing() as writer:
        writer.assign_project(one, "/src/app", found("app", "/src/app"), "work")
    (app,) = store.projects()
    with store.writing() as writer:
        writer.rename_project(app.id, "shop")
    (shop,) = store.projects()
    assert (shop.key, shop.found_key, shop.root) == ("shop", "app", "/src/app")
    with store.writing() as writer:
        writer.rename_project(app.id, "app")
    assert store.projects() == [app]
