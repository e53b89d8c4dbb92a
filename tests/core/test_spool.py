"""What the worker makes of the spool: each record takes effect, none too often, none is lost."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.spool import (
    KINDS,
    MINUTE_MS,
    REPEAT_WINDOW_MS,
    TURN_WINDOW_MS,
    SpoolPlan,
    SpoolRecord,
    Unreadable,
    decode,
    plan_imports,
)

NOW = 1_794_771_675_000


def record(event: str = "stop", at: int = NOW, **more: object) -> SpoolRecord:
    base = {"id": f"{at:020d}-{event}", "at": at, "flavor": "codex", "event": event}
    return msgspec.convert({**base, "session": "s1", **more}, SpoolRecord)


def serve(plan: SpoolPlan, now: int) -> dict[str, int]:
    """What a worker remembers after importing all that is due."""
    return {key: now for request in plan.due for key in (request.key, *request.repeat_keys)}


@pytest.mark.rows("HOK-09")
def test_of_two_stops_in_a_minute_one_is_imported_now_and_the_other_at_the_end() -> None:
    first, second = record(turn="t1"), record(at=NOW + MINUTE_MS, turn="t2")
    plan = plan_imports([first], {}, NOW)
    assert [request.record_ids for request in plan.due] == [(first.id,)]
    served = serve(plan, NOW)
    plan = plan_imports([second], served, NOW + MINUTE_MS)
    assert plan.due == () and [r.record_ids for r in plan.waiting] == [(second.id,)]
    assert plan.waiting[0].due_at == NOW + TURN_WINDOW_MS
    plan = plan_imports([second], served, NOW + TURN_WINDOW_MS)
    assert [request.record_ids for request in plan.due] == [(second.id,)]


@pytest.mark.rows("HOK-09")
def test_a_turn_told_by_hook_and_by_notify_is_one_import() -> None:
    hook = record(turn="t1", transcript="/r/rollout-1.jsonl")
    notify = record("agent_turn_complete", NOW + 150, turn="t1")
    plan = plan_imports([hook, notify], {}, NOW + 200)
    (request,) = plan.due
    assert request.record_ids == (hook.id, notify.id)
    assert request.files == ("/r/rollout-1.jsonl",)
    late = plan_imports([notify], serve(plan_imports([hook], {}, NOW), NOW), NOW + 200)
    assert late.due == () and late.waiting[0].due_at == NOW + REPEAT_WINDOW_MS
    assert late.waiting[0].record_ids == (notify.id,)


def test_the_end_of_a_session_does_not_wait_and_takes_the_waiting_along() -> None:
    served = {"codex:s1": NOW}
    stop = record(at=NOW + MINUTE_MS, turn="t2")
    end = record("session_end", NOW + 2 * MINUTE_MS)
    plan = plan_imports([stop, end], served, NOW + 2 * MINUTE_MS)
    (request,) = plan.due
    assert request.ended and request.record_ids == (stop.id, end.id) and plan.waiting == ()


def test_the_newest_transcript_named_comes_first() -> None:
    old = record(turn="t1", transcript="/old.jsonl", cwd="/a")
    new = record("subagent_stop", NOW + 1, transcript="/new.jsonl", agent_transcript="/child.jsonl")
    (request,) = plan_imports([new, old], {}, NOW + 1).due
    assert request.files == ("/new.jsonl", "/child.jsonl", "/old.jsonl")
    assert (request.cwd, request.session, request.flavor) == ("/a", "s1", "codex")


def test_sessions_of_two_flavours_do_not_mix() -> None:
    plan = plan_imports([record(), record(at=NOW + 1, flavor="claude")], {}, NOW + 1)
    assert sorted(request.key for request in plan.due) == ["claude:s1", "codex:s1"]


def test_a_session_known_by_its_file_alone_is_imported() -> None:
    (request,) = plan_imports([record(session=None, transcript="/x.jsonl")], {}, NOW).due
    assert request.session is None and request.key == "codex:/x.jsonl"


@pytest.mark.parametrize(
    ("event", "more"),
    [
        ("pre_compress", {"trigger": "auto"}),  # Gemini: before every request
        ("user_prompt_submit", {}),  # Qwen: likewise
        ("pre_tool_use", {}),
        ("session_start", {"given": ["p1"], "held": []}),
        ("never_heard_of", {}),
    ],
)
def test_what_ends_nothing_is_noted_and_imports_nothing(
    event: str, more: dict[str, object]
) -> None:
    note = record(event, flavor="gemini", **more)
    plan = plan_imports([note], {}, NOW)
    assert (plan.due, plan.waiting, plan.notes) == ((), (), (note,))


def test_a_compaction_asked_for_is_urgent() -> None:
    served = {"codex:s1": NOW}
    assert plan_imports([record("pre_compact")], served, NOW).due
    assert plan_imports([record("pre_compress", trigger="manual")], served, NOW).due


def test_a_clock_set_back_makes_nothing_wait_for_ever() -> None:
    served = {"codex:s1": NOW + 10**9, record().repeat_key: NOW + 10**9}
    assert plan_imports([record(at=NOW + 10**9)], served, NOW).due


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b'{"v":1,"id":"x"', "damaged"),
        (b"[]", "damaged"),
        (b"\xff\xfe", "damaged"),
        (b'{"v":1,"id":"x","at":1,"flavor":"claude","event":"stop"}', "damaged"),
        (b'{"v":2,"what":"is this"}', "newer"),
    ],
)
def test_a_file_that_is_no_record_is_told_apart(data: bytes, reason: str) -> None:
    assert decode(data) == Unreadable(reason)  # pyright: ignore


def test_unknown_fields_of_a_record_do_no_harm() -> None:
    found = decode(json.dumps({**msgspec.to_builtins(record()), "later": [1]}).encode())
    assert found == record()


ids = st.integers(0, 30)
made = st.builds(
    lambda n, event, session, turn: record(
        event, NOW + n * MINUTE_MS, session=session, turn=turn, id=f"{n:020d}-{event}-{session}"
    ),
    ids,
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(["s1", "s2"]),
    st.sampled_from(["t1", "t2", None]),
)


@settings(max_examples=100)
@given(st.lists(made, max_size=12))
def test_every_record_is_served_once_in_any_order_and_within_an_hour(
    records: list[SpoolRecord],
) -> None:
    pending = {item.id: item for item in records}
    served: dict[str, int] = {}
    imported: list[str] = []
    now = NOW
    for _ in range(200):
        arrived = [item for item in pending.values() if item.at <= now]
        plan = plan_imports(arrived, served, now)
        assert plan == plan_imports([*arrived[::-1], *arrived], served, now)
        served |= serve(plan, now)
        done = [name for request in plan.due for name in request.record_ids]
        done += [note.id for note in plan.notes]
        for name in done:
            assert now - pending.pop(name).at <= REPEAT_WINDOW_MS
        imported += done
        now += MINUTE_MS
    assert pending == {} and len(imported) == len(set(imported)) == len({r.id for r in records})
