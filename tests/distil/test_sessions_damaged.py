"""Every session that is stored has one digest of all its events, however damaged its log is."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import apsw
import pytest
from tests.invariants.families import FAMILIES, opencode
from tests.invariants.sessions import BUILDERS, DOCUMENTS

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.grok.log_builder import GrokLog
from session_memory.core.schema import Outcome
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


def claude(home: Path) -> None:
    write_samples(home)


def codex(home: Path) -> None:
    for seed in (1, 2):
        log = CodexLog(seed).header()
        log.turn().prompt("fix it").run("make", "error: no", 2).answer("I look.")
        log.turn().prompt("go on").run("make", "ok", 0).answer("Done.").write(home)


def grok(home: Path) -> None:
    for seed in (1, 2):
        log = GrokLog(seed)
        log.prompt("fix it")
        log.run("make", "error: no", exit_code=2)
        log.say("Done.")
        log.write(home)


def opencode_files(home: Path) -> None:
    for log in opencode():
        log.write_files(home)


def built(flavor: str, home: Path) -> None:
    for seed in (1, 2):
        BUILDERS[flavor](seed).write(home)


LOGS: dict[str, Callable[[Path], None]] = {
    "claude": claude,
    "codex": codex,
    "grok": grok,
    "opencode": opencode_files,
    **FAMILIES,
    **{name: partial(built, name) for name in DOCUMENTS},
}


def cut_short(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def garbage_line(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines) + 1), b'{"type": "user", "mess\x00\xff\n')
    return b"".join(lines)


def glued(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], lines[at].rstrip(b"\n"), *lines[at + 1 :]])


def hole(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + b"\x00" * 40 + data[at + 40 :]


def emptied(_data: bytes, _chance: random.Random) -> bytes:
    return b""


DAMAGE = (cut_short, garbage_line, glued, hole, emptied)


def damage(home: Path, chance: random.Random) -> None:
    """Hurt about half of the files below a home, each in its own way."""
    for path in sorted(home.rglob("*.json*")):
        data = path.read_bytes()
        if data and chance.random() < 0.5:
            path.write_bytes(chance.choice(DAMAGE)(data, chance))


def check(space: Workspace) -> int:
    """Each session with events has exactly one digest of them; returns how many there are."""
    db = apsw.Connection(str(space.store_directory / "store.db"))
    found = db.execute(
        "SELECT s.external_id, s.event_count, s.state, d.outcome, json_extract(d.body, '$.events'),"
        " json_extract(d.body, '$.outcome') FROM session s LEFT JOIN digest d"
        " ON d.session_id = s.id WHERE s.event_count > 0"
    ).fetchall()
    (digests,) = db.execute("SELECT count(*) FROM digest").fetchone()
    (sessions,) = db.execute("SELECT count(*) FROM session").fetchone()
    db.close()
    for name, events, state, outcome, distilled, told in found:
        assert (state, distilled) == ("analyzed", events), name
        assert outcome == told and outcome in get_args(Outcome), name
    assert len(found) == len({row[0] for row in found}) <= digests <= sessions
    return len(found)


@pytest.mark.rows("DIG-01")
@pytest.mark.parametrize("flavor", LOGS)
@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_log_still_gives_each_of_its_sessions_one_digest(
    tmp_path: Path, flavor: str, seed: int
) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home(flavor)
    LOGS[flavor](home)
    damage(home, random.Random(f"{flavor} {seed}"))
    report = space.sweep()
    assert (report.failed, report.failed_steps) == ([], [])
    assert report.analyzed >= check(space)
    assert space.findings() == []


@pytest.mark.rows("DIG-01")
@pytest.mark.parametrize("flavor", LOGS)
def test_a_log_that_is_damaged_later_leaves_each_session_one_digest(
    tmp_path: Path, flavor: str
) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home(flavor)
    LOGS[flavor](home)
    space.sweep()
    whole = check(space)
    assert whole > 0
    for seed in range(3):
        damage(home, random.Random(f"{flavor} later {seed}"))
        report = space.sweep()
        assert (report.failed, report.failed_steps) == ([], [])
        check(space)
    assert space.findings() == []


@pytest.mark.rows("DIG-01")
def test_a_log_of_nothing_but_garbage_gives_no_session_and_no_digest(space: Workspace) -> None:
    log = ClaudeLog()
    log.prompt("hello")
    (path,) = space.write(log)
    path.write_bytes(b"\x00\xff garbage\n" * 5)
    report = space.sweep()
    assert (report.parse_errors, report.analyzed) == (5, 0)
    assert check(space) == 0
