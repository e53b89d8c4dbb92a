"""Packed logs, torn anywhere or with a flipped bit: named, and read once they are whole."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import BUILDERS, claude
from tests.invariants.sizes import SIZES, record

from session_memory.adapters.packed import pack_zstd
from session_memory.testing.workspace import Workspace

PACKED = {".gz": gzip.compress, ".zst": pack_zstd}
FLAVORS = ("claude", "codex", "pi", "droid")
"""Read by their tail and read whole, of the older agents and of a newer one."""


@pytest.mark.rows("ING-19", "CAP-47")
@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_damaged_packed_log_costs_nothing_but_itself(
    tmp_path: Path, flavor: str, suffix: str
) -> None:
    space = Workspace(tmp_path)
    pack: Callable[[bytes], bytes] = PACKED[suffix]
    plain = BUILDERS[flavor](7, 2).write(space.flavor_home(flavor))
    claude(9, 1).write(space.claude)
    path = plain.with_name(plain.name + suffix)
    content = pack(plain.read_bytes())
    plain.unlink()
    path.write_bytes(content)
    whole = space.with_store("whole")
    whole.sweep()
    expected = whole.dump()
    assert len(expected) == 2
    chance = random.Random(SIZES.seed)
    named = 0
    for number in range(SIZES.cuts):
        at = chance.randrange(len(content))
        torn = bytearray(content)
        if suffix == ".gz" and number % 2:  # zstd packs without a sum that would tell
            torn[at] ^= 1 << chance.randrange(8)
        else:
            del torn[at:]
        swept = space.with_store(f"torn-{number}")
        path.write_bytes(bytes(torn))
        report = swept.sweep()
        named += any(failure.path == str(path) for failure in report.failed)
        assert len(swept.sessions()) >= 1, f"{number}: the other log was not read"
        path.write_bytes(content)
        assert swept.sweep().failed == []
        assert difference(swept.dump(), expected) == [], f"{number}: byte {at}"
        assert broken(swept) == []
    assert named
    record(f"packed logs, {flavor}{suffix}", cuts=SIZES.cuts, named=named, problems=0)
