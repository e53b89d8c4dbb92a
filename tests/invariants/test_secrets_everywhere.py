"""A secret in every text of every record of every flavour: none of them is stored anywhere."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from tests.invariants.broken import Known, broken, core_of, everything_stored, leaked
from tests.invariants.planting import planted
from tests.invariants.sessions import FLAVORS, claude
from tests.invariants.sizes import SIZES, record

from session_memory.redact.engine import Redactor
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.workspace import Workspace

CALLS = ("save_cursor", "commit", "save_digest", "save_observations")


@pytest.mark.parametrize("flavor", FLAVORS)
def test_no_secret_of_any_field_is_stored(space: Workspace, flavor: str) -> None:
    secrets = planted(space, flavor)
    logs = space.log_hashes()
    report = space.sweep()
    assert report.failed == []
    assert broken(space, Known(secrets=secrets, logs=logs)) == []
    record(f"planted secrets, {flavor}", secrets=len(secrets), stored=0, problems=0)


@pytest.mark.parametrize("flavor", FLAVORS)
def test_the_check_finds_them_where_redaction_is_off(
    space: Workspace, flavor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redactor, "redact", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_json", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_text", lambda _self, text: text)
    secrets = planted(space, flavor)
    space.sweep()
    found = sum(1 for _ in leaked(space.store_directory, secrets))
    record(f"planted secrets, redaction off, {flavor}", secrets=len(secrets), found=found)
    assert found >= len(secrets) // 4  # client settings and second copies are not kept at all


@pytest.mark.parametrize("flavor", FLAVORS)
def test_no_secret_is_left_by_a_sweep_that_died_anywhere(tmp_path: Path, flavor: str) -> None:
    chance = random.Random(SIZES.seed)
    first = Workspace(tmp_path)
    secrets = planted(first, flavor)
    for number in range(SIZES.cuts // 2):
        space = first.with_store(f"store-{number}")
        call, nth = chance.choice(CALLS), chance.randint(1, 3)
        with contextlib.suppress(Stopped):
            space.sweep(open_as=lambda store, c=call, n=nth: StoppingStore(store, c, n))
        assert list(leaked(space.store_directory, secrets)) == [], f"{call} {nth}"


def test_a_secret_is_looked_for_in_compressed_texts_and_indexed_words(space: Workspace) -> None:
    """Otherwise the search would prove nothing about them."""
    log = claude(490)
    log.run("count", " ".join(f"word{n} blue whale {n * n}" for n in range(900)))
    space.write(log)
    space.sweep()
    stored = b"\n".join(everything_stored(space.store_directory)).lower()
    raw = b"\n".join(
        path.read_bytes() for path in space.store_directory.rglob("*") if path.is_file()
    )
    assert core_of("xxxxword321 blue whale 103041") in stored
    assert b"word321 blue whale 103041" not in raw
