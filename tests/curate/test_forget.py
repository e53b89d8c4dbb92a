"""A forgotten session leaves no words in the catalog."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.curate.proposals import catalog_of, decide, proposal, seen

from session_memory.core.forget import ForgottenSessions
from session_memory.core.loop.catalog import Catalog
from session_memory.curate.catalog import read_catalog, write_patterns, write_proposals
from session_memory.curate.forget import Changed, forget_sessions, reworded, without_sessions

GONE = ForgottenSessions(frozenset({("claude", "s0")}))


def on_disk(data: Path) -> Catalog:
    """A pattern decided on twice, one that other sessions speak for, and a lone proposal."""
    others = tuple(item for item in seen(4) if item.session != "s0")
    lone = proposal("p3", evidence=seen(1))
    catalog = catalog_of(proposal("p1"), proposal("p2", evidence=others), lone)
    for name in ("p1", "p2", "p1"):
        catalog, _ = decide(catalog, "approve", name)
    write_proposals(data, catalog.proposals)
    write_patterns(data, catalog, ["p1", "p2"])
    return catalog


def test_its_words_and_name_go_from_every_version_and_proposal(tmp_path: Path) -> None:
    before = on_disk(tmp_path)
    untouched = (tmp_path / "catalog" / "p2.toml").read_bytes()
    assert forget_sessions(tmp_path, GONE) == Changed(touched=("p1",))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = "".join(path.read_text() for path in files)
    assert "claude:s0" not in kept and '"s0"' not in kept and "npm ERR! 0." not in kept
    assert "codex:s1" in kept and "npm ERR! 1." in kept
    assert (tmp_path / "catalog" / "p2.toml").read_bytes() == untouched
    after = read_catalog(tmp_path)
    assert set(after.proposals) == {"p1", "p2"}  # p3 was made of that session alone
    for old, new in zip(before.patterns["p1"].versions, after.patterns["p1"].versions, strict=True):
        assert (old.status, old.snapshot.frequency) == (new.status, new.snapshot.frequency)


def test_the_same_id_of_another_agent_is_another_session() -> None:
    catalog = catalog_of(proposal("p1"))
    assert without_sessions(catalog, ForgottenSessions(frozenset({("codex", "s0")}))) == catalog


def test_nothing_to_forget_writes_nothing(tmp_path: Path) -> None:
    assert forget_sessions(tmp_path / "none", GONE) == Changed()
    assert not (tmp_path / "none").exists()
    on_disk(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.toml")}
    assert (
        forget_sessions(tmp_path, ForgottenSessions(frozenset({("claude", "unknown")})))
        == Changed()
    )
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.toml")} == before


@pytest.mark.rows("FGT-05")
def test_a_lower_case_copy_of_a_word_goes_with_it() -> None:
    quoted = replace(seen(1)[0], quote="no, always deploy with ACME_KEY here")
    locus = "acme_key always deploy here"
    before = replace(
        proposal("p1", evidence=(quoted,)), locus=locus, text=f"The user had to correct: {locus}"
    )
    after = reworded(before, lambda text: text.replace("ACME_KEY", "[GONE]"))
    assert "acme_key" not in str(after).lower()
    assert after.locus == "[FORGOTTEN] always deploy here"
    assert reworded(before, lambda text: text) == before
