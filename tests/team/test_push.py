"""What leaves a laptop, when, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.team.laptop import PROJECT, SECRET, Laptop
from tests.team.model_hub import ModelHub

MakeLaptop = Callable[[str], Laptop]


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
