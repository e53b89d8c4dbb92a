"""What a sweep asks of a store, and the parts of a transaction that it takes back."""

from __future__ import annotations

import pytest

from session_memory.core.facts import Fact
from session_memory.core.schema import Observation, Usage
from session_memory.errors import StoreLocked
from session_memory.store.port import ObservationQuery, SessionQuery, Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    add_draft,
    capture,
    cursor,
    distilled,
    event,
    evict,
    lived,
    response,
    texts,
)

ONE = Said("one", "/logs/one.jsonl", (event(1, "first"), event(2, "second")), lived(1, 2))
TWO = Said("two", "/logs/two.jsonl", (event(5, "third"),), lived(5, 5))


def test_stamps_name_every_source_of_a_flavour(store: Store) -> None:
    with store.writing() as writer:
        source_id = writer.source("claude", "/logs/one.jsonl")
        writer.save_cursor("/logs/one.jsonl", cursor(source_id, 7))
    assert store.stamps("claude") == {"/logs/one.jsonl": (cursor(source_id, 7).stamp, 1)}
    assert store.stamps("codex") == {}


def test_the_span_of_a_flavour(store: Store) -> None:
    assert store.span("claude") == (0, None)
    capture(store, TWO, ONE)
    assert store.span("claude") == (2, START + 1)


def test_heights_grow_with_a_session(store: Store) -> None:
    (one,) = capture(store, ONE)
    before = store.heights()[one]
    capture(store, Said("one", "/logs/one.jsonl", (*ONE.events, event(3, "more")), lived(1, 3)))
    assert store.heights()[one] == before + 1


def test_sessions_without_a_project_are_listed(store: Store) -> None:
    captured = capture(store, ONE)
    assert store.unplaced() == captured


def test_damaged_lines_and_missing_parts_are_remembered(store: Store) -> None:
    (one,) = capture(
        store, Said("one", "/logs/one.jsonl", ONE.events, (Fact("missing_part", "blob", 1),))
    )
    with store.writing() as writer:
        writer.quarantine(writer.source("claude", "/logs/one.jsonl"), [70, 30])
    assert store.quarantined() == [("/logs/one.jsonl", 30, START), ("/logs/one.jsonl", 70, START)]
    assert store.missing_parts() == [("claude", "one", "blob", "/logs/one.jsonl")]
    assert store.session(one).external_id == "one"


def test_a_log_that_gave_nothing_but_damage_is_listed(store: Store) -> None:
    capture(store, ONE)
    with store.writing() as writer:
        writer.quarantine(writer.source("claude", "/logs/one.jsonl"), [30])
        writer.quarantine(writer.source("claude", "/logs/noise.jsonl"), [0, 9])
        writer.source("claude", "/logs/empty.jsonl")
    assert store.unread_logs() == ["/logs/noise.jsonl"]


def test_text_lost_before_it_was_distilled_is_reported(store: Store) -> None:
    (one,) = capture(store, ONE)
    evict(store, one, data_loss=True)
    assert store.lost_events(one) == 2
    with store.writing() as writer:
        writer.leave_undistilled(one)
    (lost,) = store.undistilled()
    assert (lost.external_id, lost.lost_events, lost.paths) == ("one", 2, ("/logs/one.jsonl",))


def test_superseded_events_follow_the_live_ones(store: Store) -> None:
    (one,) = capture(store, ONE)
    first = next(iter(store.events(one)))
    with store.writing() as writer:
        source_id = writer.source("claude", ONE.path)
        writer.retire(source_id, {first.id}, delete=False)
        writer.settle({one})
    assert texts(store, one) == ["first"]
    assert [found.text for found in store.all_events(one)] == ["first", "second"]


def test_a_source_that_was_set_aside_keeps_its_events(store: Store) -> None:
    (one,) = capture(store, ONE)
    with store.writing() as writer:
        source_id = writer.source("claude", ONE.path)
        new = writer.set_aside(source_id)
        writer.settle({one})
    assert new != source_id
    assert (store.sole_sessions(source_id), store.sole_sessions(new)) == ({one}, set())
    assert sorted(store.stamps("claude")) == [ONE.path, f"{ONE.path} (cut, 1)"]
    assert [aside.source_id for aside in store.set_aside(ONE.path)] == [source_id]
    assert store.set_aside(TWO.path) == []
    assert texts(store, one) == ["first", "second"]


