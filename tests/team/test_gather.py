"""Which kinds of items a level sends."""

from __future__ import annotations

import pytest
from tests.team.model_hub import ModelHub
from tests.team.test_push import MakeLaptop

from session_memory.core.sharing.wire import LEVEL_OF


@pytest.mark.rows("TEA-01")
@pytest.mark.parametrize("level", ["numbers", "lessons", "sessions"])
def test_a_level_sends_its_kinds_and_no_other(
    hub: ModelHub, laptop: MakeLaptop, level: str
) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join(level)
    ada.do("team", "push")
    (items,) = hub.content().values()
    kinds = {item[0] for item in items}
    order = ("numbers", "lessons", "sessions")
    assert {LEVEL_OF[kind] for kind in kinds} == set(order[: order.index(level) + 1])
    if level == "numbers":
        assert b"yaml" not in hub.words() and b"pip" not in hub.words()


@pytest.mark.rows("TEA-05")
def test_a_grown_session_sends_what_changed(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = laptop("ada")
    log = ada.cured(1)
    ada.worked(log, ada.cured(2)).join("sessions")
    ada.do("team", "push")
    log.prompt("and now the tests")
    log.run("pytest", "4 passed")
    ada.worked(log)
    report = ada.read("team", "push")["projects"][0]
    assert 0 < report["sent"] <= 8 and report["refused"] == {}
    assert b"4 passed" in hub.words()
    assert ada.read("team", "push")["projects"][0]["unchanged"]
