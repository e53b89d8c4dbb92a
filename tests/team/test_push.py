"""What leaves a laptop, when, and in which words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.team.laptop import ERROR, PROJECT, SECRET, Laptop
from tests.team.model_hub import ModelHub

from session_memory.core.sharing.wire import LEVEL_OF

MakeLaptop = Callable[[str], Laptop]


@pytest.mark.rows("TEA-01")
def test_nothing_leaves_before_a_project_is_shared(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = laptop("ada").worked(*[laptop("ada").cured(seed) for seed in (1, 2)])
    ada.do("team", "join", ada.url, "invite-ada")
    ada.do("team", "push")
    ada.do("team", "pull")
    assert hub.content() == {}
    assert {name for name, _ in hub.requests} == {"POST /v1/join"}


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


@pytest.mark.rows("TEA-03")
def test_places_names_and_secrets_of_this_machine_stay_here(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = laptop("ada")
    log = ada.log(1, "look at <private>my diary</private> first")
    log.run(f"cat {ada.repo}/src/app.py", "print('hi')")
    log.run(f"cat {ada.home}/notes.txt", f"see {ada.repo}/README and /home/someone/x")
    ada.worked(log).join("sessions")
    # A rule that is newer than the capture: what was stored plainly must not leave plainly.
    with (ada.root / "store.toml").open("a", encoding="utf-8"):
        pass
    config = ada.write_config()
    with config.open("a", encoding="utf-8") as file:
        file.write('[redact]\nrules = [{id = "own", pattern = "(print)", keywords = ["print"]}]\n')
    done = ada.run("--config", str(config), "team", "push")
    assert done.returncode == 0, done.stderr
    words = hub.words().decode()
    for word in (str(ada.root), str(ada.home), "someone", "diary", "print("):
        assert word not in words
    assert "src/app.py" in words and "~/notes.txt" in words and "[REDACTED_SECRET]" in words


@pytest.mark.rows("TEA-03")
def test_a_secret_that_was_stored_before_its_rule_is_redacted_at_the_border() -> None:
    from session_memory.redact import Redactor
    from session_memory.team.border import Border

    border = Border(Redactor(b"k" * 16), ["/work/shop"], "/home/ada")
    clean = border.value({"a": [f"key {SECRET}"], "/work/shop/x.py": "<private>p</private>"})
    assert clean == {"a": ["key [REDACTED_SECRET]"], "x.py": "[PRIVATE]"}
    assert border.text("see /work/shop-two/x") == "see /work/shop-two/x"
    assert border.text("cd /work/shop && ls") == "cd . && ls"


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


@pytest.mark.rows("TEA-05")
def test_an_unchanged_push_is_one_small_question(hub: ModelHub, laptop: MakeLaptop) -> None:
    ada = laptop("ada")
    ada.worked(*[ada.cured(seed) for seed in range(1, 9)]).join("sessions")
    ada.do("team", "push")
    before, asked = hub.content(), len(hub.requests)
    report = ada.read("team", "push")
    assert report["projects"][0]["unchanged"]
    assert [name for name, _ in hub.requests[asked:]] == ["POST /v1/sync"]
    assert report["bytes_sent"] + report["bytes_received"] < 1_000
    assert hub.content() == before


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


@pytest.mark.rows("TEA-06")
def test_two_devices_of_one_person_and_a_hub_that_lost_everything(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada = laptop("ada")
    ada.worked(ada.cured(1)).join("lessons")
    ada.do("team", "push")
    whole = hub.content()
    hub.owned[PROJECT, "ada"].items.clear()
    hub.manifests.clear()
    ada.do("team", "push")
    assert hub.content() == whole


def test_a_hub_without_tls_elsewhere_is_refused(laptop: MakeLaptop) -> None:
    ada = laptop("ada")
    done = ada.do("team", "join", "http://memory.example.org", "invite-x", code=8)
    assert "TLS" in done.stderr and "https://" in done.stderr
    assert "address" in ada.do("team", "join", "ftp://x", "invite-x", code=2).stderr


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


@pytest.mark.rows("TEA-01")
def test_rules_and_memory_of_the_project_leave_and_are_withdrawn(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    from session_memory.curate.catalog import read_catalog
    from session_memory.memory.layout import MEMORY, memory_root

    ada = laptop("ada")
    ada.worked(ada.cured(1)).join("lessons")
    ada.do("rules", "add", "Run make check before a commit.", "--project", ada.key)
    page = memory_root(ada.store_directory, str(ada.repo)) / MEMORY
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"# Memory\n\n- The port of {ada.repo}/app is 8080\n", encoding="utf-8")
    ada.do("team", "push")
    said = {item[0]: item[5] for items in hub.content().values() for item in items}
    assert said["rule"] == "Run make check before a commit."
    assert said["memory"] == "The port of app is 8080"
    (name,) = read_catalog(ada.store_directory).patterns
    ada.do("rules", "retire", name, "--reason", "no use")
    page.write_text("# Memory\n", encoding="utf-8")
    assert ada.read("team", "push")["projects"][0]["taken_back"] == 2
    assert {item[0] for items in hub.content().values() for item in items}.isdisjoint(
        {"rule", "memory"}
    )
    page.write_text(f"# Memory\n\n- The port of {ada.repo}/app is 8080\n", encoding="utf-8")
    ada.do("team", "push")
    assert b"8080" in hub.words(), "what was taken back can come again"