@pytest.mark.parametrize("kept", [0, 1])
def test_what_a_cut_log_still_holds_is_told_from_what_it_lost(store: Store, kept: int) -> None:
    (one,) = capture(store, ONE)
    first, second = (found.id for found in store.all_events(one))
    with store.writing() as writer:
        source_id = writer.source("claude", ONE.path)
        writer.set_aside(source_id)
        assert writer.holds_beginning(source_id, set())
        add_draft(writer, Said("one", ONE.path, (ONE.events[kept],), lived(1, 1)))
        seen = {(first, second)[kept]}
        assert writer.holds_beginning(source_id, seen) is (kept == 0)
        assert not writer.holds_beginning(source_id, seen | {second + 1})
        lost = writer.first_lost(source_id)
        assert lost is not None and lost.text == ("second", "first")[kept]
        writer.settle({one})
    with store.writing() as writer:
        assert writer.first_lost(writer.source("claude", "/logs/none.jsonl")) is None


def test_of_a_log_that_is_cut_twice_the_first_state_holds_what_both_had(store: Store) -> None:
    (one,) = capture(store, ONE)
    with store.writing() as writer:
        whole = writer.source("claude", ONE.path)
        cut = writer.set_aside(whole)
        writer.keep_aside(whole)
        add_draft(writer, Said("one", ONE.path, (ONE.events[0],), lived(1, 1)))
        writer.settle({one})
        assert store.sole_sessions(cut) == {one}
        writer.set_aside(cut)
        writer.keep_aside(cut)
        writer.settle({one})
    assert (store.sole_sessions(whole), store.sole_sessions(cut)) == ({one}, set())
    assert texts(store, one) == ["first", "second"]
    assert store.fsck() == []


def test_what_only_an_absorbed_source_held_is_superseded(store: Store) -> None:
    (one,) = capture(store, ONE)
    with store.writing() as writer:
        source_id = writer.source("claude", ONE.path)
        new = writer.set_aside(source_id)
        add_draft(writer, Said("one", ONE.path, (ONE.events[0],), lived(1, 1)))
        assert writer.absorb(source_id, new) == 1
        writer.settle({one})
    assert sorted(store.stamps("claude")) == [ONE.path]
    assert texts(store, one) == ["first"]
    assert [found.text for found in store.superseded_events(one)] == ["second"]
    assert store.fsck() == []


def test_observations_are_listed_by_session(store: Store) -> None:
    (one,) = capture(store, ONE)
    said = Observation("decision", "active", "use oak", 3, one, None, "agent", "h1", START)
    with store.writing() as writer:
        writer.save_observations({one: [said]})
    assert [found.text for found in store.observations(ObservationQuery(session=one))] == [
        "use oak"
    ]
    assert store.observations(ObservationQuery(session=one + 1)) == []


def test_a_part_of_a_transaction_is_taken_back_alone(store: Store) -> None:
    with store.writing() as writer:
        one = add_draft(writer, ONE)
        writer.settle({one})
        with pytest.raises(ValueError), writer.attempt():
            writer.save_digest(one, distilled(), None)
            raise ValueError
    assert store.digest(one) is None
    assert texts(store, one) == ["first", "second"]


def test_starting_over_takes_back_what_is_not_committed(store: Store) -> None:
    with store.writing() as writer:
        one = add_draft(writer, ONE)
        writer.settle({one})
        writer.commit()
        add_draft(writer, TWO)
        writer.start_over()
    assert [session.external_id for session in store.sessions(SessionQuery())] == ["one"]


def test_responses_without_a_price_are_priced_by_a_newer_table(store: Store) -> None:
    unpriced = response("a", 1_000_000, usd=None, price_table=None)
    capture(store, Said("one", ONE.path, ONE.events, lived(1, 2), (unpriced,)))

    def price(usage: Usage) -> float | None:
        return usage.output / 1_000_000

    with store.writing() as writer:
        assert store.price_table() is None
        assert writer.reprice(price, "newer") == 1
        assert writer.reprice(price, "newer") == 0
    assert store.price_table() == "newer"
    assert store.usage("model")[0].cost.usd == 1.0


def test_only_errors_about_the_whole_store_make_it_unusable(store: Store) -> None:
    assert store.is_unusable_after(StoreLocked("busy"))
    assert not store.is_unusable_after(ValueError("one odd event"))


def test_a_digest_of_this_version_is_not_outdated(store: Store) -> None:
    (one,) = capture(store, ONE)
    assert store.outdated(5) == [], "a session without a digest waits for its first"
    with store.writing() as writer:
        writer.save_digest(one, distilled(), None)
        writer.save_observations({one: []})
    assert store.outdated(5) == []
