"""Verbs that ask a hub: what they may ask, and whose hub."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.team.laptop import ERROR
from tests.team.model_hub import ModelHub
from tests.team.test_remote_store import MakeLaptop, two_people

from session_memory.cli import hub_store


@pytest.mark.rows("TEA-17")
def test_words_errors_sessions_and_rules_are_asked_of_the_hub_without_a_copy(
    hub: ModelHub, laptop: MakeLaptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = two_people(laptop, "sessions")
    ada.do("rules", "add", "use poetry, not pip", "--project", str(ada.key))
    ada.do("team", "push")
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    monkeypatch.setattr(hub_store, "copied_hub", lambda *_given: pytest.fail("it was copied"))
    remote, before = ("--store", bob.url), len(hub.requests)
    found = bob.read(*remote, "search", "yaml")["items"]
    name = f"{found[0]['session_id']}:{found[0]['turn_id'] & 0xFFFFFF}"
    assert "yaml" in bob.do(*remote, "show", name).stdout
    assert "poetry add pyyaml" in bob.do(*remote, "fix", ERROR).stdout
    (rule,) = bob.read(*remote, "rules")["rules"]
    assert (rule["author"], rule["text"], rule["people"]) == ("ada", "use poetry, not pip", 1)
    assert "use poetry, not pip" in bob.do(*remote, "rules", "list").stdout
    assert "only lists its rules" in bob.do(*remote, "rules", "approve", "x", code=2).stderr
    asked = {path.partition(" ")[2] for path, _ in hub.requests[before:]}
    assert {path.rpartition("/")[0] if "/session/" in path else path for path in asked} == {
        "/v1/search", "/v1/session", "/v1/rules",
    }  # fmt: skip


@pytest.mark.rows("TEA-11")
def test_only_asking_verbs_and_only_ones_own_hub(laptop: MakeLaptop) -> None:
    _ada, bob = two_people(laptop, "lessons")
    for verb in (("forget", "--text", "yaml", "--yes"), ("sweep",), ("status",)):
        assert "--store URL is for" in bob.do("--store", bob.url, *verb, code=2).stderr
    done = bob.do("--store", "http://127.0.0.1:9", "sessions", code=8)
    assert "no token for" in done.stderr
    assert "TLS" in bob.do("--store", "http://hub.example.org", "sessions", code=8).stderr
