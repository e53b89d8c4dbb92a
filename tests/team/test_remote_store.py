"""A hub read as if it were the local store."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mcp.clients import Talk
from tests.team.laptop import ERROR, PROJECT, Laptop
from tests.team.model_hub import ModelHub
from tests.web.served import Served

from session_memory.cli import hub_store
from session_memory.cli.hub_store import HubCopy
from session_memory.core.sharing.hashes import session_key
from session_memory.store import open_store
from session_memory.store.port import SessionQuery
from session_memory.team.membership import membership

MakeLaptop = Callable[[str], Laptop]


def two_people(laptop: MakeLaptop, level: str) -> tuple[Laptop, Laptop]:
    ada, bob = laptop("ada"), laptop("bob")
    ada.worked(ada.cured(1, "poetry add pyyaml")).join(level).do("team", "push")
    bob.worked(bob.log(3, "something else")).join("lessons").do("team", "push")
    return ada, bob


@pytest.mark.rows("TEA-11")
def test_a_hub_answers_like_a_store(
    hub: ModelHub, laptop: MakeLaptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = two_people(laptop, "sessions")
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    remote = ("--store", bob.url)
    listed = bob.read(*remote, "sessions")["sessions"]
    assert {row["session"]["title"].partition(":")[0] for row in listed} == {"ada", "bob"}
    assert {row["session"]["project_key"] for row in listed} == {PROJECT}
    found = bob.read(*remote, "search", "yaml")["items"]
    own = ada.read("search", "yaml")["items"]
    assert [item["summary"] for item in found] == [item["summary"] for item in own]
    key = session_key(bytes.fromhex("5a" * 32), "claude", ada.cured(1).session_id)
    shown = bob.do(*remote, "show", key).stdout
    assert "poetry add pyyaml" in shown and str(ada.root) not in shown
    assert "poetry add pyyaml" in bob.do(*remote, "fix", ERROR).stdout


@pytest.mark.rows("TEA-11")
def test_a_session_shared_as_lessons_has_its_digest(laptop: MakeLaptop) -> None:
    ada, bob = two_people(laptop, "lessons")
    remote = ("--store", bob.url)
    assert "poetry add pyyaml" in bob.do(*remote, "fix", ERROR).stdout
    key = session_key(bytes.fromhex("5a" * 32), "claude", ada.cured(1).session_id)
    digest = bob.read(*remote, "show", "--digest", key)
    assert "make it work" in str(digest)


@pytest.mark.rows("TEA-17")
def test_a_filter_that_a_hub_cannot_answer_is_an_error(laptop: MakeLaptop) -> None:
    _ada, bob = two_people(laptop, "lessons")
    refused = bob.do("--store", bob.url, "sessions", "--outcome", "fail", code=2)
    assert "does not know how sessions ended" in refused.stderr


def copy_of(laptop: Laptop, place: Path) -> HubCopy:
    return HubCopy(membership(laptop.store_directory), place, lambda: laptop.now)


@pytest.mark.rows("TEA-13")
def test_agents_read_the_hub_where_its_user_opened_it_and_write_nothing(
    laptop: MakeLaptop,
) -> None:
    _ada, bob = two_people(laptop, "sessions")
    config = str(bob.write_config())
    command = [sys.executable, "-m", "session_memory", "--config", config]
    with Talk("--store", bob.url, "mcp", command=command, environ=bob.environ()) as talk:
        code, log = talk.end()
        assert code == 8
        assert "closed to agents" in log
    opened = ("--set", "team.mcp=true", "--store", bob.url, "mcp", "--profile", "full")
    with Talk(*opened, command=command, environ=bob.environ()) as talk:
        talk.greet()
        found = talk.call("mem_search", query="pyyaml")["structuredContent"]
        assert "poetry add pyyaml" in str(found)
        listed = {tool["name"] for tool in talk.ask("tools/list")["result"]["tools"]}
        assert "mem_search" in listed
        assert "mem_note" not in listed
        assert talk.end()[0] == 0


@pytest.mark.rows("TEA-13")
def test_the_page_shows_the_hub_and_decides_nothing_there(laptop: MakeLaptop) -> None:
    _ada, bob = two_people(laptop, "sessions")
    config = str(bob.write_config())
    process = bob.start("--config", config, "--store", bob.url, "web", "--no-browser")
    assert process.stdout is not None
    page = Served(process, process.stdout.readline().strip())
    try:
        page.open()
        assert "ada: make it work" in page.ask("/sessions").text
        assert "poetry add" in page.ask("/search?q=pyyaml").text
        home = page.ask("/rules").text
        token = home.partition('name="form_token" value="')[2].partition('"')[0]
        form = {"form_token": token, "text": "use uv"}
        refused = page.ask("/rules/add", form=form, headers={"Origin": f"http://{page.host}"})
        assert refused.status == 400
        assert "nothing can be decided" in refused.text
    finally:
        page.end()


@pytest.mark.rows("TEA-14")
def test_a_server_follows_what_is_shared_and_forgotten(
    hub: ModelHub, laptop: MakeLaptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = two_people(laptop, "sessions")
    place = tmp_path / "copies"
    place.mkdir()
    copy = copy_of(bob, place)

    def titles() -> list[str]:
        with open_store(str(copy.data), bob.now, read_only=True) as store:
            found = store.sessions(SessionQuery(limit=9))
            return sorted(str(session.title).partition(":")[0] for session in found)

    assert copy.renew()
    assert titles() == ["ada", "bob"]
    assert not copy.renew(), "nothing has changed"
    ada.worked(ada.log(7, "another one")).do("team", "push")
    assert copy.renew()
    assert titles() == ["ada", "ada", "bob"]
    ada.do("forget", "--project", str(ada.key), "--yes")
    ada.do("team", "push")
    assert copy.renew()
    assert titles() == ["bob"]
    kept = {entry.name for entry in place.iterdir() if entry.is_dir() and not entry.is_symlink()}
    assert kept == {"2", "3"}, "the last copy may still be read; older ones are gone"
    hub.tokens.clear()
    monkeypatch.setattr(hub_store, "FOLLOW_SECONDS", 0.0)
    told: list[str] = []
    copy.follow(told.append)
    assert "the copy of the hub is deleted" in told[-1]
    assert list(place.iterdir()) == []
