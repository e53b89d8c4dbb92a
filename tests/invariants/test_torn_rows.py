"""Damaged records of OpenCode, in its database and its files, cost nothing but themselves."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import opencode
from tests.invariants.sizes import SIZES, record
from tests.invariants.test_torn import (
    Mutate,
    Told,
    bad_utf8,
    cut_out,
    flipped,
    lone_surrogate,
    repeated_key,
    strange_value,
    told,
    too_deep,
)

from session_memory.adapters.common import LINE_CAP, Normalized, decode_record
from session_memory.adapters.opencode.log_builder import OpenCodeLog
from session_memory.adapters.registry import adapter
from session_memory.testing.workspace import Workspace

MUTANTS: tuple[Mutate, ...] = (
    bad_utf8,
    lone_surrogate,
    repeated_key,
    flipped,
    cut_out,
    too_deep,
    strange_value,
)


def parse(home: Path) -> Normalized:
    """What the one session of a data directory says."""
    flavor = adapter("opencode")
    (source,) = flavor.discover(str(home))
    (block,) = flavor.read(source, 0, LINE_CAP)
    return flavor.parse(source, block, {})


def busy() -> OpenCodeLog:
    log = opencode(7, steps=2)
    log.prompt("and now?")
    log.say("all is well")
    log.fail("APIError", "overloaded")
    return log


def lost(before: list[Told], after: list[Told], own: set[str]) -> set[str]:
    """Texts that others than the damaged record tell, and that are told no more."""
    return {text for _, text in before} - {text for _, text in after} - own


@pytest.mark.parametrize("kind", ["session", "message", "part"])
def test_a_file_torn_at_any_byte_costs_only_its_own_record(tmp_path: Path, kind: str) -> None:
    busy().write_files(tmp_path)
    before = told(parse(tmp_path))
    chance, cuts = random.Random(f"{SIZES.seed} {kind}"), 0
    for path in sorted((tmp_path / "storage" / kind).rglob("*.json")):
        content = path.read_bytes()
        path.unlink()
        own = {text for _, text in before} - (
            set() if kind == "session" else {text for _, text in told(parse(tmp_path))}
        )
        every = range(len(content))
        for cut in sorted(chance.sample(every, min(len(every), SIZES.parsed_cuts // 25))):
            path.write_bytes(content[:cut])
            bundle = parse(tmp_path)
            if kind == "message":  # without it nobody says whose its parts are, but they are told
                own = of_messages(before)
                assert prompts(bundle) <= prompts_of(before), f"{path.name} torn at {cut}"
            assert lost(before, told(bundle), own) == set(), f"{path.name} torn at {cut}"
            assert bundle.parse_errors == 1, f"{path.name} torn at {cut}: not counted"
            cuts += 1
        path.write_bytes(content)
    assert told(parse(tmp_path)) == before
    record(f"torn files of opencode, {kind}", cuts=cuts, problems=0)


def prompts(bundle: Normalized) -> set[str]:
    return prompts_of(told(bundle))


def prompts_of(events: list[Told]) -> set[str]:
    return {text for kind, text in events if kind == "user_prompt"}


def of_messages(events: list[Told]) -> set[str]:
    """What takes a message's own record: how it failed, and what its steps cost."""
    return {text for kind, text in events if kind in ("error", "system")}


def test_a_torn_file_that_is_completed_gives_the_store_of_a_whole_one(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("opencode")
    busy().write_files(home)
    whole = space.with_store("whole")
    whole.sweep()
    chance = random.Random(SIZES.seed)
    files = sorted((home / "storage").rglob("*.json"))
    for number in range(SIZES.cuts):
        path = chance.choice(files)
        content = path.read_bytes()
        torn = space.with_store(f"torn-{number}")
        path.write_bytes(content[: chance.randrange(len(content))])
        torn.sweep()
        path.write_bytes(content)
        if path.parent.parent.name == "part":  # the client writes a message again after its parts
            (message,) = home.rglob(f"{path.parent.name}.json")
            message.write_bytes(message.read_bytes())
        torn.sweep()
        assert difference(uncounted(torn), uncounted(whole)) == [], path.name
        assert [text for text in broken(torn) if not text.startswith("I4")] == []
    record("torn and swept, opencode", cuts=SIZES.cuts, problems=0, seed=SIZES.seed)


def uncounted(space: Workspace) -> list[dict[str, object]]:
    """The dump without the number of events ever captured: those of nobody count there."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries


def test_no_mutant_of_a_row_costs_another_row(tmp_path: Path) -> None:
    busy().write(tmp_path)
    chance = random.Random(SIZES.seed)
    mutants = SIZES.mutants // 4
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as db:
        rows = [
            (table, *row)
            for table in ("message", "part")
            for row in db.execute(f"SELECT id, data FROM {table}")
        ]
    before = told(parse(tmp_path))
    for number in range(mutants):
        table, name, data = chance.choice(rows)
        mutate = MUTANTS[number % len(MUTANTS)]
        mutant = mutate(data.encode(), b"", chance).rstrip(b"\n")
        put(tmp_path, table, name, mutant)
        bundle = parse(tmp_path)
        own = of_messages(before)
        if table == "part":
            own |= own_texts(tmp_path, before, name)
        problem = f"{number} ({getattr(mutate, '__name__', '')}) of {table}"
        assert lost(before, told(bundle), own) == set(), problem
        if decode_record(mutant) is None:
            assert bundle.parse_errors, problem
        put(tmp_path, table, name, data)
    record("mutants of rows, opencode", mutants=mutants, problems=0, seed=SIZES.seed)


def put(home: Path, table: str, name: str, data: str | bytes) -> None:
    with closing(sqlite3.connect(home / "opencode.db")) as db, db:
        db.execute(f"UPDATE {table} SET data = CAST(? AS TEXT) WHERE id = ?", (data, name))


def own_texts(home: Path, before: list[Told], name: str) -> set[str]:
    """What nobody but one part tells."""
    put(home, "part", name, "{}")
    return {text for _, text in before} - {text for _, text in told(parse(home))}
