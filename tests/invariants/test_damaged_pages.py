"""One page of the database overwritten, or all of it removed: `repair` makes it equal, or names it.

The logs are there, so that everything they tell must come back. What only the database knew (a
note, a decision, a forgetting) is read around the bad page, or named as lost.
"""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from tests.invariants.broken import difference, everything_stored
from tests.invariants.flows import ADDRESS, write_logs
from tests.invariants.sessions import write_flavors
from tests.invariants.sizes import SIZES, record

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.settings.load import variable
from session_memory.store.sqlite.connection import PAGE_SIZE
from session_memory.testing.workspace import Workspace

Output = pytest.CaptureFixture[str]


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Sessions of every flavour, one text forgotten; `template` keeps the store."""
    space = Workspace(tmp_path)
    write_logs(space.claude, sessions=2)
    write_flavors(space, count=1)
    log = ClaudeLog(490)
    log.prompt(f"I moved to {ADDRESS}")
    log.say("noted")
    space.write(log)
    space.sweep()
    space.forget(text=ADDRESS)
    space.sweep()
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", str(space.write_config()))
    monkeypatch.setenv(variable("store.path"), str(space.store_directory))
    shutil.copytree(space.store_directory, tmp_path / "template")
    return space


def start_again(space: Workspace) -> Path:
    shutil.rmtree(space.store_directory)
    shutil.copytree(space.root / "template", space.store_directory)
    return space.store_directory / "store.db"


def mended(space: Workspace, capsys: Output) -> bool:
    """Repair, and check what must hold; returns whether a loss was named."""
    capsys.readouterr()
    code = main(["store", "repair", "--apply", "--json"])
    out, err = capsys.readouterr()
    assert code in (0, 3), err
    assert space.findings() == []
    return any(entry["lost"] for entry in json.loads(out)["repairs"])


@pytest.mark.rows("STO-14")
def test_one_damaged_page_anywhere_is_mended_or_named(space: Workspace, capsys: Output) -> None:
    before, chance = space.dump(), random.Random(SIZES.seed)
    equal = named = 0
    for number in range(SIZES.pages):
        database = start_again(space)
        page = chance.randrange(database.stat().st_size // PAGE_SIZE)
        with database.open("r+b") as file:
            file.seek(page * PAGE_SIZE)
            file.write(chance.randbytes(PAGE_SIZE))
        lost = mended(space, capsys)
        differs = difference(space.dump(), before)
        assert lost or not differs, f"place {number}, page {page + 1}: {differs}"
        equal += not differs
        named += lost
        assert ADDRESS not in str(space.dump()), f"place {number}, page {page + 1}"
    record(
        "damaged pages",
        pages=SIZES.pages,
        equal=equal,
        loss_named=named,
        problems=0,
        seed=SIZES.seed,
    )
    assert equal == SIZES.pages  # the logs are there: what they tell is never lost


@pytest.mark.rows("STO-14", "STO-15")
@pytest.mark.parametrize("swept", [False, True])
def test_a_removed_database_is_made_again(space: Workspace, capsys: Output, swept: bool) -> None:
    before = space.dump()
    start_again(space).unlink()
    if swept:
        assert main(["sweep"]) == 3
    assert mended(space, capsys), "what only the database knew is named"
    assert difference(space.dump(), before) == []
    word = ADDRESS.encode()
    assert not any(word in stored for stored in everything_stored(space.store_directory))
