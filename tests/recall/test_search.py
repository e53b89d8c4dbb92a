"""Search: what a question finds, in which order, and what it never finds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.recall.store_builder import DAY, HOUR, SHOP, Memory, observed, plain

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import ObservationType
from session_memory.core.text.search_terms import terms_of
from session_memory.errors import NotFound, ScopeMismatch, UsageError
from session_memory.recall.event_search import snippet
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import recent, search
from session_memory.testing.store_drafts import START, Said, capture, event, turn

BLOG = Resolution(key="blog", root="/work/blog", source="cwd:.git", confidence="high")
HOSTILE = (
    "re-run", "don't", "key: value", "(open", "*", "AND", "a NOT", 'say "', "C:\\Users\\x",
    "NEAR(a b)", "^first", "{col}: x - y",
)  # fmt: skip


@pytest.mark.rows("SRC-01")
def test_a_search_in_a_session_finds_nothing_of_another(memory: Memory) -> None:
    first = memory.session("a", ("decision", "Use zstd for segments"))
    memory.session("b", ("decision", "Use porcelain output for parsing"))
    answer = plain(search(memory.context, SearchRequest("porcelain", "shop", first)))
    assert answer == {"items": [], "count": 0}
    assert search(memory.context, SearchRequest("porcelain", "shop")).count == 1


@pytest.mark.rows("SRC-02")
def test_an_item_says_where_it_comes_from(memory: Memory) -> None:
    session = memory.session("a", ("decision", "Use zstd for segments"), at=HOUR)
    (item,) = plain(search(memory.context, SearchRequest("zstd")))["items"]
    assert item["project_key"] == "shop" and item["session_id"] == session
    assert item["external_session_id"] == "a" and item["cwd"] == "/work/shop"
    assert item["retrieval_scope"] == "project" and item["memory_kind"] == "observation"
    assert item["project_id"] is not None and item["last_captured_turn_at"] is not None
    (scoped,) = plain(search(memory.context, SearchRequest("zstd", None, session)))["items"]
    assert scoped["retrieval_scope"] == "session" and scoped["session_filter_applied"] is True


@pytest.mark.rows("SRC-03", "SRC-04")
def test_repeats_are_one_item_that_names_them_all(memory: Memory) -> None:
    for number in range(20):
        memory.session(f"same{number}", ("decision", "Cache the parser"), at=number * HOUR)
    for number in range(4):
        memory.session(f"own{number}", ("decision", f"Cache level {number} in parser"), at=DAY)
    answer = search(memory.context, SearchRequest("cache parser", "shop", limit=5))
    assert answer.count == 5
    (same,) = [item for item in answer.items if item.summary == "Cache the parser"]
    assert same.duplicate_count == 20 and same.dedupe_applied is True
    assert same.duplicate_latest_updated_at == "2026-03-03T04:00:00.000Z"
    assert set(same.duplicate_external_session_ids or ()) == {f"same{n}" for n in range(20)}


@pytest.mark.rows("SRC-04")
def test_two_duplicates_are_both_named_and_the_newest_time_is_told(memory: Memory) -> None:
    memory.session("one", ("decision", "Pin the compiler"), at=HOUR)
    memory.session("two", ("decision", "Pin the  COMPILER"), at=2 * HOUR)
    (item,) = search(memory.context, SearchRequest("compiler", "shop")).items
    assert item.duplicate_count == 2
    assert set(item.duplicate_external_session_ids or ()) == {"one", "two"}
    assert str(item.duplicate_latest_captured_turn_at).startswith("2026-03-02T11:00:00")


@pytest.mark.rows("SRC-05")
@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_an_error(memory: Memory, query: str) -> None:
    memory.session("a", ("decision", "Use zstd, don't re-run (open) C:\\Users\\x key: value"))
    answer = search(memory.context, SearchRequest(query, "shop"))
    assert answer.count == len(answer.items)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=60))
def test_no_text_at_all_is_an_error(memory: Memory, query: str) -> None:
    if not memory.store.projects():
        memory.session("a", ("decision", "Use zstd for segments"))
    search(memory.context, SearchRequest(query, "shop"))


@pytest.mark.rows("SRC-06")
def test_a_blank_query_is_answered_with_what_is_newest(memory: Memory) -> None:
    memory.session("a", ("decision", "Old choice"), at=HOUR)
    memory.session("b", ("decision", "New choice"), at=2 * HOUR)
    blank = search(memory.context, SearchRequest("  ", "shop"))
    assert blank == recent(memory.context, SearchRequest(project_key="shop"))
    assert [item.summary for item in blank.items] == ["New choice", "Old choice"]


@pytest.mark.rows("SRC-07")
def test_what_is_open_comes_before_what_was_said(memory: Memory) -> None:
    order: list[ObservationType] = [
        "pending_item",
        "blocker",
        "project_dod",
        "objective",
        "decision",
        "completed_item",
        "completion_claim",
        "session_summary",
    ]
    for number, kind in enumerate(reversed(order)):
        memory.session(f"s{number}", (kind, "Migrate the billing tables"), at=number)
    answer = search(memory.context, SearchRequest("billing tables", "shop", limit=20))
    assert [item.type for item in answer.items] == order


def test_more_of_the_words_outweighs_the_type(memory: Memory) -> None:
    memory.session("a", ("pending_item", "Look at tables"), ("decision", "Split billing tables"))
    first, *_ = search(memory.context, SearchRequest("billing tables", "shop")).items
    assert first.type == "decision"


def test_other_forms_of_a_word_are_found(memory: Memory) -> None:
    memory.session("a", ("decision", "Caching responses was rejected"))
    assert search(memory.context, SearchRequest("cached response", "shop")).count == 1


@pytest.mark.rows("SRC-08")
def test_a_limit_out_of_range_is_brought_inside(memory: Memory) -> None:
    said = [("decision", f"Choice number {number} about parsing") for number in range(60)]
    memory.session("a", *said)  # pyright: ignore[reportArgumentType]
    assert search(memory.context, SearchRequest("choice", "shop")).count == 10
    assert search(memory.context, SearchRequest("choice", "shop", limit=0)).count == 1
    assert search(memory.context, SearchRequest("choice", "shop", limit=999)).count == 50


@pytest.mark.rows("SRC-09")
def test_recent_keeps_to_its_session_and_refuses_a_wrong_pair(memory: Memory) -> None:
    first = memory.session("a", ("decision", "Of the first"))
    memory.session("b", ("decision", "Of the second"))
    other = memory.session("c", ("decision", "Elsewhere"), cwd="/work/blog", project=BLOG)
    found = recent(memory.context, SearchRequest(project_key="shop", session_id=first))
    assert [item.summary for item in found.items] == ["Of the first"]
    with pytest.raises(ScopeMismatch):
        recent(memory.context, SearchRequest(project_key="shop", session_id=other))
    with pytest.raises(ScopeMismatch):
        search(memory.context, SearchRequest("elsewhere", "shop", other))
    with pytest.raises(NotFound):
        search(memory.context, SearchRequest("elsewhere", "shopp"))


def test_events_are_found_beside_observations_and_the_same_text_once(memory: Memory) -> None:
    said = Said("e", "/logs/e", tuple(turn(n, "the pelican build broke") for n in range(3)))
    (session,) = capture(memory.store, said)
    with memory.store.writing() as writer:
        writer.assign_project(session, "/work/shop", SHOP, "general")
    answer = search(memory.context, SearchRequest("pelican", "shop"))
    (hit,) = answer.items
    assert hit.memory_kind == "event" and hit.type == "user_prompt"
    assert hit.duplicate_count == 3 and "pelican" in hit.summary and answer.count == 1


def test_filters_leave_out_what_does_not_fit(memory: Memory) -> None:
    failed = event(
        1, "heron failed", kind="tool_result", origin="tool", tool="Bash", is_error=True,
        index_text="heron failed", files=("src/app.py",),
    )  # fmt: skip
    said = Said("f", "/logs/f", (turn(0, "run heron"), failed))
    capture(memory.store, said)
    recall = memory.context

    def kinds(**wanted: object) -> list[str]:
        found = search(recall, SearchRequest("heron", **wanted))  # pyright: ignore[reportArgumentType]
        return sorted(hit.type for hit in found.items)

    assert kinds() == ["tool_result", "user_prompt"]
    assert kinds(errors_only=True) == kinds(tool="Bash") == kinds(file="app.py") == ["tool_result"]
    assert kinds(kinds=("user_prompt",)) == ["user_prompt"]
    assert kinds(flavor="codex") == kinds(until=1) == []
    assert kinds(flavor="claude", since=1) == ["tool_result", "user_prompt"]


@pytest.mark.rows("SRC-10")
@pytest.mark.parametrize("query", ["heron", " "])
def test_filters_hold_for_observations_too(memory: Memory, query: str) -> None:
    failed = event(
        1, "heron failed", kind="tool_result", origin="tool", tool="Bash", is_error=True,
        index_text="heron failed", files=("src/app.py",),
    )  # fmt: skip
    here = [turn(0, "run heron"), failed]
    (claude,) = capture(memory.store, Said("f", "/logs/f", tuple(here)))
    (codex,) = capture(memory.store, Said("g", "/logs/g", (turn(2, "a"),), flavor="codex"))
    for session in (claude, codex):
        with memory.store.writing() as writer:
            writer.assign_project(session, "/work/shop", SHOP, "general")
        first, *rest = [one.id for one in memory.store.events(session)]
        notes = [
            (observed(session, "user_request", "run heron please", START + DAY), first),
            *((observed(session, "blocker", "heron failed again", START), one) for one in rest),
            (observed(session, "decision", "keep heron", START + 2 * DAY), None),
        ]
        memory.keep(session, [replace(one, event=number) for one, number in notes])

    def found(**wanted: object) -> list[tuple[int, str]]:
        answer = search(memory.context, SearchRequest(query, **wanted))  # pyright: ignore[reportArgumentType]
        noted = [item for item in answer.items if item.memory_kind == "observation"]
        return sorted((item.session_id, item.type) for item in noted)

    everything = [(claude, "blocker"), (claude, "decision"), (claude, "user_request")]
    assert found(flavor="claude") == found(session_id=claude) == everything
    assert {session for session, _ in found(flavor="codex")} == {codex}
    assert found(flavor="gemini") == []
    only = {"session_id": claude}
    assert found(**only, until=START + DAY) == [(claude, "blocker")]
    assert found(**only, since=START + DAY, until=START + 2 * DAY) == [(claude, "user_request")]
    assert found(**only, kinds=("user_prompt",)) == [(claude, "user_request")]
    assert found(**only, kinds=("user_prompt", "tool_result")) == [everything[0], everything[2]]
    for one in ({"errors_only": True}, {"tool": "Bash"}, {"file": "app.py"}):
        assert found(**only, **one) == [(claude, "blocker")]
    assert found(**only, kinds=("compaction",)) == found(file="app.py", kinds=("compaction",)) == []


@pytest.mark.rows("SRC-10")
def test_an_agent_that_nobody_knows_is_an_error(memory: Memory) -> None:
    with pytest.raises(UsageError, match="unknown agent 'cluade'") as refused:
        search(memory.context, SearchRequest("heron", flavor="cluade"))
    assert "claude, codex" in (refused.value.hint or "")
    with pytest.raises(UsageError):
        recent(memory.context, SearchRequest(flavor=""))
    capture(memory.store, Said("p", "/logs/p", (turn(0, "run heron"),), flavor="plugged-in"))
    assert search(memory.context, SearchRequest("heron", flavor="plugged-in")).count == 1


def test_question_words_do_not_count_where_there_are_others() -> None:
    assert terms_of("what did we decide about src/app.py?").words == ("decide", "src", "app", "py")
    assert terms_of("what did we decide about src/app.py?").names == ("src app py",)
    assert terms_of("who is it").words == ("who", "is", "it")
    assert not terms_of(" *?! ")


def test_a_snippet_stands_around_the_word_and_obeys_nobody() -> None:
    text = "x" * 500 + " needle \x1b[31m " + "y" * 500
    shown = snippet(text, ["needle"])
    assert "needle" in shown and shown.startswith("...") and shown.endswith("...")
    assert "\x1b" not in shown and len(shown) < 300


@pytest.mark.rows("IDN-11")
def test_an_item_tells_the_version_of_its_session_or_that_none_is_known(memory: Memory) -> None:
    known = memory.session("a", ("decision", "Use zstd"))
    memory.session("b", ("decision", "Use zstd twice"))
    memory.version(known, "2.1.98")
    found = plain(search(memory.context, SearchRequest("zstd", "shop")))["items"]
    told = {
        item["external_session_id"]: (
            item["producer_version"],
            item["capture_version_status"],
            item["capture_version_scope"],
            item["capture_version_inferred"],
        )
        for item in found
    }
    assert told["a"] == ("2.1.98", "known_session_metadata", "session", False)
    assert told["b"] == (None, "unknown", "none", False)


@pytest.mark.rows("IDN-12")
def test_what_was_captured_elsewhere_is_found_by_its_session_alone(memory: Memory) -> None:
    memory.session("a", ("decision", "Use zstd here"))
    named = Resolution(key="shop", root="/work/shop", source="payload", confidence="high")
    other = memory.session("b", ("decision", "Use zstd there"), cwd="/elsewhere", project=named)
    found = search(memory.context, SearchRequest("zstd", "shop"))
    assert [item.summary for item in found.items] == ["Use zstd here"]
    (item,) = search(memory.context, SearchRequest("zstd", "shop", other)).items
    assert item.summary == "Use zstd there"


@pytest.mark.rows("SRC-10")
def test_an_unknown_path_is_an_error_that_tells_those_like_it(memory: Memory) -> None:
    edit = event(
        0, "x", kind="tool_call", origin="agent", tool="Edit", index_text="basket",
        files=("/work/shop/src/basket.py",),
    )  # fmt: skip
    capture(memory.store, Said("a", "/logs/a", (edit,)))
    assert search(memory.context, SearchRequest("basket", file="src/basket")).count == 1
    # Known, but not with these words: nothing is wrong with the question.
    assert search(memory.context, SearchRequest("heron", file="src/basket")).count == 0
    for query in ("basket", ""):
        with pytest.raises(UsageError, match=r"'src/baskte\.py'") as refused:
            search(memory.context, SearchRequest(query, file="src/baskte.py"))
        assert refused.value.hint == "known: /work/shop/src/basket.py"
        with pytest.raises(UsageError) as refused:
            search(memory.context, SearchRequest(query, file="quite/else"))
        assert "basket" not in str(refused.value.hint)


@pytest.mark.rows("SRC-10")
def test_a_path_of_windows_is_found_as_it_is_written(memory: Memory) -> None:
    path = "D:\\shop\\src\\basket.py"
    edit = event(
        0, "x", kind="tool_call", origin="agent", tool="Edit", index_text="basket", files=(path,)
    )
    capture(memory.store, Said("a", "/logs/a", (edit,)))
    for part in (path, "src\\basket", "basket.py"):
        assert search(memory.context, SearchRequest("basket", file=part)).count == 1
    with pytest.raises(UsageError) as refused:
        search(memory.context, SearchRequest("basket", file="D:/shop/src/basket.py"))
    assert refused.value.hint == f"known: {path}"
