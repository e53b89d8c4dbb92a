"""The same logs in any order, split, repeat and restart give the same canonical store."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from tests.invariants.broken import difference
from tests.invariants.sizes import SIZES

from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

Piece = tuple[str, int]
"""(file, how much of it is there)."""

STEPS = ("append", "save_cursor", "settle", "commit", "save_digest", "add_facts", "add_usage")
ROUNDS = SIZES.ways


def built(home: Path) -> None:
    """Samples with a fork and a sub-agent, a copy that names no parent, a session in two files."""
    write_samples(home)
    log = ClaudeLog(301)
    log.prompt("continue")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.say("one test fails")
    copy = log.resume_copy(302)
    copy.prompt("and now?")
    copy.say("it passes")
    log.raw(dict(log.prompt("continue")))  # the same record twice: two events
    log.title("First title")
    log.prompt("more ünicode \u2028 and a 🙂")
    log.title("Second title")
    path = log.write(home)
    copy.write(home)
    lines = log.dump().splitlines(keepends=True)
    path.with_name("a-part.jsonl").write_bytes(b"".join(lines[2:6]))
    # a glued line and a torn one, and a last record that never got its newline
    torn = b"".join([lines[0].rstrip(b"\n"), lines[1], lines[2][:50], lines[3]])
    damaged = ClaudeLog(303).session_id.encode()
    torn = torn.replace(log.session_id.encode(), damaged)
    path.with_name(f"{damaged.decode()}.jsonl").write_bytes(torn.rstrip(b"\n"))


def schedule(sizes: dict[str, int], chance: random.Random) -> list[list[Piece]]:
    """Sweep after sweep, which files have grown how far; a piece may end inside a line."""
    pieces: list[Piece] = []
    for name, size in sizes.items():
        cuts = sorted(chance.randrange(size + 1) for _ in range(chance.choice((0, 0, 1, 2, 4))))
        pieces += [(name, cut) for cut in cuts]
    chance.shuffle(pieces)
    rounds: list[list[Piece]] = []
    for piece in pieces:
        if not rounds or chance.random() < 0.4:
            rounds.append([])
        rounds[-1].append(piece)
    return [*rounds, list(sizes.items())]


def replay(space: Workspace, source: Path, chance: random.Random) -> None:
    """Let the files of `source` grow in the workspace, with sweeps, deaths and repeats between."""
    names = [str(path.relative_to(source)) for path in sorted(source.rglob("*")) if path.is_file()]
    chance.shuffle(names)
    sizes = {name: (source / name).stat().st_size for name in names}
    there: dict[str, int] = {}
    if chance.random() < 0.5:
        space.read_in_blocks(chance.choice((700, 5000, 60_000)))
    for pieces in schedule(sizes, chance):
        for name, size in pieces:
            if size > there.get(name, -1):
                there[name] = size
                target = space.claude / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("ab") as file:
                    file.write((source / name).read_bytes()[target.stat().st_size : size])
        if chance.random() < 0.3:
            die_somewhere(space, chance)
        space.sweep()
        if chance.random() < 0.2:
            for name in chance.sample(names, 1):
                if (space.claude / name).exists():
                    os.utime(space.claude / name, ns=(1, chance.randrange(10**9)))


def die_somewhere(space: Workspace, chance: random.Random) -> None:
    step, nth = chance.choice(STEPS), chance.randrange(1, 12)
    try:
        space.sweep(open_as=lambda store: StoppingStore(store, step, nth))
    except Stopped:
        return


def check(tmp_path: Path, source: Path, seed: int) -> None:
    straight = Workspace(tmp_path / "straight")
    shutil.copytree(source, straight.claude, dirs_exist_ok=True)
    straight.sweep()
    winding = Workspace(tmp_path / "straight", store="winding")
    winding.claude = tmp_path / "straight" / "claude"
    shutil.rmtree(winding.claude)
    winding.claude.mkdir()
    replay(winding, source, random.Random(seed))
    assert difference(winding.dump(), straight.dump()) == [], f"seed {seed}"
    assert winding.findings() == []
    assert straight.findings() == []


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_built_logs_give_one_store_whatever_way_they_come_in(tmp_path: Path, seed: int) -> None:
    source = tmp_path / "source"
    built(source)
    check(tmp_path, source, seed)


def smallest(root: Path, limit: int) -> list[Path]:
    return sorted(
        (path for path in root.rglob("*.jsonl") if path.stat().st_size < limit),
        key=lambda path: (path.stat().st_size, path),
    )


@pytest.mark.shared
@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 6)))
def test_genuine_logs_give_one_store_whatever_way_they_come_in(
    tmp_path: Path, shared: Path, seed: int
) -> None:
    source = tmp_path / "source"
    for path in smallest(shared / "logs" / "claude", 70_000):
        target = source / path.relative_to(shared / "logs" / "claude")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    check(tmp_path, source, seed)


@pytest.mark.shared
@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 6)))
def test_genuine_forks_and_sub_agents_give_one_store_whatever_way_they_come_in(
    tmp_path: Path, shared: Path, seed: int
) -> None:
    home = shared / "client-logs" / "claude" / "home" / ".claude"
    source = tmp_path / "source"
    for path in sorted((home / "projects").rglob("*.jsonl")):
        if path.stat().st_size < 700_000:
            target = source / path.relative_to(home)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    check(tmp_path, source, seed + 100)
