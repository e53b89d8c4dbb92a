"""Words of items as postings: the newest with every word are found without reading all."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from tests.hub.content import counted, miscounted, misplaced
from tests.hub.team import PROJECT, Device, Team

from session_memory.core.event_ids import SEQ_BITS, SEQ_MASK
from session_memory.core.sharing import wire
from session_memory.hub import postings
from session_memory.hub.access import authenticate
from session_memory.hub.app import Hub
from session_memory.hub.database import Caller, as_caller, transaction
from session_memory.hub.postings import counts_of, field_of, newest_with_all
from session_memory.hub.words import EVENT, words_of


def as_device(hub: Hub, device: Device) -> Caller:
    """The device as the hub knows it within a request."""
    with transaction(hub.pool) as connection:
        return authenticate(connection, f"Bearer {device.token}", datetime.now(UTC))


@pytest.mark.rows("HUB-21")
def test_counts_of_words_follow_whatever_is_pushed_replaced_and_forgotten(
    team: Team, database: str
) -> None:
    ann, bob = team.device("Ann"), team.device("Bob")
    for person in (ann, bob):
        person.share()
        person.push(
            person.events("s", "use uv everywhere", "uv it is"), person.item("rule", "r", "uv")
        )
        person.push(person.events("t", "poetry was slow"))
    assert miscounted(database) == []
    ann.push(ann.events("s", "use poetry, not uv", rank=2), ann.item("rule", "r", "poetry", rank=2))
    assert miscounted(database) == []
    ann.forget(wire.Tombstone("session", ann.session_key("s")))
    assert miscounted(database) == []
    assert {hit.author for hit in ann.search("everywhere")} == {"Bob"}
    for person in (ann, bob):
        person.post("/v1/unshare", wire.Unshare(PROJECT)).value(wire.Erased)
    assert miscounted(database) == []
    assert [counted(database, table) for table in ("word", "word_order", "posting")] == [0, 0, 0]


@pytest.mark.rows("HUB-29")
def test_the_newest_with_every_word_are_those_that_reading_all_of_them_gives(
    team: Team, hub: Hub, database: str
) -> None:
    chance, ann = random.Random(4), team.device("Ann")
    ann.share()
    texts: dict[tuple[str, int], set[str]] = {}
    words = ["house", "garden", "river", "castle"]
    for number in range(6):
        said = [
            {word for place, word in enumerate(words) if chance.random() < 0.8 / 2**place}
            for _ in range(60)
        ]
        key = ann.session_key(f"session {number}")
        texts |= {(key, seq): each for seq, each in enumerate(said)}
        ann.push(ann.events(f"session {number}", *(" ".join(sorted(each)) for each in said)))
    assert misplaced(database) == []
    caller = as_device(hub, ann)
    for asked in (words[:2], words[1:], words):
        stems = [stem for word in asked for stem in words_of(word)]
        with as_caller(hub.pool, caller) as connection:
            projects = sorted(caller.projects.values())
            field = field_of(EVENT, projects, caller.member, wire.Search(" ".join(asked)))
            known = counts_of(connection, projects, stems)
            rising = dict(sorted(((s, known[EVENT, s]) for s in stems), key=lambda each: each[1]))
            keys = dict(connection.execute("SELECT number, key FROM hub.session").fetchall())
            for few in (0, 200):  # both ways of finding them
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(postings, "FEW_ITEMS", few)
                    patch.setattr(postings, "MANY_ITEMS", 10**6 if few else 8_000)
                    found = newest_with_all(connection, field, rising, 10**4)
                places = {
                    (keys[one.document >> SEQ_BITS], one.document & SEQ_MASK) for one in found
                }
                assert places == {place for place, said in texts.items() if set(asked) <= said}
