"""`show` opens what a search found."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.cli.test_pack_recall_verbs import run, space

from session_memory.cli.app import App, cli
from session_memory.memory.layout import MEMORY, memory_root
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("SRC-14")
def test_every_found_line_names_what_show_jumps_to(space: Workspace) -> None:
    lines = run(space, "search", "mend house").splitlines()
    names = [line.split()[2] for line in lines if line.startswith("  2026-")]
    assert len(names) == 4
    for name in names:
        shown = run(space, "show", name)
        assert f"  {name}\n" in shown
        assert "mend the house" in shown
    (item, *_) = json.loads(run(space, "search", "tiles", "--json"))["items"]
    for reference in (item["id"], str(item["turn_id"])):
        assert "buy tiles" in run(space, "show", reference)
    assert "is not stored" in run_error(space, "show", f"{item['session_id']}:9999")


@pytest.mark.rows("SRC-17")
def test_a_line_of_memory_is_found_and_shown_with_what_it_rests_on(space: Workspace) -> None:
    (item, *_) = json.loads(run(space, "search", "tiles", "--json"))["items"]
    folder = memory_root(space.store_directory, item["project_root_path"])
    folder.mkdir(parents=True)
    line = f"- Tiles are kept in the cellar [e:{item['turn_id']}]\n"
    (folder / MEMORY).write_text(f"# Memory\n\n{line}", encoding="utf-8")
    printed = run(space, "search", "tiles in the cellar")
    assert f"MEMORY.md of {item['project_key']}\n" in printed
    name = next(one.split()[0] for one in printed.splitlines() if "memory: Tiles" in one)
    shown = run(space, "show", name)
    assert shown.startswith("Tiles are kept in the cellar\nin ")
    assert "buy tiles" in shown
    assert json.loads(run(space, "show", name, "--json"))["line"] == "Tiles are kept in the cellar"


def run_error(space: Workspace, *arguments: str) -> str:
    app = App(space.environ(), clock=lambda: space.now)
    result = CliRunner().invoke(
        cli, ["--config", str(space.write_config()), *arguments], obj=app, standalone_mode=False
    )
    return str(result.exception)
