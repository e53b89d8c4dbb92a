"""`distribute` from logs to files and back, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.distribute.scenes import HOUR, Desk, repository, tree

from session_memory import audit
from session_memory.adapters.claude.log_builder import START, ClaudeLog


@pytest.mark.rows("DIS-01", "DIS-02", "DIS-06")
def test_from_corrections_in_sessions_to_a_line_and_back(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="# Shop\n")
    other = repository(tmp_path, "other", CLAUDE="# Other\n")
    desk.write(ClaudeLog(90, cwd=str(other)))
    before = tree(shop, other)
    name = desk.corrected(shop)
    out = desk.run("rules", "distribute", "--dry-run")
    assert f"+- Run make verify, not pytest. [sm-{name}]" in out and tree(shop, other) == before
    assert "seal=" not in out  # its value is not known before the first write
    desk.run("rules", "distribute")
    assert (shop / "CLAUDE.md").read_text().startswith("# Shop\n\n<!-- session-memory:begin v2")
    for file in ("CLAUDE.md", "AGENTS.md"):
        assert f"- Run make verify, not pytest. [sm-{name}]\n" in (shop / file).read_text()
    assert tree(other) == {path: before[path] for path in tree(other)}
    after = tree(shop)
    assert desk.json("rules", "distribute")["changes"] == [] and tree(shop) == after
    assert {row["state"] for row in desk.json("rules", "files")["files"]} == {"in place"}
    desk.run("rules", "withdraw", "--all")
    assert tree(shop, other) == before
    assert desk.json("rules", "files")["files"] == []


@pytest.mark.rows("DIS-01")
def test_only_what_is_ready_is_given_whatever_else_the_catalog_holds(
    desk: Desk, tmp_path: Path
) -> None:
    shop = repository(tmp_path, "shop")
    for seed in range(1, 4):
        log = ClaudeLog(seed, cwd=str(shop), start=START + seed * HOUR)
        log.prompt("ship it")
        for command in ("git push origin main", "npm run deploy", "terraform apply"):
            log.run(command, "fatal: refused", exit_code=1)
            log.run(command, "fatal: refused", exit_code=1)
        desk.write(log)
    desk.learn()
    rows = {row["locus"]: row["id"] for row in desk.json("rules", "list")["patterns"]}
    push, deploy, plan = (
        next(name for locus, name in rows.items() if locus.startswith(word))
        for word in ("git push", "npm run", "terraform")
    )
    desk.run("rules", "reject", deploy, "--reason", "no")
    high = ("--set", "curate.gate.distribute_min_sessions=9")
    desk.run(*high, "rules", "approve", plan)
    assert desk.json("rules", "show", plan)["pattern"]["status"] == "provisional"
    desk.run("rules", "approve", push)
    desk.run("rules", "distribute")
    text = "".join(path.read_text() for path in shop.rglob("*.md"))
    assert push in text and not any(name in text for name in rows.values() if name != push)
    desk.run("rules", "retire", push)
    assert [row["why"] for row in desk.json("rules", "distribute")["changes"]] == [
        "nothing to give any more"
    ] * 2
    assert list(shop.rglob("*.md")) == []


def test_floors_that_rose_since_take_the_line_out_again(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n", AGENTS="mine\n")
    desk.corrected(shop)
    desk.run("rules", "distribute")
    desk.run("--set", "curate.gate.distribute_min_sessions=9", "rules", "distribute")
    assert (shop / "CLAUDE.md").read_text() == (shop / "AGENTS.md").read_text() == "mine\n"


def test_a_repository_that_asks_to_be_left_alone_is(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    desk.corrected(shop)
    (shop / ".session-memory.toml").write_text("enabled = false\n")
    refused = desk.json("rules", "distribute", code=3)["refused"]
    assert [row["where"] for row in refused] == [str(shop)]
    assert "left alone" in refused[0]["why"] and list(shop.rglob("*.md")) == []


def test_every_write_is_in_the_audit_with_hashes(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    desk.corrected(shop)
    before = (shop / "CLAUDE.md").read_bytes()
    desk.run("--set", "distribute.targets=CLAUDE.md", "rules", "distribute")
    after = (shop / "CLAUDE.md").read_bytes()
    (line,) = audit.read(desk.data)
    assert (line.by, line.path) == ("distribute", str(shop / "CLAUDE.md"))
    assert (line.before, line.after) == (audit.sha256(before), audit.sha256(after))
    desk.run("rules", "withdraw", "--repo", str(shop))
    back = audit.read(desk.data)[-1]
    assert (back.before, back.after) == (line.after, line.before)
    assert (desk.data / audit.FILE).stat().st_mode & 0o777 == 0o600
    assert (desk.data / "distribution.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.rows("DIS-06")
def test_a_catalog_that_cannot_be_read_does_not_stop_an_undo(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, CLAUDE="# Shop\n")
    name = desk.corrected(shop)
    desk.run("rules", "distribute")
    (desk.data / "catalog" / f"{name}.toml").write_text("a = ")
    assert "CLAUDE.md: its rules were removed" in desk.run("rules", "withdraw", "--all")
    assert (shop / "CLAUDE.md").read_text() == "# Shop\n"


@pytest.mark.rows("DIS-06")
def test_what_was_taken_out_is_not_missing(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, CLAUDE="# Shop\n")
    desk.corrected(shop)
    desk.run("rules", "distribute")
    file = shop / "CLAUDE.md"
    file.write_text(file.read_text().replace("Run make", "Do run make"))
    desk.run("rules", "withdraw", "--all", "--force")
    (left,) = desk.json("rules", "files")["files"]
    assert left["state"] == "taken out" and "Do run make" in left["replaced"][0]


def test_wrong_usage_is_explained(desk: Desk, tmp_path: Path) -> None:
    desk.write(ClaudeLog(1, cwd=str(repository(tmp_path))))
    desk.run("sweep")
    desk.run("rules", "withdraw", code=2)
    desk.run("rules", "withdraw", "--all", "--repo", ".", code=2)
    desk.run("rules", "distribute", "--dry-run", "status", code=2)
    desk.run("rules", "distribute", "--repo", str(tmp_path), code=1)
    assert "no repository known" in desk.err
    desk.run("rules", "withdraw", "--repo", str(tmp_path), code=1)
    assert "nothing is distributed in" in desk.err and "rules files" in desk.err
    desk.run("--set", "distribute.targets=README.md", "rules", "distribute", code=4)
    assert "CLAUDE.md" in desk.err
    desk.run("rules", "withdraw", "--rule", "sm-none", code=1)
    assert desk.run("rules", "files").strip() == "nothing is distributed"


def test_the_module_is_the_verb(tmp_path: Path) -> None:
    from session_memory.testing.workspace import Workspace

    space = Workspace(tmp_path / "space")
    space.write(ClaudeLog(1))
    space.sweep()
    config = str(space.write_config())
    done = space.run_process("--config", config, "--json", module="session_memory.distribute")
    assert done.returncode == 0 and json.loads(done.stdout)["changes"] == []
