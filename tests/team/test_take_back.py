"""Forgetting and unsharing reach the hub and everybody who pulled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.team.laptop import ERROR, Laptop
from tests.team.model_hub import ModelHub

MakeLaptop = Callable[[str], Laptop]


def two_people(laptop: MakeLaptop) -> tuple[Laptop, Laptop]:
    """Ada knows a cure, Bob does not; both share the project."""
    ada, bob = laptop("ada"), laptop("bob")
    ada.worked(ada.cured(1, "poetry add pyyaml"), ada.log(2, "another wish entirely"))
    bob.worked(bob.log(3, "something else"))
    ada.join("sessions").do("team", "push")
    bob.join("lessons").do("team", "pull")
    return ada, bob


def pulled_words(laptop: Laptop) -> bytes:
    return b"".join(path.read_bytes() for path in (laptop.team / "pulled").glob("*"))


@pytest.mark.rows("TEA-07")
def test_the_outbox_holds_hashes_alone_and_survives_the_store(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada, _bob = two_people(laptop)
    session = ada.cured(1).session_id
    ada.do("forget", "--session", session, "--yes")
    outbox = (ada.team / "outbox.json").read_text(encoding="utf-8")
    assert session not in outbox and "poetry" not in outbox
    for file in (ada.team / "sent.json", ada.team / "receipts.jsonl"):
        assert "poetry" not in file.read_text(encoding="utf-8")
    hub.down = True
    ada.do("team", "push", code=10)
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (ada.store_directory / name).unlink(missing_ok=True)
    ada.claude.rename(ada.root / "away")
    hub.down = False
    ada.do("sweep", code=None)
    ada.do("team", "push", code=None)
    assert b"poetry" not in hub.words()


@pytest.mark.rows("TEA-07")
def test_a_forgotten_text_is_replaced_on_the_hub(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, bob = two_people(laptop)
    ada.do("forget", "--text", "another wish entirely", "--yes")
    ada.do("team", "push")
    assert b"another wish" not in hub.words()
    bob.do("team", "pull")
    assert b"another wish" not in pulled_words(bob)


@pytest.mark.rows("TEA-07")
def test_unshare_takes_everything_back(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, bob = two_people(laptop)
    output = ada.do("team", "unshare", ada.key, "--yes").stdout
    assert "everything of github.com/acme/shop" in output
    assert hub.content() == {}
    bob.do("team", "pull")
    assert b"poetry" not in pulled_words(bob)
    ada.do("team", "push")
    assert hub.content() == {}, "nothing is shared any more"


@pytest.mark.rows("TEA-07")
def test_unshare_waits_for_a_hub_that_is_down(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, _bob = two_people(laptop)
    hub.down = True
    ada.do("team", "unshare", ada.key, "--yes", code=10)
    assert "everything of github.com/acme/shop" in ada.do("team", "status").stdout
    hub.down = False
    ada.do("team", "push")
    assert hub.content() == {}


@pytest.mark.rows("TEA-07")
def test_a_lower_level_takes_back_what_is_above_it(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, _bob = two_people(laptop)
    ada.share("numbers")
    ada.do("team", "push")
    (items,) = hub.content().values()
    assert {item[0] for item in items} == {"usage"}
    ada.share("lessons")
    ada.do("team", "push")
    assert ERROR.encode() in hub.words(), "and a higher one brings it again"


@pytest.mark.rows("TEA-07")
def test_a_project_taken_back_by_another_device_is_not_pushed_again(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada, _bob = two_people(laptop)
    second = laptop("second")
    second.worked(second.log(7)).do("team", "join", second.url, "invite-ada")
    second.share("lessons")
    second.do("team", "unshare", second.key, "--yes")
    done = ada.do("team", "push", code=10)
    assert "another device took it back" in done.stderr
    assert hub.content() == {}


def test_leaving_does_not_drop_what_must_be_taken_back(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada, _bob = two_people(laptop)
    ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
    assert "team push" in ada.do("team", "leave", "--yes", code=8).stderr
    assert ada.team.exists()


@pytest.mark.rows("TEA-08")
def test_lessons_are_switched_off_by_a_setting(laptop: MakeLaptop) -> None:
    _ada, bob = two_people(laptop)
    assert pulled_words(bob)
    config = str(bob.write_config())
    bob.run("--config", config, "--set", "team.lessons=false", "team", "pull")
    assert not pulled_words(bob)
