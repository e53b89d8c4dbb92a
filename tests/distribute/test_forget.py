"""Words that must go leave the catalog and the ledger; files that still hold them are told of."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.distribute.scenes import Desk, repository

from session_memory.distribute.ledger import read_ledger
from session_memory.redact.rule import fake

TOKEN = fake("ghp_", 36)


def holding(folder: Path, text: str) -> list[str]:
    """Files of ours in which a text stands."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in found if text.encode() in path.read_bytes()]


@pytest.mark.parametrize("text", ["make verify", "MAKE Verify"])
def test_a_forgotten_text_leaves_catalog_proposals_and_ledger(
    desk: Desk, tmp_path: Path, text: str
) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    desk.corrected(shop)
    desk.run("rules", "distribute")
    file = shop / "CLAUDE.md"
    file.write_text(file.read_text().replace("not pytest", "not pytest, says Zed"))
    desk.run("rules", "distribute", "--force")
    assert "says Zed" in read_ledger(desk.data).entries[1].replaced[0]
    assert holding(desk.data / "catalog", "make verify") and "make verify" in file.read_text()
    fold = () if text.islower() else ("--ignore-case",)
    (shop / "AGENTS.md").write_text(f"I say make verify\n{(shop / 'AGENTS.md').read_text()}")
    answer = desk.json("forget", "--text", text, "--yes", *fold)
    assert str(file) in answer["taken_out"] and file.read_text() == "mine\n"
    others = {str(shop / "AGENTS.md"), *map(str, desk.claude.rglob("*.jsonl"))}
    assert {one["where"] for one in answer["remains"]} == others
    assert holding(desk.data, "make verify") == []
    desk.run("forget", "--text", "make verify", "--verify")
    desk.run("rules", "distribute")
    assert "make verify" not in file.read_text()


def test_a_text_that_only_the_catalog_holds_can_be_forgotten(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    desk.run("rules", "edit", name, "--text", "Ask Zelda before you deploy.", "--reason", "x")
    desk.run("forget", "--text", "Zelda", "--dry-run")
    desk.run("forget", "--text", "Zelda", "--yes")
    assert holding(desk.data, "Zelda") == []
    desk.run("forget", "--text", "Zelda", "--yes", code=8)


def test_words_that_a_person_wrote_stay_and_are_named(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    desk.run("rules", "distribute")
    answer = desk.json("forget", "--project", "shop", "--yes")
    why = {one["where"]: one["why"] for one in answer["remains"]}
    assert "written by hand" in why[str(desk.data / "catalog" / f"{name}.toml")]
    assert list(shop.rglob("*.md")) == [] and read_ledger(desk.data).entries == ()
    assert holding(desk.data / "catalog", "claude:") == []
    shown = desk.json("rules", "show", name)["pattern"]
    assert shown["text"] == "Run make verify, not pytest." and shown["locus"] == "[FORGOTTEN]"


def test_an_edited_block_of_a_forgotten_project_stays_with_its_entry_and_is_named(
    desk: Desk, tmp_path: Path
) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    desk.corrected(shop)
    desk.run("rules", "distribute")
    file = shop / "CLAUDE.md"
    file.write_text(file.read_text().replace("not pytest", "not pytest, says Zed"))
    before = file.read_text()
    answer = desk.json("forget", "--project", "shop", "--yes")
    why = {one["where"]: one["why"] for one in answer["remains"]}
    assert f"rules withdraw --force --repo {shop}" in why[str(file)]
    assert file.read_text() == before and answer["taken_out"] == [str(shop / "AGENTS.md")]
    desk.run("rules", "withdraw", "--force", "--repo", str(shop))
    assert file.read_text() == "mine\n"


def test_a_rescan_redacts_catalog_and_ledger_by_todays_rules(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    name = desk.corrected(shop)
    rule = 'redact.rules=[{"id": "house", "pattern": "HOUSE-[0-9]{6}"}]'
    desk.run("rules", "edit", name, "--text", "Use HOUSE-123456 to log in.", "--reason", "x")
    desk.run("rules", "distribute")
    file = shop / "CLAUDE.md"
    file.write_text(file.read_text().replace("to log in", "to log in, HOUSE-999999"))
    desk.run("rules", "distribute", "--force")
    assert holding(desk.data, "HOUSE-123456") and holding(desk.data, "HOUSE-999999")
    desk.run("--set", rule, "store", "secrets", "rescan")
    assert f"taken out of {file}" in desk.err and file.read_text() == "mine\n"
    assert holding(desk.data, "HOUSE-123456") == holding(desk.data, "HOUSE-999999") == []
    desk.run("--set", rule, "rules", "distribute")
    assert "HOUSE-" not in file.read_text() and "[REDACTED_SECRET]" in file.read_text()


def test_a_secret_that_reached_the_catalog_never_reaches_a_file(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    path = desk.data / "catalog" / f"{name}.toml"
    path.write_text(path.read_text().replace("Run make verify, not pytest.", f"Use {TOKEN}."))
    desk.run("rules", "distribute")
    assert TOKEN not in (shop / "CLAUDE.md").read_text()
    assert "[REDACTED_SECRET]" in (shop / "CLAUDE.md").read_text()
