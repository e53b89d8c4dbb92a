"""The catalog on disk: plain files that say everything, and nothing half."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.curate.proposals import POLICY, catalog_of, decide, proposal

from session_memory.core.loop.catalog import Catalog, Evidence, Pattern, PatternVersion, Snapshot
from session_memory.curate.catalog import (
    changing,
    from_text,
    index_text,
    missing,
    read_catalog,
    to_text,
    write_patterns,
    write_proposals,
)
from session_memory.curate.review import awaits_decision, distributable
from session_memory.errors import Refused

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        '"""',
        '\\"',
        "a\r\nb",
        "\n",
        "\n\n x \n",
        "'''",
        "\\",
        'end"',
        "\u202e",
        "\x00\x7f\x85",
        "𝄞\n",
    ]
)
MOMENT = st.integers(0, 2**53)
SNAPSHOT = st.builds(
    Snapshot,
    frequency=st.integers(0, 9),
    sessions=st.integers(0, 9),
    cost_impact=st.floats(0, 1e9),
    flavors=st.lists(TEXT, max_size=2).map(tuple),
    repos=st.lists(TEXT, max_size=2).map(tuple),
    first_seen=st.none() | MOMENT,
    session_ids=st.lists(TEXT, max_size=3).map(tuple),
)
EVIDENCE = st.builds(
    Evidence,
    session=TEXT,
    flavor=TEXT,
    repo=st.none() | TEXT,
    at=st.none() | MOMENT,
    quote=TEXT,
    cost=st.floats(0, 1e300),
)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Any pattern there can be."""
    versions: list[PatternVersion] = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        status = draw(st.sampled_from(["candidate", "provisional", "approved", "retired"]))
        version = PatternVersion(
            number=number,
            revision=draw(st.integers(1, 99)),
            status=status,
            action=draw(st.sampled_from(["approve", "undo", "edit"])),
            who=draw(TEXT),
            at=draw(MOMENT),
            text=draw(TEXT),
            why=draw(TEXT),
            distribution_ready=status == "approved",
            superseded_by=draw(st.none() | TEXT),
            undoes=draw(st.none() | st.integers(1, 99)),
            snapshot=draw(SNAPSHOT),
            evidence=tuple(draw(st.lists(EVIDENCE, max_size=2))),
        )
        versions.append(version)
    kind = draw(st.sampled_from(["problem", "success"]))
    return Pattern("p1", kind, draw(TEXT), draw(TEXT), draw(TEXT), tuple(versions))


@pytest.mark.rows("CUR-11")
@given(patterns())
@settings(max_examples=80)
def test_a_pattern_is_the_same_after_its_file_and_after_a_record_of_a_database(
    pattern: Pattern,
) -> None:
    text = to_text(pattern)
    assert from_text(text) == pattern
    assert to_text(from_text(text)) == text
    record = msgspec.json.encode(pattern)
    assert to_text(msgspec.json.decode(record, type=Pattern)) == text


def decided(data: Path) -> Catalog:
    """Two approved patterns, on disk."""
    catalog, _ = decide(catalog_of(proposal("p1"), proposal("p2")), "approve", "p1")
    catalog, _ = decide(catalog, "approve", "p2")
    write_proposals(data, catalog.proposals)
    write_patterns(data, catalog, ["p1", "p2"])
    return catalog


def contents(data: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (data / "catalog").iterdir()}


@pytest.mark.rows("CUR-11")
def test_what_is_written_is_read_and_one_decision_changes_one_file_and_the_index(
    tmp_path: Path,
) -> None:
    catalog = decided(tmp_path)
    assert read_catalog(tmp_path) == catalog
    before = contents(tmp_path)
    assert sorted(before) == ["index.toml", "p1.toml", "p2.toml"]
    after, _ = decide(catalog, "retire", "p2")
    write_patterns(tmp_path, after, ["p2"])
    now = contents(tmp_path)
    assert {name for name in now if now[name] != before.get(name)} == {"index.toml", "p2.toml"}
    assert now["p2.toml"].startswith(before["p2.toml"])  # in a diff: lines added, none changed
    index = tomllib.loads(now["index.toml"].decode())
    assert index["revision"] == 3
    assert [(row["id"], row["status"], row["version"]) for row in index["patterns"]] == [
        ("p1", "approved", 1),
        ("p2", "retired", 2),
    ]


def test_a_file_is_parsed_again_only_when_its_text_changed(tmp_path: Path) -> None:
    decided(tmp_path)
    before = read_catalog(tmp_path).patterns
    assert all(read_catalog(tmp_path).patterns[name] is before[name] for name in before)
    file = tmp_path / "catalog" / "p1.toml"
    seen, old = file.stat(), before["p1"].text
    file.write_text(file.read_text().replace(old, old.swapcase()))  # as long, in the same file
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    now = read_catalog(tmp_path).patterns
    assert now["p1"].text == old.swapcase()
    assert now["p2"] is before["p2"]


def test_nothing_there_is_an_empty_catalog_and_reading_makes_nothing(tmp_path: Path) -> None:
    assert read_catalog(tmp_path / "none") == Catalog()
    assert list(tmp_path.glob("none*")) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
def test_only_the_owner_can_read_the_catalog(tmp_path: Path) -> None:
    decided(tmp_path)
    with changing(tmp_path):
        found = [tmp_path / "catalog", *tmp_path.rglob("*.*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in found if path.is_dir()} == {0o700}


def test_a_text_edited_in_the_file_counts_once_it_is_decided_on(tmp_path: Path) -> None:
    catalog = decided(tmp_path)
    file = tmp_path / "catalog" / "p1.toml"
    old = proposal("p1").text
    file.write_text(file.read_text().replace(old, "By hand.", 1))
    edited = read_catalog(tmp_path)
    assert edited.patterns["p1"].is_edited and awaits_decision(edited, "p1", POLICY)
    assert distributable(edited, POLICY)[0].current.text == old
    retired, _ = decide(edited, "retire")
    assert (retired.patterns["p1"].text, retired.patterns["p1"].current.text) == ("By hand.", old)
    approved, _ = decide(edited, "approve")
    assert approved.patterns["p1"].current.text == "By hand."
    assert not approved.patterns["p1"].is_edited
    assert catalog.patterns["p1"].versions == approved.patterns["p1"].versions[:1]


def test_a_hand_that_writes_approved_does_not_get_past_the_gate(tmp_path: Path) -> None:
    catalog = decided(tmp_path)
    thin = replace(catalog.patterns["p1"].current, snapshot=Snapshot(frequency=1, sessions=1))
    forged = replace(catalog.patterns["p1"], versions=(thin,))
    write_patterns(tmp_path, catalog.with_pattern(forged), ["p1"])
    found = read_catalog(tmp_path)
    assert found.status("p1") == "approved"
    assert [item.id for item in distributable(found, POLICY)] == ["p2"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('id = "p1"', 'id = "p2"', "holds the rule p2"),
        ('id = "p1"', 'id = "../p1"', "a rule's id is"),
        ('status = "approved"', 'status = "provisional"', "exactly when"),
        ('status = "approved"', 'status = "splendid"', "Invalid enum value"),
        ("number = 1", "number = 2", "without a gap"),
        ("revision = 1", "revision = ", "Invalid value"),
    ],
)
def test_a_file_that_makes_no_sense_stops_the_review_and_is_named(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    decided(tmp_path)
    file = tmp_path / "catalog" / "p1.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(Refused, match=r"p1\.toml") as refused:
        read_catalog(tmp_path)
    assert reason in refused.value.message


def test_bytes_that_are_no_text_and_proposals_that_are_none_are_refused(tmp_path: Path) -> None:
    decided(tmp_path)
    (tmp_path / "proposals.json").write_bytes(b'[{"id": 1}]')
    with pytest.raises(Refused, match=r"cannot read .*proposals\.json"):
        read_catalog(tmp_path)
    (tmp_path / "catalog" / "p1.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="cannot read the rule"):
        read_catalog(tmp_path)


def test_a_lost_file_is_noticed_from_the_index_and_a_lost_index_is_made_again(
    tmp_path: Path,
) -> None:
    catalog = decided(tmp_path)
    assert missing(tmp_path, catalog) == ()
    (tmp_path / "catalog" / "p1.toml").unlink()
    assert missing(tmp_path, read_catalog(tmp_path)) == ("p1",)
    (tmp_path / "catalog" / "index.toml").write_text("no toml")
    left = read_catalog(tmp_path)
    assert missing(tmp_path, left) == ()
    write_patterns(tmp_path, left, [])
    assert (tmp_path / "catalog" / "index.toml").read_text() == index_text(left)


def test_a_catalog_that_is_a_link_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "catalog").symlink_to(elsewhere)
    catalog, _ = decide(catalog_of(proposal()), "approve")
    with pytest.raises(Refused, match="symbolic link"):
        write_patterns(tmp_path / "data", catalog, ["p1"])
    assert list(elsewhere.iterdir()) == []
