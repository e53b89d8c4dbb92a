"""What may leave: by share, by level, by a repository's own word."""

from __future__ import annotations

import pytest
from tests.team.model_hub import ModelHub
from tests.team.test_push import MakeLaptop


@pytest.mark.rows("TEA-01")
def test_nothing_leaves_before_a_project_is_shared(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = laptop("ada").worked(*[laptop("ada").cured(seed) for seed in (1, 2)])
    ada.do("team", "join", ada.url, "invite-ada")
    ada.do("team", "push")
    ada.do("team", "pull")
    assert hub.content() == {}
    assert {name for name, _ in hub.requests} == {"POST /v1/join"}


@pytest.mark.rows("TEA-04")
@pytest.mark.parametrize(
    "file", ['team = "none"', "enabled = false", "team = 3"], ids=["none", "disabled", "odd"]
)
def test_a_repository_can_forbid(hub: ModelHub, laptop: MakeLaptop, file: str) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join("sessions")
    ada.do("team", "push")
    assert hub.content()
    (ada.repo / ".session-memory.toml").write_text(file, encoding="utf-8")
    assert ada.key in ada.do("team", "share", ada.key, "--level", "numbers", code=8).stderr
    ada.do("team", "push", code=3)
    assert hub.content() == {}, "what was sent before is taken back"


@pytest.mark.rows("TEA-04")
def test_a_repository_can_lower_the_level_and_not_raise_it(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join("sessions")
    (ada.repo / ".session-memory.toml").write_text('team = "numbers"', encoding="utf-8")
    ada.do("team", "push", code=3)
    (items,) = hub.content().values()
    assert {item[0] for item in items} == {"usage"}
    (ada.repo / ".session-memory.toml").write_text('team = "sessions"', encoding="utf-8")
    ada.share("numbers")
    ada.do("team", "push")
    (items,) = hub.content().values()
    assert {item[0] for item in items} == {"usage"}
