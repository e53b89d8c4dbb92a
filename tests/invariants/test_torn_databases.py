"""Databases torn anywhere, and mutants of their rows: no crash, and no other row is lost."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import STORED
from tests.invariants.sizes import SIZES, record
from tests.invariants.test_torn import told
from tests.invariants.test_torn_documents import parse
from tests.invariants.test_torn_rows import MUTANTS, uncounted

from session_memory.testing.workspace import Workspace

pytestmark = [pytest.mark.rows("CAP-40"), pytest.mark.parametrize("shape", STORED)]


def test_a_database_torn_at_any_byte_is_read_or_reported(tmp_path: Path, shape: str) -> None:
    space = Workspace(tmp_path)
    path = STORED[shape](7, 2).write(space.flavor_home(flavor_of(shape)))
    content = path.read_bytes()
    whole = space.with_store("whole")
    whole.sweep()
    chance = random.Random(f"{SIZES.seed} {shape}")
    reported = 0
    for number in range(SIZES.cuts):
        torn = space.with_store(f"torn-{number}")
        cut = chance.randrange(len(content))
        path.write_bytes(content[:cut])
        report = torn.sweep()
        told_of = bool(report.failed or report.parse_errors)
        reported += told_of
        assert report.failed_steps == [], f"torn at byte {cut}"
        assert told_of or uncounted(torn) == uncounted(whole), f"torn at byte {cut}: not counted"
        path.write_bytes(content)
        torn.sweep()
        assert difference(uncounted(torn), uncounted(whole)) == [], f"torn at byte {cut}"
        assert [text for text in broken(torn) if not text.startswith("I4")] == []
    assert reported > 0
    record(f"torn databases, {shape}", cuts=SIZES.cuts, problems=0, seed=SIZES.seed)


def test_no_byte_of_a_database_stops_the_sweep(tmp_path: Path, shape: str) -> None:
    space = Workspace(tmp_path)
    path = STORED[shape](7, 2).write(space.flavor_home(flavor_of(shape)))
    content = path.read_bytes()
    chance = random.Random(f"{SIZES.seed} {shape} bytes")
    for number in range(SIZES.cuts):
        first = chance.randrange(len(content))
        length = chance.randrange(1, 400)
        noise = chance.randbytes(len(content[first : first + length]))
        path.write_bytes(content[:first] + noise + content[first + length :])
        hurt = space.with_store(f"hurt-{number}")
        report = hurt.sweep()
        assert report.failed_steps == [], f"{length} bytes at {first}"
        assert [text for text in broken(hurt) if not text.startswith("I4")] == []
    record(f"noise in databases, {shape}", mutants=SIZES.cuts, problems=0, seed=SIZES.seed)


def test_no_mutant_of_a_row_costs_another_row(tmp_path: Path, shape: str) -> None:
    log: Any = STORED[shape](7, 2)
    flavor = flavor_of(shape)
    path = log.write(tmp_path)
    table, column = log.json_column
    chance = random.Random(f"{SIZES.seed} {shape} mutants")
    with closing(sqlite3.connect(path)) as db:
        rows = dict(db.execute(f"SELECT rowid, {column} FROM {table}"))
    before = {text for _, text in told(parse(flavor, tmp_path))}
    own = {row: before - without(log, path, row, flavor, tmp_path) for row in rows}
    mutants = SIZES.mutants // 8
    for number in range(mutants):
        row, data = chance.choice(list(rows.items()))
        mutate = MUTANTS[number % len(MUTANTS)]
        piece = data if isinstance(data, bytes) else data.encode()
        put(log, path, row, mutate(piece, b"", chance).rstrip(b"\n"))
        bundle = parse(flavor, tmp_path)
        found = {text for _, text in told(bundle)}
        assert before - found - own[row] == set(), f"{number} in row {row}"
        msgspec.json.encode(sorted(found))  # nothing that cannot be stored
        put(log, path, row, data)
    record(f"mutants of rows, {shape}", mutants=mutants, problems=0, seed=SIZES.seed)


def flavor_of(shape: str) -> str:
    return shape.split()[0]


def put(log: Any, path: Path, row: int, data: str | bytes) -> None:
    table, column = log.json_column
    kind = "TEXT" if isinstance(data, str) or log.json_is_text else "BLOB"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE {table} SET {column} = CAST(? AS {kind}) WHERE rowid = ?", (data, row))


def without(log: Any, path: Path, row: int, flavor: str, home: Path) -> set[str]:
    """What is told where one row holds nothing."""
    table, column = log.json_column
    with closing(sqlite3.connect(path)) as db:
        ((data,),) = db.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,))
    put(log, path, row, "[]")
    found = {text for _, text in told(parse(flavor, home))}
    put(log, path, row, data)
    return found
