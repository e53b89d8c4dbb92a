"""The store opens late, answers are kept only while nothing changed, modes hold."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.mcp.clients import LocalServer, text_of
from tests.mcp.conftest import Known
from tests.recall.store_builder import Memory

from session_memory.mcp.presence import Presence
from session_memory.mcp.runtime import CACHE_MOST, CACHE_MS, RESTART, Options
from session_memory.mcp.tools import TOOLS, NoRequest, Profile, Tool, tools_of
from session_memory.recall import provenance
from session_memory.recall.requests import ScopeRequest
from session_memory.store.port import Store

MINIMAL = {
    "mem_session_list",
    "mem_scope_resolve",
    "mem_bootstrap_context",
    "mem_open_work",
    "mem_completion_check",
    "mem_context_pack",
    "mem_health_runtime",
}


# Its module does not exist: a call that is not refused fails.
NOTE = Tool(
    "mem_dummy_note", "Dummy", "Changes memory.", NoRequest, "recall.notes.add", mutates=True
)
WITH_NOTE = (*TOOLS, NOTE)
BROKEN = Tool("mem_broken", "Broken", "Fails.", ScopeRequest, "recall.provenance.get")


WRITING = {"mem_note", "mem_draft", "mem_memory_write"}


def names(server: LocalServer) -> list[str]:
    """The tools a client is told of."""
    return [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]


@pytest.mark.rows("RUN-02")
def test_a_profile_offers_its_tools_and_refuses_others_by_its_name() -> None:
    everything = {tool.name for tool in WITH_NOTE}
    expected: dict[Profile, set[str]] = {
        "minimal": MINIMAL,
        "standard": everything - {NOTE.name} - WRITING,
        "full": everything,
    }
    assert len(MINIMAL) == 7
    for profile, tools in expected.items():
        server = LocalServer(Options(profile=profile), tools=WITH_NOTE)
        assert set(names(server)) == tools
        for missing in (everything - tools) | {"mem_nothing"}:
            refused = server.call(missing)
            assert refused["isError"] is True
            reason = f"Tool unavailable in profile '{profile}': {missing}"
            assert refused["structuredContent"] == {"error": reason}
            assert reason in text_of(refused)
        server.close()


def test_only_tools_that_change_memory_are_missing_from_standard() -> None:
    assert tools_of("full") == TOOLS
    assert {tool.name for tool in TOOLS if tool.mutates} == WRITING
    assert tools_of("standard") == tuple(tool for tool in TOOLS if tool.name not in WRITING)


@pytest.mark.rows("RUN-03")
def test_read_only_writes_nothing_at_all(known: Known) -> None:
    folder = known.memory.directory
    known.memory.close()  # the last one writes the log back into the file
    before = digest(folder / "store.db")
    server = LocalServer(Options(profile="full", read_only=True), tools=WITH_NOTE, clock=lambda: 10)
    refused = server.call(NOTE.name)
    assert refused["isError"] is True
    assert "read-only" in refused["structuredContent"]["error"]
    checked = server.call("mem_completion_check", project_key="shop")
    assert checked["isError"] is False
    assert checked["structuredContent"]["pending_count"] == 2
    opened = store_of(server)
    assert opened._db.pragma("query_only") == 1
    with pytest.raises(apsw.ReadOnlyError):
        opened._db.execute("DELETE FROM observation")
    server.close()
    assert digest(folder / "store.db") == before
    assert known.memory.select("SELECT count(*) FROM closure_check") == [(0,)]


def digest(path: Path) -> str:
    """The bytes of a file, by name."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def store_of(server: LocalServer) -> Store:
    """The store a server has open."""
    opened = server.runtime._opened
    assert opened is not None
    return opened.store


@pytest.mark.rows("RUN-07")
def test_a_kept_answer_is_given_until_anything_is_written(known: Known) -> None:
    memory, now = known.memory, [0]
    server = LocalServer(clock=lambda: memory.now + now[0])

    def pending() -> list[str]:
        found = server.call("mem_open_work", project_key="shop")["structuredContent"]
        return [item["text"] for item in found["pending_items"]]

    def counted() -> tuple[int, int]:
        cache = server.call("mem_health_runtime")["structuredContent"]["cache"]
        return cache["hits"], cache["misses"]

    first = pending()
    assert pending() == first
    assert counted() == (1, 1)
    # Another connection, as another process would have.
    memory.say(known.cart, ("pending_item", "cart: a thing of just now"))
    assert "cart: a thing of just now" in pending()
    assert counted() == (1, 2)
    now[0] = CACHE_MS
    pending()
    assert counted() == (1, 3)
    server.call("mem_open_work", project_key="shop", session_id=known.cart)
    assert counted() == (1, 4)
    # Its own record of a check is a write like any other.
    server.call("mem_completion_check", project_key="shop")
    pending()
    assert counted() == (1, 5)
    server.close()


def test_all_questions_of_one_answer_see_one_moment(known: Known) -> None:
    store = known.memory.store
    seen: list[int] = []
    other = Memory(known.memory.directory)
    with store.scopes.snapshot():
        seen.append(len(store.scopes.lines(1)))
        other.session("just now", ("pending_item", "came while somebody read"), at=99)
        seen.append(len(store.scopes.lines(1)))
    seen.append(len(store.scopes.lines(1)))
    other.close()
    assert seen == [2, 2, 3]


