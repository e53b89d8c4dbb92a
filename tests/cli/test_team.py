"""`team push --dry-run` prints what would be sent."""

from __future__ import annotations

import json

import pytest
from tests.team.laptop import ERROR
from tests.team.model_hub import ModelHub
from tests.team.test_push import MakeLaptop


@pytest.mark.rows("TEA-02")
def test_what_a_dry_run_prints_is_what_is_sent(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join("sessions")
    asked = len(hub.requests)
    printed = [
        json.loads(line)["item"]
        for line in ada.do("team", "push", "--dry-run", "--json").stdout.splitlines()
    ]
    assert len(hub.requests) == asked, "a dry run asks nobody"
    assert ERROR in ada.do("team", "push", "--dry-run").stdout
    ada.do("team", "push")
    (items,) = hub.content().values()
    assert [(i["kind"], i["key"], i["hash"], i["rank"]) for i in printed] == sorted(
        ((kind, key, hash_, rank) for kind, key, hash_, rank, _, _ in items),
        key=lambda item: item[1],
    )
    assert [i["body"] for i in printed] == [
        json.loads(body) for _, _, _, _, body, _ in sorted(items, key=lambda item: item[1])
    ]
    sent = ada.read("team", "receipts")["receipts"]
    assert sorted(key for each in sent for key in each["keys"]) == [i["key"] for i in printed]
