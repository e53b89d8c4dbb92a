"""A hub read as if it were the local store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.team.laptop import ERROR, PROJECT, Laptop
from tests.team.model_hub import ModelHub

from session_memory.core.sharing.hashes import session_key

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


@pytest.mark.rows("TEA-11")
def test_only_asking_verbs_and_only_ones_own_hub(laptop: MakeLaptop) -> None:
    _ada, bob = two_people(laptop, "lessons")
    for verb in (("forget", "--text", "yaml", "--yes"), ("sweep",), ("status",)):
        assert "--store URL is for" in bob.do("--store", bob.url, *verb, code=2).stderr
    done = bob.do("--store", "http://127.0.0.1:9", "sessions", code=8)
    assert "no token for" in done.stderr
    assert "TLS" in bob.do("--store", "http://hub.example.org", "sessions", code=8).stderr
