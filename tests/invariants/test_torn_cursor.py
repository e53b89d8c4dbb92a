"""Damaged rows in the two databases of Cursor cost nothing but themselves."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.invariants.sessions import cursor
from tests.invariants.sizes import SIZES, record
from tests.invariants.test_torn import (
    Mutate,
    bad_utf8,
    cut_out,
    flipped,
    lone_surrogate,
    repeated_key,
    splice,
    strange_value,
    told,
    too_deep,
)

from session_memory.adapters.common import LINE_CAP, Normalized, decode_record
from session_memory.adapters.registry import adapter

MUTANTS: tuple[Mutate, ...] = (
    *(bad_utf8, lone_surrogate, repeated_key, flipped),
    *(cut_out, too_deep, strange_value, splice),
)
STORES = {
    "chat": (
        "blobs",
        "id",
        "data",
        "typeof(data) = 'blob' AND substr(data, 1, 1) = CAST('{' AS BLOB)",
    ),
    "editor": ("cursorDiskKV", "key", "value", "key LIKE 'bubbleId:%'"),
}


def parse(home: Path) -> Normalized:
    """What the one session of a home says."""
    reader = adapter("cursor")
    (source,) = reader.discover(str(home))
    (block,) = reader.read(source, 0, LINE_CAP)
    return reader.parse(source, block, {})


@pytest.mark.rows("CAP-26")
@pytest.mark.parametrize("store", STORES)
def test_no_mutant_of_a_row_costs_another_row(tmp_path: Path, store: str) -> None:
    log = cursor(7, steps=2)
    path = log.write_chat(tmp_path) if store == "chat" else log.write_editor(tmp_path)
    table, key, column, where = STORES[store]
    with closing(sqlite3.connect(path)) as db:
        rows = list(db.execute(f"SELECT {key}, CAST({column} AS BLOB) FROM {table} WHERE {where}"))
    before = {text for _, text in told(parse(tmp_path))}

    def put(name: str, data: bytes) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (data, name))

    own: dict[str, set[str]] = {}
    for name, data in rows:
        put(name, b"{}")
        own[name] = before - {text for _, text in told(parse(tmp_path))}
        put(name, data)
    chance = random.Random(f"{SIZES.seed} {store}")
    mutants = SIZES.mutants // 4
    for number in range(mutants):
        name, data = chance.choice(rows)
        mutate = MUTANTS[number % len(MUTANTS)]
        mutant = mutate(data, b"", chance).rstrip(b"\n")
        put(name, mutant)
        bundle = parse(tmp_path)
        problem = f"{number} ({getattr(mutate, '__name__', '')})"
        assert before - {text for _, text in told(bundle)} <= own[name], problem
        if decode_record(mutant) is None and mutant[:1] == b"{":
            assert bundle.parse_errors, problem
        put(name, data)
    record(f"mutants of rows, cursor {store}", mutants=mutants, problems=0, seed=SIZES.seed)
