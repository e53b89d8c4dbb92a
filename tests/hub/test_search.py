"""A hub ranks like a local store: the same words, the same weights, the same order."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hub.team import Device, Team

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.event_ids import event_id
from session_memory.core.sharing import wire
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.workspace import Workspace

TALK = (
    ("how do I renew the certificate of the shop", "run certbot renew, then reload nginx"),
    ("the max_retries of src/app/client.py is too low", "raised max_retries to five in client.py"),
    ("pytest fails with ModuleNotFoundError for psycopg", "it needs libpq5: apt install libpq5"),
    ("what did we decide about the cache", "we decided to cache tokens for an hour"),
    ("the cache of tokens is empty after a restart", "tokens are in Redis now, the cache is warm"),
    ("certificates again: the renewal failed", "the hook could not reload nginx as root"),
)  # fmt: skip
QUESTIONS = (
    "renew certificate", "certificate renewal failed nginx", "max_retries client.py", "psycopg",
    "ModuleNotFoundError", "cache tokens restart", "what did we decide", "libpq5 install",
    "certifcate",  # a slip
    "tok",  # a beginning
    "cache zebra",  # a word that nobody said
    "the", "nothing of this is there",
)  # fmt: skip


def push_store(device: Device, store: Store) -> dict[str, int]:
    """Push every event of a store; return its session numbers by the keys on the hub."""
    numbers: dict[str, int] = {}
    for session in sorted(store.sessions(SessionQuery(limit=100)), key=lambda one: one.id):
        events = tuple(
            wire.EventBody(event.seq, event.kind, event.origin, event.text or "")
            for event in store.events(session.id, texts=True)
        )
        name = str(session.id)
        body = wire.EventsBody(0, events)
        assert device.push(device.item("events", name, session=name, body=body)).taken == 1
        numbers[device.session_key(name)] = session.id
    return numbers


@pytest.mark.rows("HUB-19")
def test_the_order_of_results_is_that_of_a_local_store(team: Team, tmp_path: Path) -> None:
    space = Workspace(tmp_path / "laptop")
    for number in range(12):
        log = ClaudeLog(seed=number, cwd="/repo")
        for asked, answered in (TALK[number % 6], TALK[(number * 5 + 1) % 6]):
            log.prompt(f"{asked} ({number})")
            log.say(answered)
        space.write(log)
    space.sweep()
    ann = team.device("Ann")
    ann.share()
    with space.store() as store:
        numbers = push_store(ann, store)
        for question in QUESTIONS:
            local = [event for event, _ in store.search(question, 20)]
            hits = ann.search(question, kinds=("events",), limit=20)
            hub = [event_id(numbers[hit.session or ""], hit.seq or 0) for hit in hits]
            assert hub == local, question
            assert all(hit.text for hit in hits)


def test_filters_narrow_and_no_query_syntax_gets_through(team: Team) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    for person, project in ((ann, "one"), (bob, "two")):
        person.share(project=project)
        person.push(person.item("rule", "r", f"use uv, says {project}"), project=project)
        person.push(person.events("s", "use uv everywhere"), project=project)
    assert {hit.project for hit in ann.search("uv")} == {"one", "two"}
    assert {hit.project for hit in ann.search("uv", projects=("two",))} == {"two"}
    assert {hit.kind for hit in ann.search("uv", kinds=("rule",))} == {"rule"}
    assert {hit.author for hit in ann.search("uv", others_only=True)} == {"Bob"}
    assert ann.search("uv", since=99) == []
    assert len(ann.search("uv", limit=1)) == 1
    for odd in ("'; DROP TABLE hub.item; --", '"unclosed AND (', "%s %(x)s", "\0", "*", "", "💥"):
        ann.search(odd)
    assert ann.post("/v1/search", wire.Search("uv", projects=("three",))).status == 403
    assert ann.post("/v1/search", wire.Search("x" * 5_000)).code == "bad_request"


@pytest.mark.rows("HUB-22")
def test_times_narrow_to_single_events(team: Team) -> None:
    ann = team.device("Ann")
    ann.share()
    events = tuple(
        wire.EventBody(n, "user_prompt", "user", f"the cache is cold, says {n}", at=100 * n or None)
        for n in range(4)
    )
    ann.push(ann.item("events", "s:0", session="s", rank=7, body=wire.EventsBody(0, events)))

    def found(**times: int) -> set[int | None]:
        return {hit.seq for hit in ann.search("cache cold", **times)}

    assert found() == {0, 1, 2, 3}
    assert found(since=200) == {2, 3}
    assert found(until=200) == {0, 1}  # the first has no time: that of its item counts, 7
    assert found(since=101, until=300) == {2}
    assert found(since=301) == set()


@pytest.mark.rows("HUB-19")
def test_a_lesson_is_never_shown_in_place_of_an_event_with_the_same_number(team: Team) -> None:
    """Items and sessions are counted apart, so the first of each have the same number."""
    ann = team.device("Ann")
    ann.share()
    ann.push(ann.item("rule", "r", "prefer uv for Python"))
    ann.push(ann.events("s", "does uv work for Python"))
    found = {(hit.kind, hit.text) for hit in ann.search("uv python")}
    assert found == {("rule", "prefer uv for Python"), ("events", "does uv work for Python")}
