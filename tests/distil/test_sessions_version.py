"""A better digest reaches stored sessions whose raw text is here; others keep the one they have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.cli import digest as digest_command
from session_memory.core.digest import DIGEST_VERSION, merge_digests
from session_memory.core.schema import Digest, Session
from session_memory.distil import digest as distil_digest
from session_memory.distil.digest import DigestBuilder
from session_memory.errors import EXIT_OK
from session_memory.ingest import capture
from session_memory.store.sqlite import retention, sources, writer
from session_memory.testing.workspace import Workspace

NEXT = DIGEST_VERSION + 1


class Desktop:
    """The command line on one workspace."""

    def __init__(self, space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
        self.space = space
        self._capsys = capsys

    def json(self, *arguments: str) -> Any:
        """What a command prints."""
        assert main(["--config", str(self.space.write_config()), *arguments, "--json"]) == EXIT_OK
        return json.loads(self._capsys.readouterr().out)

    def text(self, *arguments: str, code: int = EXIT_OK) -> str:
        """What a command prints for people."""
        assert main(["--config", str(self.space.write_config()), *arguments]) == code
        return self._capsys.readouterr().out

    def digest(self, log: ClaudeLog) -> tuple[int, str]:
        """Version and objective of a session's digest."""
        shown = self.json("show", "--digest", log.session_id)["digest"]
        return shown["version"], shown["objective"]


@pytest.fixture
def desktop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desktop:
    return Desktop(Workspace(tmp_path), capsys)


def talk(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"fix parser {seed} please")
    log.run("pytest -q", "1 passed", exit_code=0)
    return log


def distil_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the program has the next version of distilling, which says so."""
    for module in (distil_digest, sources, writer, retention, digest_command):
        monkeypatch.setattr(module, "DIGEST_VERSION", NEXT)
    build = DigestBuilder.digest

    def better(builder: DigestBuilder, session: Session) -> Digest:
        return msgspec.structs.replace(build(builder, session), objective="better")

    monkeypatch.setattr(DigestBuilder, "digest", better)


@pytest.mark.rows("DIG-06")
def test_a_sweep_renews_digests_of_an_older_version_and_the_next_one_does_nothing(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    evicted, stored = talk(1), talk(2)
    desktop.space.write(evicted)
    desktop.space.set_retention(raw_soft_cap_bytes=1)
    assert desktop.json("sweep")["retention"]["soft"] == 1
    desktop.space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    desktop.space.write(stored)
    assert desktop.json("sweep")["analyzed"] == 1
    before = desktop.digest(evicted)
    assert before == (DIGEST_VERSION, "fix parser 1 please")
    assert desktop.digest(stored) == (DIGEST_VERSION, "fix parser 2 please")

    distil_better(monkeypatch)
    renewed = desktop.json("sweep")
    assert renewed["digested"] == [desktop.space.session(stored.session_id).id]
    assert (renewed["analyzed"], renewed["ingested"], renewed["events"]) == (1, 0, 0)
    assert desktop.digest(stored) == (NEXT, "better")
    assert desktop.digest(evicted) == before

    content = desktop.space.dump()
    again = desktop.json("sweep")
    assert (again["analyzed"], again["digested"]) == (0, [])
    assert desktop.space.dump() == content


@pytest.mark.rows("DIG-06")
def test_each_sweep_renews_a_bounded_number(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    desktop.space.write(*(talk(seed) for seed in range(1, 4)))
    desktop.json("sweep")
    distil_better(monkeypatch)
    monkeypatch.setattr(capture, "RENEWED_PER_SWEEP", 2)
    assert [desktop.json("sweep")["analyzed"] for _ in range(3)] == [2, 1, 0]


@pytest.mark.rows("DIG-06")
def test_a_session_that_grew_after_its_eviction_keeps_the_older_version_on_its_digest(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = talk(1)
    desktop.space.write(log)
    desktop.space.set_retention(raw_soft_cap_bytes=1)
    desktop.json("sweep")
    desktop.space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    distil_better(monkeypatch)
    log.prompt("and now the lexer")
    desktop.space.write(log)
    assert desktop.json("sweep")["analyzed"] == 1
    assert desktop.digest(log) == (DIGEST_VERSION, "fix parser 1 please")
    assert desktop.json("sweep")["analyzed"] == 0


@pytest.mark.rows("DIG-06")
def test_digest_status_and_doctor_say_which_digests_are_of_an_older_version(
    desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    evicted, grown, stored = talk(1), talk(2), talk(3)
    desktop.space.write(evicted, grown)
    desktop.space.set_retention(raw_soft_cap_bytes=1)
    desktop.json("sweep")
    desktop.space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    grown.prompt("and now the lexer")
    desktop.space.write(grown, stored)
    desktop.json("sweep")
    assert desktop.json("status")["old_digests"] == {"waiting": 0, "kept": 0}
    assert "old digests" not in desktop.text("status") + desktop.text("doctor", "--quick", code=3)
    assert "version" not in desktop.text("show", "--digest", evicted.session_id)

    distil_better(monkeypatch)
    assert desktop.json("status")["old_digests"] == {"waiting": 1, "kept": 2}
    for words, code in ((("status",), EXIT_OK), (("doctor", "--quick"), 3)):
        line = next(one for one in desktop.text(*words, code=code).splitlines() if "old dig" in one)
        assert line.endswith(
            "1 wait: sweeps distil them again;"
            " 2 stay as an older version made them: their raw text was evicted"
        )
    told = f"version    {DIGEST_VERSION} (now {NEXT}): "
    assert f"{told}a sweep distils it again" in desktop.text("show", "--digest", stored.session_id)
    desktop.json("sweep")
    assert desktop.json("status")["old_digests"] == {"waiting": 0, "kept": 2}
    for log in (evicted, grown):
        shown = desktop.text("show", "--digest", log.session_id)
        assert f"{told}its raw text was evicted, so it stays" in shown
        assert desktop.json("show", "--digest", log.session_id)["old_version"] is True
    assert "version" not in desktop.text("show", "--digest", stored.session_id)


def test_a_merged_digest_has_the_older_of_both_versions() -> None:
    def part(version: int) -> Digest:
        return Digest("claude", None, "success", "low", (), "0", events=1, version=version)

    assert merge_digests(part(2), part(3)).version == 2
    assert merge_digests(part(3), part(2)).version == 2
