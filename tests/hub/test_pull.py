"""A laptop that pulls gets everything once, however pages are cut and whoever writes meanwhile."""

from __future__ import annotations

import psycopg
import pytest
from tests.hub.content import owner_of
from tests.hub.team import Device, Team

from session_memory.core.sharing import wire


def all_pages(device: Device, limit: int, after: str = "") -> list[wire.Pulled]:
    pages = [device.pull(after, limit=limit)]
    while pages[-1].more:
        pages.append(device.pull(pages[-1].cursor, limit=limit))
    return pages


@pytest.mark.rows("HUB-07")
@pytest.mark.parametrize("limit", [1, 3, 500])
def test_pages_of_any_size_give_everything_once(team: Team, limit: int) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    for n in range(0, 8, 2):
        ann.push(
            ann.item("rule", str(n), f"rule {n}"), ann.item("rule", str(n + 1), f"rule {n + 1}")
        )
    ann.forget(wire.Tombstone("item", ann.item("rule", "3").key))
    pages = all_pages(bob, limit)
    texts = [each.item.text for page in pages for each in page.items]
    assert sorted(texts) == [f"rule {n}" for n in range(8) if n != 3]
    assert sum(len(page.deleted) for page in pages) == 1
    assert bob.pull(pages[-1].cursor).items == ()


@pytest.mark.rows("HUB-07")
def test_what_commits_late_is_not_skipped(team: Team, database: str) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    ann.push(ann.item("rule", "1", "first"))
    with psycopg.connect(owner_of(database)) as slow:
        # A transaction with a lower number than the next push, still open while that one commits.
        slow.execute("UPDATE hub.item SET changed = pg_current_xact_id()::text::bigint")
        ann.push(ann.item("rule", "2", "second"))
        early = bob.pull()
        assert [each.item.text for each in early.items] == ["first"]
        slow.commit()
    late = bob.pull(early.cursor)
    assert sorted(each.item.text for each in late.items) == ["first", "second"]


def test_own_items_and_texts_of_sessions_are_not_pulled(team: Team) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    ann.push(ann.item("rule", "r", "use uv"), ann.events("s", "hello"), ann.item("usage", "u"))
    assert ann.pull().items == ()
    assert [each.item.kind for each in bob.pull().items] == ["rule"]


def test_the_same_lesson_of_several_people_counts_people(team: Team) -> None:
    people = [team.device(name) for name in ("Ann", "Bob", "Cy")]
    for person in people:
        person.share()
        for n in range(3):
            person.push(person.item("cure", f"c{n}", "install libpq5", like="libpq"))
    pulled = people[0].pull().items
    assert {each.people for each in pulled} == {3}
    assert {hit.people for hit in people[0].search("libpq5")} == {3}


def test_a_cursor_of_another_hub_starts_anew_and_nonsense_is_refused(team: Team) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    ann.push(ann.item("rule", "r", "use uv"))
    page = bob.pull("another-epoch.5.1.7")
    assert page.restart and len(page.items) == 1
    assert bob.get("/v1/pull?project=github.com/acme/shop&after=x.y").code == "bad_request"
    assert bob.get("/v1/pull?project=github.com/acme/shop&limit=many").code == "bad_request"


def test_lists_of_sessions_are_paged_newest_first(team: Team) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    for n in range(5):
        body = wire.SessionBody("claude", title=f"session {n}")
        ann.push(ann.item("session", str(n), rank=n + 1, session=str(n), body=body))
    first = bob.get("/v1/sessions?limit=3").value(wire.SessionPage)
    rest = bob.get(f"/v1/sessions?limit=3&after={first.next}").value(wire.SessionPage)
    titles = [line.body.title for line in (*first.sessions, *rest.sessions)]
    assert titles == [f"session {n}" for n in (4, 3, 2, 1, 0)]
    assert rest.next is None
    ann.push(ann.item("usage", "u", body={"tokens": 7}, rank=9))
    assert len(bob.get("/v1/numbers?since=9&until=10").value(wire.Numbers).items) == 1
    assert bob.get("/v1/numbers?since=10").value(wire.Numbers).items == ()
