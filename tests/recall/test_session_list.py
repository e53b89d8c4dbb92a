"""mem_session_list and where answers say they come from."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import DAY, HOUR, ROOT, START, Memory, plain

from session_memory.core.project.identity import Resolution
from session_memory.errors import NotFound
from session_memory.recall.context_pack import context_pack
from session_memory.recall.requests import (
    PackRequest,
    ScopeRequest,
    SessionListRequest,
)
from session_memory.recall.scope_guard import scope_guard
from session_memory.recall.session_list import session_list


@pytest.mark.rows("SES-01")
def test_sessions_come_as_items_and_their_count_latest_turn_first(memory: Memory) -> None:
    old = memory.session("old", ("user_request", "Fix the cart"))
    new = memory.session("new", ("user_request", "Fix the basket"), at=HOUR)
    answer = plain(session_list(memory.context, SessionListRequest("shop")))
    assert [item["session_id"] for item in answer["items"]] == [new, old]
    assert answer["count"] == len(answer["items"]) == 2
    first = answer["items"][0]
    assert first["display_label"] == "shop · Fix the basket"
    assert first["label_source"] == "first_input"
    assert (first["turn_count"], first["observation_count"]) == (1, 1)
    assert "cross_project_capture_warning" not in first


@pytest.mark.rows("SES-02")
def test_a_query_and_a_hint_match_each_field_alone_and_both_together(memory: Memory) -> None:
    memory.session("native-77", ("user_request", "Paint the Cellar door"), cwd=f"{ROOT}/payments")
    memory.session("other", ("user_request", "Unrelated"), cwd=f"{ROOT}/billing")

    def found(**asked: str) -> list[str]:
        answer = session_list(memory.context, SessionListRequest("shop", **asked))
        return [item.external_session_id for item in answer.items]

    for query in ("CELLAR", "payments", f"{ROOT}/pay", "native-77", "payments · paint"):
        assert found(query=query) == ["native-77"], query
        assert found(sub_scope_hint=query) == ["native-77"], query
    assert found(query="cellar", sub_scope_hint="PAYMENTS") == ["native-77"]
    assert found(query="cellar", sub_scope_hint="billing") == []


@pytest.mark.rows("SES-02")
def test_a_query_finds_words_of_the_first_request_beyond_the_label(memory: Memory) -> None:
    memory.session("one", ("user_request", "word " * 30 + "needleword"))
    answer = session_list(memory.context, SessionListRequest("shop", query="needleword"))
    assert answer.count == 1


@pytest.mark.rows("SES-05", "SES-06")
def test_the_limit_is_clamped_and_a_far_match_is_found(memory: Memory) -> None:
    for number in range(105):
        text = "the needle" if number == 40 else "hay"
        memory.session(f"s{number}", ("user_request", text), at=number * HOUR)
    everything = session_list(memory.context, SessionListRequest("shop", limit=999))
    assert everything.count == len(everything.items) == 100
    assert session_list(memory.context, SessionListRequest("shop")).count == 20
    assert session_list(memory.context, SessionListRequest("shop", limit=0)).count == 1
    hit = session_list(memory.context, SessionListRequest("shop", limit=5, query="needle"))
    assert [item.external_session_id for item in hit.items] == ["s40"]  # the 65th by time
    bare = session_list(memory.context, SessionListRequest("shop", limit=100, query="/work/shop"))
    assert bare.count == 100


@pytest.mark.rows("SES-05")
def test_a_session_that_said_nothing_is_listed(memory: Memory) -> None:
    memory.session("silent")
    (item,) = session_list(memory.context, SessionListRequest("shop")).items
    assert (item.observation_count, item.label_source, item.label_quality) == (0, "fallback", "low")
    assert item.display_label == "shop"


@pytest.mark.rows("SES-07", "PCK-12")
def test_a_recent_prompt_of_a_program_is_captured_but_not_operational(memory: Memory) -> None:
    one = memory.session("one", ("user_request", "Fix the cart"))
    memory.session("title", at=HOUR, low_value="internal_title_generation_prompt")
    memory.ended(one, 0)
    memory.now = START + 2 * HOUR
    stats = plain(context_pack(memory.context, PackRequest("shop")))["stats"]
    assert stats["last_captured_turn_at"] == "2026-03-02T10:00:00.001Z"
    assert stats["last_operational_capture_at"] == "2026-03-02T09:00:00.000Z"
    assert stats["memory_age_seconds"] == 3599
    assert stats["operational_memory_age_seconds"] == 7200
    assert stats["memory_freshness"] == "persisted"


@pytest.mark.rows("SES-08")
def test_no_answer_claims_to_know_the_turn_that_runs_now(memory: Memory) -> None:
    session = memory.session("one", ("user_request", "Fix the cart"))
    for scope in (None, session):
        pack = plain(context_pack(memory.context, PackRequest("shop", scope)))
        assert pack["stats"]["live_turn_awareness"] is False
        assert "Persisted memory only" in pack["text"]
        guard = plain(scope_guard(memory.context, ScopeRequest("shop", scope)))
        assert guard["live_turn_awareness"] is False
        assert guard["memory_freshness"] == "persisted"


@pytest.mark.rows("PCK-12")
def test_an_empty_project_has_unknown_freshness(memory: Memory) -> None:
    memory.subagent(memory.session("only a sub-agent"))
    stats = plain(context_pack(memory.context, PackRequest("shop")))["stats"]
    assert stats["memory_freshness"] == "unknown"
    assert stats["memory_age_seconds"] is None


@pytest.mark.rows("IDN-11")
def test_the_version_of_the_agent_is_known_from_the_session_or_unknown(memory: Memory) -> None:
    known = memory.session("known", ("decision", "Use slate tiles"))
    memory.session("unknown", ("decision", "Use green tiles"), at=HOUR)
    memory.version(known, "2.1.0")
    listed = plain(session_list(memory.context, SessionListRequest("shop")))["items"]
    packed = plain(context_pack(memory.context, PackRequest("shop")))["stats"]["source_sessions"]
    for found in (listed, packed):
        assert len(found) == 2
        by_name = {item["external_session_id"]: item for item in found}
        assert by_name["known"]["capture_version_status"] == "known_session_metadata"
        assert by_name["known"]["capture_version_scope"] == "session"
        assert by_name["known"]["producer_version"] == "2.1.0"
        assert by_name["unknown"]["capture_version_status"] == "unknown"
        assert by_name["unknown"]["capture_version_scope"] == "none"
        assert not any(item["capture_version_inferred"] for item in found)


@pytest.mark.rows("IDN-12")
def test_what_was_captured_elsewhere_is_left_out_but_reachable_by_session(memory: Memory) -> None:
    memory.session("inside", ("pending_item", "mend the inside wall"))
    named = Resolution(key="shop", root=ROOT, source="payload", confidence="high")
    elsewhere = memory.session(
        "outside", ("pending_item", "mend the outside wall"), cwd="/other", project=named, at=DAY
    )
    whole = plain(context_pack(memory.context, PackRequest("shop")))
    assert "inside wall" in whole["text"]
    assert "outside wall" not in str(whole)
    assert whole["stats"]["source_session_count"] == 1
    one = plain(context_pack(memory.context, PackRequest("shop", elsewhere)))
    assert "outside wall" in one["text"]
    items = session_list(memory.context, SessionListRequest("shop")).items
    flagged = {plain(item)["external_session_id"]: plain(item) for item in items}
    assert "cross_project_capture_warning" in flagged["outside"]
    assert flagged["outside"]["project_root_match"] is False
    assert "cross_project_capture_warning" not in flagged["inside"]


@pytest.mark.rows("IDN-12")
def test_a_session_resolved_by_a_mentioned_path_is_part_of_its_project(memory: Memory) -> None:
    mention = Resolution(
        key="shop", root=ROOT, source="mentioned_path:AGENTS.md", confidence="high"
    )
    memory.session("broad", ("pending_item", "mend it"), cwd="/work", project=mention)
    assert "mend it" in plain(context_pack(memory.context, PackRequest("shop")))["text"]


def test_an_unknown_project_is_an_error_that_names_near_ones(memory: Memory) -> None:
    memory.session("one")
    with pytest.raises(NotFound, match="Project not found") as caught:
        session_list(memory.context, SessionListRequest("shopp"))
    assert caught.value.hint is not None
    assert "shop" in caught.value.hint


def test_hostile_words_cannot_drive_a_terminal_from_a_list(memory: Memory) -> None:
    memory.session("one", ("user_request", "red \x1b[31mline\u202e over"))
    (item,) = session_list(memory.context, SessionListRequest("shop")).items
    assert "\x1b" not in str(plain(item))
    assert "\u202e" not in str(plain(item))
