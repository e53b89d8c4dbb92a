"""What a sweep says it did, and what it does with what it cannot read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.common import (
    Adapter,
    Block,
    Json,
    Normalized,
    SourceFile,
)
from session_memory.adapters.registry import adapters
from session_memory.ingest.sweep import sweep
from session_memory.settings import Redact
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


def talk(seed: int = 1, *, cwd: str = "/work/shop") -> ClaudeLog:
    log = ClaudeLog(seed, cwd=cwd)
    log.prompt("what is in this directory?")
    log.run("ls", "README.md")
    log.say("only a README")
    return log


# --- numbers that add up --------------------------------------------------------------------------


@pytest.mark.rows("ING-04", "DIG-02")
def test_the_counts_of_a_report_add_up(space: Workspace) -> None:
    files = write_samples(space.claude)
    first = space.sweep()
    counts = (first.discovered, first.ingested, first.skipped_unchanged, len(first.failed))
    assert counts == (len(files), len(files), 0, 0)
    assert first.analyzed == first.sessions == len(space.sessions())
    grown = ClaudeLog(101, cwd="/home/dev/shop")
    with files[0].open("ab") as log:
        grown.prompt("thank you")
        log.write(grown.dump())
    (space.claude / "projects" / "p").mkdir()
    (space.claude / "projects" / "p" / "gone.jsonl").symlink_to("nowhere")
    second = space.sweep()
    assert second.discovered == second.ingested + second.skipped_unchanged + len(second.failed)
    assert (second.ingested, second.skipped_unchanged) == (1, len(files) - 1)
    # the digest of the grown session is the only new or updated one
    assert second.analyzed == 1


@pytest.mark.rows("ING-01")
def test_a_sweep_discovers_normalizes_stores_digests_and_evicts(space: Workspace) -> None:
    files = write_samples(space.claude)
    space.set_retention(raw_soft_cap_bytes=1)
    report = space.sweep()
    assert report.discovered == len(files)
    assert report.records > 0
    assert report.events > 0
    assert report.analyzed == report.sessions > 0
    assert report.retention.soft == report.sessions
    assert {found.state for found in space.sessions().values()} == {"raw_evicted"}
    # evicted after it was digested: every digest was made from events
    assert all((space.digest(name) or pytest.fail(name)).events for name in space.sessions())


@pytest.mark.rows("DIG-01", "CAP-10")
def test_every_session_has_a_flavour_and_one_digest_with_an_outcome(space: Workspace) -> None:
    write_samples(space.claude)
    space.sweep()
    sessions = space.sessions()
    assert len(sessions) == 6
    for name, found in sessions.items():
        digest = space.digest(name)
        assert digest is not None
        assert digest.outcome in {"success", "partial", "fail", "uncertain"}
        assert found.flavor == digest.flavor == "claude"


@pytest.mark.rows("DIG-02")
def test_a_session_that_is_digested_twice_in_a_sweep_counts_once(space: Workspace) -> None:
    """A session in two files, with a commit while another file is read between them."""
    log, other = talk(), ClaudeLog(9)
    other.prompt("something else")
    lines = log.dump().splitlines(keepends=True)
    homes = [space.root / name for name in "abc"]  # read in this order
    for home, data in zip(homes, (lines[:2], [other.dump()], lines[2:]), strict=True):
        path = log.path(home)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"".join(data))
    space.paths["claude"] = tuple(map(str, homes))
    space.set_ingest(commit_bytes=1)
    said: list[str] = []
    report = sweep(msgspec.structs.replace(space.sweep_context(), log=said.append))
    twice = space.session(log.session_id).id
    assert said.count(f"digest session {twice}") == 2
    assert report.analyzed == report.sessions == 2
    assert sorted(report.digested) == [twice, space.session(other.session_id).id]


def test_unknown_records_are_named_by_client_version(space: Workspace) -> None:
    log = talk()
    log.version = "2.9.0"
    log.row("hologram", shape="cube")
    log.row("hologram", shape="ball")
    space.write(log)
    report = space.sweep()
    assert report.unknown == {"claude 2.9.0: hologram": 2}
    assert not report.needs_attention


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.rows("CAP-13")
def test_a_bad_line_costs_only_itself(space: Workspace) -> None:
    log = talk()
    lines = log.dump().splitlines(keepends=True)
    broken = b"".join([*lines[:2], b"no json at all\n", *lines[2:], b'{"type":"user","mess'])
    path = log.path(space.claude)
    path.parent.mkdir(parents=True)
    path.write_bytes(broken)
    report = space.sweep()
    assert (report.parse_errors, report.incomplete_tail) == (1, 1)
    assert len(space.events(log.session_id)) == len(lines)


def test_a_line_over_the_cap_is_passed_over_and_counted(space: Workspace) -> None:
    log = talk()
    log.say("x" * 50_000)
    log.say("after the long one")
    space.write(log)
    space.set_ingest(line_cap_bytes=20_000)
    report = space.sweep()
    assert report.too_long == 1
    assert [event.text for event in space.events(log.session_id)][-1] == "after the long one"
    assert len(space.events(log.session_id)) == len(log.rows) - 1


def test_an_empty_file_is_no_session(space: Workspace) -> None:
    path = space.claude / "projects" / "p" / "empty.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    report = space.sweep()
    assert (report.discovered, report.ingested, report.sessions) == (1, 1, 0)
    assert space.sweep().skipped_unchanged == 1


class Vanishing(msgspec.Struct):
    """Discovery that sees one file more than there is by the time it is opened."""

    real: Adapter

    def discover(self, root: str) -> Iterator[SourceFile]:
        for file in self.real.discover(root):
            if "vanishing" in file.path:
                os.unlink(file.path)
            yield file


@pytest.mark.rows("ING-08")
def test_a_file_that_vanishes_before_it_is_opened_fails_alone(space: Workspace) -> None:
    log = talk()
    space.write(log, talk(2, cwd="/work/vanishing"))
    real = adapters()["claude"]
    hidden = msgspec.structs.replace(real, discover=Vanishing(real).discover)
    space.adapters = {"claude": hidden}
    report = space.sweep()
    assert [failure.reason for failure in report.failed] == ["No such file or directory"]
    assert "vanishing" in report.failed[0].path
    assert report.needs_attention
    assert report.discovered == report.ingested + len(report.failed) == 2
    assert list(space.sessions()) == [log.session_id]


@pytest.mark.rows("ING-08")
def test_a_parser_that_breaks_on_one_file_leaves_the_others(space: Workspace) -> None:
    good, bad = talk(1), talk(2, cwd="/work/bad")
    space.write(good, bad)
    real = adapters()["claude"]

    def parse(file: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
        if "bad" in file.path:
            raise KeyError("shape nobody expected")
        return real.parse(file, block, state)

    space.adapters = {"claude": msgspec.structs.replace(real, parse=parse)}
    report = space.sweep()
    assert [failure.path for failure in report.failed] == [str(bad.path(space.claude))]
    assert "shape nobody expected" in report.failed[0].reason
    assert list(space.sessions()) == [good.session_id]
    space.adapters = {"claude": real}  # the parser is mended: what failed is read now
    assert space.sweep().ingested == 1
    assert set(space.sessions()) == {good.session_id, bad.session_id}
    assert space.findings() == []


@pytest.mark.parametrize("kind", ["directory", "dangling link", "pipe"])
def test_what_only_looks_like_a_log_is_not_waited_for(space: Workspace, kind: str) -> None:
    log = talk()
    (path,) = space.write(log)
    odd = path.with_name("odd.jsonl")
    if kind == "directory":
        odd.mkdir()
    elif kind == "dangling link":
        odd.symlink_to("nowhere")
    else:
        os.mkfifo(odd)
    report = space.sweep()
    assert report.ingested == 1
    assert list(space.sessions()) == [log.session_id]


# --- nothing is written ---------------------------------------------------------------------------


@pytest.mark.rows("ING-02")
def test_a_dry_run_counts_and_leaves_no_trace(space: Workspace) -> None:
    files = write_samples(space.claude)
    before = sorted(space.root.rglob("*"))
    report = space.sweep(dry_run=True)
    assert sorted(space.root.rglob("*")) == before
    assert not space.store_directory.exists()
    assert (report.dry_run, report.discovered, report.ingested) == (True, len(files), len(files))
    wet = space.sweep()
    assert (report.records, report.events, report.sessions, report.bytes_read) == (
        wet.records,
        wet.events,
        wet.sessions,
        wet.bytes_read,
    )


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_rule_for_secrets_that_cannot_be_used_is_a_warning(
    space: Workspace, dry_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_samples(space.claude)
    rules = space.root / "gitleaks.toml"
    rules.write_text('[[rules]]\nid = "ours"\nregex = "("\n')
    config = msgspec.structs.replace(space.config(), redact=Redact(gitleaks=str(rules)))
    monkeypatch.setattr(space, "config", lambda: config)
    warnings = space.sweep(dry_run=dry_run).warnings
    assert any("rule ours is not used" in warning for warning in warnings)


def stored_files(space: Workspace) -> dict[Path, bytes]:
    files = (path for path in space.store_directory.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


@pytest.mark.rows("ING-02")
def test_a_dry_run_beside_a_store_writes_nothing_into_it(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    space.write(talk(2))
    before = {
        path: path.read_bytes() for path in space.store_directory.rglob("*") if path.is_file()
    }
    report = space.sweep(dry_run=True)
    assert (report.ingested, report.skipped_unchanged) == (1, 1)
    assert stored_files(space) == before


def test_the_logs_themselves_are_never_written_to(space: Workspace) -> None:
    files = write_samples(space.claude)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    space.sweep()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before
    assert sorted(space.files()) == sorted(files)


def test_without_any_logs_the_report_says_where_it_looked(space: Workspace) -> None:
    report = space.sweep()
    assert report.discovered == 0
    assert str(space.claude) in report.looked_in
