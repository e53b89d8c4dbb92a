"""What is pushed is there once, whoever sends it how often and in which order."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hub.content import content, counted
from tests.hub.team import PROJECT, Device, Request, Team, send

from session_memory.core.sharing import hashes, wire


@pytest.mark.rows("HUB-01")
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
    events = [hit for hit in bob.search("missing libpq5") if hit.kind == "events"]
    assert any("libpq5" in hit.text for hit in events)
    (pulled,) = bob.pull().items
    assert pulled.item.text.startswith("psycopg import fails")
    assert bytes(pulled.item.body) == b'{"name":"c1"}'


@pytest.mark.rows("HUB-02")
def test_repeating_a_push_changes_nothing(team: Team, database: str) -> None:
    ann = team.device("Ann")
    ann.share()
    items = (ann.item("rule", "r", "use uv", session="s"), ann.events("s", "run the tests"))
    ann.push(*items)
    before = content(database)
    again = ann.post("/v1/push", ann.batch(*items), packed=True).value(wire.Pushed)
    assert (again.taken, again.present) == (0, 2)
    assert content(database) == before
    assert counted(database, "erasure") == 0


@pytest.mark.rows("HUB-02")
def test_any_order_of_pushes_from_two_devices_gives_the_same_content(
    team: Team, database: str
) -> None:
    ann = team.device("Ann")
    second = team.device("Ann", member=ann.joined.member)
    generation = ann.share().generation
    second.generation[PROJECT] = generation
    versions = [
        (ann.item("digest", "d", "first version", rank=1, session="s"),),
        (second.item("digest", "d", "second version", rank=2, session="s"),),
        (ann.item("digest", "d", "another second version", rank=2, session="s"),
         ann.events("s", "one", "two", rank=3)),
        (second.events("s", "one", rank=1),),
    ]  # fmt: skip
    gone = wire.Tombstone("item", ann.item("digest", "d").key, rank=1)
    seen = []
    for order in list(itertools.permutations(range(4)))[::3]:
        ann.post("/v1/unshare", wire.Unshare(PROJECT))
        ann.share()
        second.generation = dict(ann.generation)
        for number in order:
            sender = second if number in (1, 3) else ann
            sender.push(*versions[number], tombstones=(gone,) if number == 0 else ())
        found = content(database)
        seen.append((found["items"], found["postings"], found["runs"]))
    assert all(each == seen[0] for each in seen)
    assert len(seen[0][0]) == 2


LEVEL_KINDS = [("usage", "numbers"), ("rule", "lessons"), ("events", "sessions")]


@pytest.mark.rows("HUB-03")
def test_what_is_above_the_shared_level_is_refused(team: Team) -> None:
    for name, level in enumerate(wire.LEVELS):
        ann = team.device(f"Ann {name}")
        ann.share(level)
        sent = [ann.item("usage", "u"), ann.item("rule", "r", "use uv"), ann.events("s", "hello")]
        refused = {each.reason for each in ann.push(*sent).refused}
        allowed = wire.LEVELS.index(level) + 1
        assert ann.push(*sent).present == allowed
        assert refused == ({"above_level"} if allowed < 3 else set())


@pytest.mark.rows("HUB-03")
def test_a_lower_level_deletes_what_is_above_it_and_tells_others(team: Team, database: str) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    ann.share("sessions")
    ann.push(
        ann.item("usage", "u"), ann.item("rule", "r", "use uv"), ann.events("s", "hello world")
    )
    cursor = bob.pull().cursor
    ann.share("numbers")
    assert [row[2] for row in content(database)["items"]] == ["usage"]
    assert content(database)["postings"] == []
    page = bob.pull(cursor)
    assert [(each.target, each.member) for each in page.deleted] == [("member", ann.joined.member)]
    assert bob.search("hello use uv") == []


def test_a_wrong_item_is_refused_alone_and_the_others_are_taken(team: Team) -> None:
    ann = team.device("Ann")
    ann.share()
    good = ann.item("rule", "good", "use uv")
    replace = msgspec.structs.replace
    sent = [
        good,
        replace(ann.item("rule", "a", "x"), kind="hologram"),
        replace(ann.item("rule", "b", "x"), hash="0" * 32),
        replace(ann.item("rule", "c", "x"), key="../../etc/passwd"),
        replace(ann.item("rule", "d", "x"), rank=wire.FOREVER),
        ann.item("events", "e", session="s", body={"first": 0, "events": "none"}),
        ann.item("rule", "f", "x" * (wire.MAX_ITEM_BYTES + 1)),
        ann.item("rule", "nul", "a\0b", body={"text": "a\0b"}),
        replace(ann.item("rule", "g", "x"), at=2**70),
    ]
    pushed = ann.push(*sent)
    assert [each.reason for each in pushed.refused] == [
        "unknown_kind", "bad_item", "bad_item", "bad_item", "bad_item", "too_large", "bad_item",
    ]  # fmt: skip
    assert pushed.taken == 2
    bob = team.device("Bob")
    assert {each.item.text for each in bob.pull().items} == {"use uv", "a\0b"}


def test_a_project_that_is_not_shared_takes_nothing(team: Team) -> None:
    ann = team.device("Ann", projects=(PROJECT,))
    assert ann.post("/v1/push", ann.batch(ann.item("rule", "r", "x"))).code == "not_shared"
    ann.share()
    stale = ann.batch(ann.item("rule", "r", "x"))
    ann.post("/v1/unshare", wire.Unshare(PROJECT))
    ann.share()
    assert ann.post("/v1/push", stale).code == "not_shared"


@pytest.mark.rows("HUB-04")
def test_an_unchanged_push_is_one_small_request(team: Team) -> None:
    ann = team.device("Ann")
    ann.share()
    items = [ann.item("rule", str(n), f"rule {n}") for n in range(300)]
    manifest = hashes.manifest_digest(ann.key, [(i.key, i.hash, i.rank) for i in items])
    request = wire.Sync(PROJECT, ann.generation[PROJECT], manifest)
    assert not ann.post("/v1/sync", request).value(wire.SyncState).same
    asked = wire.Missing(PROJECT, tuple((i.key, i.hash) for i in items))
    assert len(ann.post("/v1/missing", asked).value(wire.Lacking).keys) == 300
    ann.push(*items[:200])
    assert len(ann.post("/v1/missing", asked).value(wire.Lacking).keys) == 100
    ann.push(*items[200:], manifest=manifest)
    answer = ann.post("/v1/sync", request)
    assert answer.value(wire.SyncState).same
    sent = len(msgspec.json.encode(request)) + len(answer.body)
    headers = sum(len(name) + len(value) + 4 for name, value in answer.headers.items())
    assert sent + headers + len(ann.token) + 200 < 1024
    assert ann.post("/v1/missing", asked).value(wire.Lacking).keys == ()


def test_texts_of_sessions_lie_encrypted_in_one_object_for_each_batch(
    team: Team, tmp_path: Path
) -> None:
    ann = team.device("Ann")
    ann.share()
    ann.push(*(ann.events(f"s{n}", "the secret plan of the squirrel") for n in range(5)))
    objects = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    keys = [path for path in (tmp_path / "vault" / "keys").rglob("*") if path.is_file()]
    assert (len(objects), len(keys)) == (1, 5)
    assert b"squirrel" not in objects[0].read_bytes()
    text = ann.get(f"/v1/session/{ann.session_key('s3')}").value(wire.SessionText)
    assert [event.text for event in text.events] == ["the secret plan of the squirrel"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=VALUES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_breaks_the_hub(team: Team, value: object) -> None:
    ann = _joined(team)
    for path in ("/v1/push", "/v1/forget", "/v1/prove", "/v1/search", "/v1/share", "/v1/sync"):
        encoded = msgspec.json.encode(value)
        status = send(ann.hub, Request("POST", path, ann.token, encoded)).status
        assert status in (200, 400, 403, 409, 429)


def _joined(team: Team) -> Device:
    known = getattr(team, "known", None)
    if known is None:
        known = team.device("Ann")
        team.known = known  # type: ignore[attr-defined]
    return known
