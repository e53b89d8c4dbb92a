"""Joining and leaving a team."""

from __future__ import annotations

import json

import pytest
from tests.team.model_hub import ModelHub
from tests.team.test_take_back import MakeLaptop, two_people


def test_token_and_key_lie_in_a_private_file_and_are_never_shown(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join()
    file = ada.team / "joined.json"
    assert file.stat().st_mode & 0o777 == 0o600
    token = json.loads(file.read_bytes())["token"]
    for command in (("team",), ("team", "status"), ("team", "push"), ("team", "receipts")):
        done = ada.do(*command)
        assert token not in done.stdout + done.stderr
        assert "5a5a5a" not in done.stdout + done.stderr
    ada.do("store", "backup", str(ada.root / "copy"))
    assert not list((ada.root / "copy").rglob("joined.json"))


def test_an_unknown_invite_and_an_ended_token_say_what_to_do(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1))
    assert "invite" in ada.do("team", "join", ada.url, "nonsense", code=10).stderr
    ada.join()
    hub.tokens.clear()
    done = ada.do("team", "push", code=10)
    assert "ended" in done.stderr and "team join" in done.stderr


def test_without_a_team_every_command_says_so(laptop: MakeLaptop) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1))
    for command in (("push",), ("pull",), ("share", "--level", "lessons"), ("leave", "--yes")):
        assert "belongs to no team" in ada.do("team", *command, code=1).stderr
    assert "no team" in ada.do("team").stdout
    assert not ada.team.exists()


@pytest.mark.rows("TEA-07")
def test_leaving_ends_the_token_and_deletes_what_came(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, bob = two_people(laptop)
    bob.do("team", "leave", "--yes")
    assert not bob.team.exists() and len(hub.tokens) == 1
    ada.do("team", "leave", "--unshare", "--yes")
    assert not ada.team.exists() and hub.content() == {} and not hub.tokens
