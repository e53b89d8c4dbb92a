"""The name of a pack: equal while content and scope are, whatever time passes."""

from __future__ import annotations

import re
import subprocess
import sys

import msgspec
import pytest
from tests.recall.store_builder import DAY, HOUR, Memory, plain

from session_memory.recall.completion_check import completion_check
from session_memory.recall.context_pack import ContextPack, NotModified, context_pack
from session_memory.recall.requests import PackRequest, ScopeRequest, SessionListRequest
from session_memory.recall.session_list import session_list


@pytest.fixture
def two(memory: Memory) -> tuple[int, int]:
    one = memory.session("a", ("pending_item", "buy tiles"))
    other = memory.session("b", ("pending_item", "buy paint"), at=HOUR)
    return one, other


def ask(memory: Memory, session: int | None = None, known: str | None = None) -> object:
    return context_pack(memory.context, PackRequest("shop", session, known_pack_hash=known))


def name(memory: Memory, session: int | None = None) -> str:
    found = ask(memory, session)
    assert isinstance(found, ContextPack)
    return found.pack_hash


@pytest.mark.rows("HSH-01", "HSH-02")
def test_every_pack_has_a_name_and_scopes_differ(memory: Memory, two: tuple[int, int]) -> None:
    names = [name(memory), name(memory, two[0]), name(memory, two[1])]
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in names)
    assert len(set(names)) == 3


@pytest.mark.rows("HSH-03", "HSH-07")
@pytest.mark.parametrize("scoped", [False, True])
def test_a_pack_the_caller_has_is_not_sent_again(
    memory: Memory, two: tuple[int, int], scoped: bool
) -> None:
    session = two[0] if scoped else None
    known = name(memory, session)
    again = ask(memory, session, known)
    assert isinstance(again, NotModified)
    assert plain(again) == {
        "not_modified": True,
        "pack_hash": known,
        "message": "The pack you have is current.",
    }
    assert len(msgspec.json.encode(again)) < 300


@pytest.mark.rows("HSH-04", "HSH-05")
def test_growing_older_changes_nothing(memory: Memory, two: tuple[int, int]) -> None:
    known = name(memory)
    first = ask(memory)
    memory.now += HOUR
    assert isinstance(ask(memory, known=known), NotModified)
    later = ask(memory)
    assert isinstance(first, ContextPack)
    assert isinstance(later, ContextPack)
    assert later.stats.memory_age_seconds != first.stats.memory_age_seconds
    assert later.stats.operational_memory_age_seconds != first.stats.operational_memory_age_seconds
    assert later.pack_hash == known


@pytest.mark.rows("HSH-06")
def test_the_name_of_another_scope_hides_nothing(memory: Memory, two: tuple[int, int]) -> None:
    for other in (name(memory), name(memory, two[1])):
        found = ask(memory, two[0], other)
        assert isinstance(found, ContextPack)
        assert "buy tiles" in found.text
        assert found.pack_hash != other


SCRIPT = """
import sys
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.requests import PackRequest
from session_memory.store import open_store
with open_store(sys.argv[1], 0, read_only=True) as store:
    context = RecallContext(store, lambda: int(sys.argv[2]))
    print(context_pack(context, PackRequest("shop")).pack_hash)
"""


@pytest.mark.rows("HSH-08")
def test_two_processes_agree_and_a_budget_makes_another_pack(
    memory: Memory, two: tuple[int, int]
) -> None:
    output = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(memory.directory), str(now)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for now in (memory.now, memory.now + DAY)
    ]
    assert output == [name(memory)] * 2
    asked = [
        PackRequest("shop", budget="full"),
        PackRequest("shop", max_chars=5000),
        PackRequest("shop", max_chars=5001),
    ]
    others = {context_pack(memory.context, request).pack_hash for request in asked}
    assert len(others | {name(memory)}) == 4


@pytest.mark.rows("HSH-09")
def test_a_read_keeps_the_name_and_a_new_observation_changes_it(
    memory: Memory, two: tuple[int, int]
) -> None:
    before = name(memory)
    memory.store.search("tiles")
    session_list(memory.context, SessionListRequest("shop"))
    completion_check(memory.context, ScopeRequest("shop"))
    assert name(memory) == before
    memory.say(two[1], ("pending_item", "buy paint"), ("pending_item", "buy brushes"), at=HOUR)
    assert name(memory) != before