def test_refusals_are_not_kept_and_the_cache_is_bounded(known: Known) -> None:
    server = LocalServer(clock=lambda: known.memory.now)
    assert server.call("mem_open_work", project_key="later")["isError"] is True
    for size in range(CACHE_MOST + 20):
        server.call("mem_context_pack", project_key="shop", max_chars=400 + size)
    cache = server.call("mem_health_runtime")["structuredContent"]["cache"]
    assert cache["entries"] == CACHE_MOST
    server.close()


def test_a_store_that_appears_later_is_found(tmp_path: Path) -> None:
    server = LocalServer()
    missing = server.call("mem_recent")
    assert missing["isError"] is True
    assert "sweep" in missing["structuredContent"]["hint"]
    memory = Memory(tmp_path / "memory" / "data")
    memory.session("one", ("pending_item", "came later"))
    assert server.call("mem_recent")["structuredContent"]["count"] == 1
    memory.close()
    server.close()


def test_a_store_that_was_replaced_is_opened_again(tmp_path: Path, known: Known) -> None:
    server = LocalServer(clock=lambda: known.memory.now)
    assert server.call("mem_open_work", project_key="shop")["isError"] is False
    other = Memory(tmp_path / "new")
    other.session("one", ("pending_item", "another store"))
    other.close()
    known.memory.close()
    store_of(server).close()
    shutil.rmtree(known.memory.directory)
    os.rename(tmp_path / "new", known.memory.directory)
    found = server.call("mem_open_work", project_key="shop")["structuredContent"]
    assert [item["text"] for item in found["pending_items"]] == ["another store"]
    server.close()


def test_a_store_upgraded_under_the_server_asks_for_a_restart(known: Known) -> None:
    server = LocalServer(clock=lambda: known.memory.now)
    assert server.call("mem_open_work", project_key="shop")["isError"] is False
    known.memory._db("PRAGMA user_version = 9999")
    for tool in ("mem_open_work", "mem_completion_check"):
        refused = server.call(tool, project_key="shop")
        assert refused["isError"] is True
        assert refused["structuredContent"]["hint"] == RESTART
        assert "restart" in text_of(refused)
    assert server.call("mem_health_runtime")["isError"] is False
    server.close()


def test_an_unexpected_failure_of_a_tool_is_a_result_and_no_secret(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_recall: Any, _request: Any) -> Any:
        raise ZeroDivisionError("password=hunter2")

    monkeypatch.setattr(provenance, "get", fail)
    server = LocalServer(tools=(BROKEN, *TOOLS), clock=lambda: known.memory.now)
    refused = server.call("mem_broken", project_key="shop")
    assert refused["isError"] is True
    assert "hunter2" not in str(refused)
    assert any("ZeroDivisionError at test_runtime.py:" in line for line in server.log)
    assert "hunter2" not in str(server.log)
    assert server.call("mem_open_work", project_key="shop")["isError"] is False
    server.close()


def test_a_store_in_use_or_damaged_is_reported_as_such(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = {apsw.BusyError: "another process holds the store", apsw.CorruptError: "damaged"}
    for error, reason in errors.items():

        def fail(_recall: Any, _request: Any, error: type[apsw.Error] = error) -> Any:
            raise error

        monkeypatch.setattr(provenance, "get", fail)
        server = LocalServer(tools=(BROKEN, *TOOLS), clock=lambda: known.memory.now)
        refused = server.call("mem_broken", project_key="shop")
        assert reason in refused["structuredContent"]["error"]
        assert server.log == []
        assert server.call("mem_open_work", project_key="shop")["isError"] is False
        server.close()


def test_health_tells_of_the_process_and_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LocalServer(
        Options(profile="minimal", read_only=True, idle_seconds=7), clock=lambda: 5_000
    )
    health = server.call("mem_health_runtime")["structuredContent"]
    assert health["pid"] == os.getpid()
    assert (health["profile"], health["read_only"]) == ("minimal", True)
    assert health["lazy_initialized"] is False
    assert health["idle_timeout_seconds"] == 7
    assert health["exit_reason"] is None
    assert health["caller"]["client"] == "codex-mcp-client"
    assert (health["same_db_process_count"], health["spawn_storm_warning"]) == (1, False)
    others = [Presence(tmp_path / "memory" / "state") for _ in range(4)]
    for number, other in enumerate(others):
        monkeypatch.setattr(other, "_name", f"{number}.server")
        other.enter()
    crowded = server.call("mem_health_runtime")["structuredContent"]
    assert (crowded["same_db_process_count"], crowded["spawn_storm_warning"]) == (5, True)
    for other in others:
        other.leave()
    assert server.call("mem_health_runtime")["structuredContent"]["same_db_process_count"] == 1
    server.close()


def test_what_a_killed_server_left_is_not_counted_and_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "servers"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "99.server").touch()
    presence = Presence(tmp_path / "state")
    presence.enter()
    assert presence.count() == 1
    assert sorted(os.listdir(folder)) == [f"{os.getpid()}.server"]
    presence.leave()
    assert os.listdir(folder) == []


def test_where_nothing_can_be_written_the_server_counts_itself(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the place of the directory")
    presence = Presence(tmp_path / "state")
    presence.enter()
    assert presence.count() == 1
    presence.leave()
