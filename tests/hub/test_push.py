"""What is pushed is there once, whoever sends it how often and in which order."""

from __future__ import annotations

from tests.hub.team import Team


def test_a_pushed_cure_is_found_by_another_member(team: Team) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share()
    pushed = ann.push(
        ann.item("cure", "c1", "psycopg import fails: install libpq5", session="s1", like="libpq"),
        ann.events("s1", "why does importing psycopg fail?", "libpq5 is missing"),
    )
    assert (pushed.taken, pushed.present, pushed.refused) == (2, 0, ())
    hits = bob.search("psycopg libpq5 missing")
    assert {hit.kind for hit in hits} >= {"cure"}
    assert hits[0].author == "Ann"
    assert any(
        hit.kind == "events" and "libpq5" in hit.text for hit in bob.search("missing libpq5")
    )
    (pulled,) = bob.pull().items
    assert pulled.item.text.startswith("psycopg import fails")
    assert bytes(pulled.item.body) == b'{"name":"c1"}'
