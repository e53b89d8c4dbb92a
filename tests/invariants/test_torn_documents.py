"""Logs that are rewritten whole, torn and mutated: no crash, and what is readable is kept."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import BUILDERS, DOCUMENTS
from tests.invariants.sizes import SIZES, record
from tests.invariants.test_torn import (
    Mutate,
    bad_utf8,
    byte_order_mark,
    cut_out,
    flipped,
    glued,
    lone_surrogate,
    nul_run,
    splice,
    strange_value,
    told,
    too_deep,
)
from tests.invariants.test_torn_rows import uncounted

from session_memory.adapters.common import LINE_CAP, Normalized
from session_memory.adapters.registry import adapter
from session_memory.testing.workspace import Workspace

MUTANTS: tuple[Mutate, ...] = (
    *(splice, glued, nul_run, byte_order_mark, bad_utf8, lone_surrogate),
    *(flipped, cut_out, too_deep, strange_value),
)


def parse(flavor: str, home: Path) -> Normalized:
    """What all sources of a home say."""
    reader, found = adapter(flavor), Normalized()
    for source in reader.discover(str(home)):
        for block in reader.read(source, 0, LINE_CAP):
            one = reader.parse(source, block, {})
            found.sessions += one.sessions
            found.parse_errors += one.parse_errors
            found.records += one.records
    return found


@pytest.mark.rows("CAP-22")
@pytest.mark.parametrize("flavor", DOCUMENTS)
def test_a_document_torn_at_any_byte_keeps_what_stands_before_the_tear(
    tmp_path: Path, flavor: str
) -> None:
    path = BUILDERS[flavor](7, 2).write(tmp_path)
    content = path.read_bytes()
    whole = [text for _, text in told(parse(flavor, tmp_path))]
    chance = random.Random(f"{SIZES.seed} {flavor}")
    cuts = sorted(chance.sample(range(len(content)), min(len(content), SIZES.parsed_cuts)))
    most = 0
    for cut in cuts:
        path.write_bytes(content[:cut])
        bundle = parse(flavor, tmp_path)
        found = [text for _, text in told(bundle)]
        assert len(found) >= most, f"torn at byte {cut}: a longer log told less"
        assert all(one in text for one, text in zip(found, whole, strict=False)), f"at {cut}"
        most = len(found)
    assert most >= len(whole) - 2
    record(f"torn documents, {flavor}", cuts=len(cuts), problems=0)


@pytest.mark.rows("CAP-22")
@pytest.mark.parametrize("flavor", DOCUMENTS)
def test_a_torn_document_that_is_completed_gives_the_store_of_a_whole_one(
    tmp_path: Path, flavor: str
) -> None:
    space = Workspace(tmp_path)
    path = BUILDERS[flavor](7, 2).write(space.flavor_home(flavor))
    content = path.read_bytes()
    whole = space.with_store("whole")
    whole.sweep()
    chance = random.Random(SIZES.seed)
    for number in range(SIZES.cuts):
        torn = space.with_store(f"torn-{number}")
        cut = chance.randrange(len(content))
        path.write_bytes(content[:cut])
        torn.sweep()
        path.write_bytes(content)
        torn.sweep()
        assert difference(uncounted(torn), uncounted(whole)) == [], f"torn at byte {cut}"
        assert [text for text in broken(torn) if not text.startswith("I4")] == []
    record(f"torn and swept, {flavor}", cuts=SIZES.cuts, problems=0, seed=SIZES.seed)


@pytest.mark.rows("CAP-22")
@pytest.mark.parametrize("flavor", DOCUMENTS)
def test_no_mutant_of_a_document_stops_the_reader(tmp_path: Path, flavor: str) -> None:
    path = BUILDERS[flavor](7, 2).write(tmp_path)
    content = path.read_bytes()
    whole = {text for _, text in told(parse(flavor, tmp_path))}
    chance = random.Random(f"{SIZES.seed} {flavor} mutants")
    kept = 0
    for number in range(SIZES.mutants // 4):
        mutate = MUTANTS[number % len(MUTANTS)]
        first = chance.randrange(len(content) - 2)  # no mutant of less than two bytes
        last = min(len(content), first + chance.randrange(2, 300))
        piece, rest = content[first:last], content[last:]
        path.write_bytes(content[:first] + mutate(piece, rest, chance).removesuffix(b"\n"))
        bundle = parse(flavor, tmp_path)
        found = {text for _, text in told(bundle)}
        kept += len(whole & found)
        msgspec.json.encode([text for _, text in told(bundle)])  # nothing that cannot be stored
    assert kept / (len(whole) * (SIZES.mutants // 4)) > 0.7
    record(f"mutants of documents, {flavor}", mutants=SIZES.mutants // 4, problems=0)
