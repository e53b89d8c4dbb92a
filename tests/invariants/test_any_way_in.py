"""The same logs in any order, split, repeat and restart give the same canonical store."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.invariants.broken import Dump, difference
from tests.invariants.families import FAMILIES
from tests.invariants.sizes import SIZES

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog, message, tokens
from session_memory.adapters.common import Block, SourceFile, read_lines
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage
from session_memory.distil import checkpoint
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

Piece = tuple[str, int]
"""(file, how much of it is there)."""

STEPS = ("append", "save_cursor", "settle", "commit", "save_digest", "add_facts", "add_usage")
ROUNDS = SIZES.ways
SIDES = (".meta.json", ".project_root", ".txt", ".yaml")
"""What the newer clients put beside a log, whole and before the log needs it."""


def built_claude(home: Path) -> None:
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


def built_codex(home: Path) -> None:
    """Threads of every form, forks that copy and one that points, a sub-agent, an archived copy."""
    parent = CodexLog(1).header().turn().prompt("fix it").run("make", "boom", 2).answer("broken")
    parent.spend(tokens(100, 40, 10, 4)).count(tokens(100, 40, 10, 4))
    parent.turn().prompt("more ünicode \u2028 and a 🙂").answer("ok").spend(tokens(30, 0, 3))
    copies = [parent.fork(2), parent.fork(3, restamped=False)]
    for number, fork in enumerate(copies):
        fork.at += 5000
        fork.turn().prompt(f"way {number}").answer("done").spend(tokens(7, 0, 1))
    agent = CodexLog(4, at=parent.at + 9000)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": parent.thread, "depth": 1}}}
    agent.header(source=spawned).turn().prompt("look").run("ls", "a").answer("seen")
    agent.spend(tokens(9, 0, 2))
    exact = CodexLog(5, mode="paginated").header().turn().prompt("go").run("ls", "b").answer("x")
    exact.spend(tokens(50, 20, 5, 1), record=True)
    exact.row("compacted", {"message": "so far: all well", "replacement_history": []})
    exact.turn().prompt("on").answer("y").spend(tokens(60, 20, 6, 1), record=True)
    pointing = CodexLog(6, mode="paginated", at=exact.at + 1000)
    base = {"thread_id": exact.thread, "end_ordinal_exclusive": len(exact.rows)}
    pointing.header(forked_from_id=exact.thread, history_base=base)
    pointing.spent = exact.spent
    pointing.turn().prompt("aside").answer("z").spend(tokens(8, 0, 1), record=True)
    for log in (parent, *copies, agent, exact, pointing):
        path = log.write(home)
    archive = home / "archived_sessions"
    archive.mkdir()
    (archive / parent.path(home).name).write_bytes(parent.dump())
    header = {"session": {"id": "doc", "timestamp": "2025-05-01T00:00:00.000Z"}}
    items = [message("user", "hi"), message("assistant", "hello"), message("user", "hi")]
    document = path.with_name("rollout-2025-05-01-doc.json")
    document.write_bytes(msgspec.json.encode({**header, "items": items}))


def built_grok(home: Path) -> None:
    """A session with a rewind and a compaction, its fork and its sub-agent."""
    log = GrokLog(1)
    log.prompt("fix ", "the test")
    log.say("I run ", "it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.end_turn(turn_usage(100, 20, read=40, usd=0.25))
    log.resume()
    log.prompt("another way")
    log.rewind(1)
    log.prompt("go on, ünicode \u2028 and a 🙂")
    child = log.spawn(2, "look around")
    child.prompt("list the files")
    child.say("three files")
    child.end_turn(turn_usage(7, 7))
    log.compact("fixed")
    log.say("Done.")
    log.end_turn(turn_usage(50, 10, usd=0.5))
    fork = log.fork(3)
    fork.prompt("in the fork")
    fork.say("forked")
    fork.end_turn(turn_usage(5, 5))
    for one in (log, child, fork):
        one.write(home)


BUILT = {"claude": built_claude, "codex": built_codex, "grok": built_grok, **FAMILIES}


def in_small_blocks(space: Workspace, flavor: str, size: int) -> None:
    """Read logs in small blocks and commit after each, as large files make it happen."""
    adapter = space.adapters[flavor]

    def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
        if not adapter.incremental or not file.path.endswith(".jsonl"):
            yield from adapter.read(file, offset, line_cap)
            return
        beside: dict[str, bytes] = {}
        if flavor in FAMILIES:  # some of them read what lies beside the log too
            for whole in adapter.read(file, offset, line_cap):
                beside |= whole.side_files
        for block in read_lines(file.path, offset, block_bytes=size, line_cap=line_cap):
            block.side_files = beside
            yield block

    replaced = msgspec.structs.replace(adapter, read=read)
    space.adapters = {**space.adapters, flavor: replaced}
    space.set_ingest(commit_bytes=1)


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


def replay(space: Workspace, flavor: str, source: Path, chance: random.Random) -> None:
    """Let the files of `source` grow in the workspace, with sweeps, deaths and repeats between."""
    home = space.root / flavor
    names = [str(path.relative_to(source)) for path in sorted(source.rglob("*")) if path.is_file()]
    for name in [name for name in names if flavor in FAMILIES and name.endswith(SIDES)]:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, home / name)
        names.remove(name)
    chance.shuffle(names)
    sizes = {name: (source / name).stat().st_size for name in names}
    there: dict[str, int] = {}
    if chance.random() < 0.5:
        in_small_blocks(space, flavor, chance.choice((700, 5000, 60_000)))
    for pieces in schedule(sizes, chance):
        for name, size in pieces:
            if size > there.get(name, -1):
                there[name] = size
                grow(source / name, home / name, size)
        if chance.random() < 0.3:
            die_somewhere(space, chance)
        space.sweep()
        if chance.random() < 0.2:
            for name in chance.sample(names, 1):
                if (home / name).exists():
                    os.utime(home / name, ns=(1, chance.randrange(10**9)))


def grow(source: Path, target: Path, size: int) -> None:
    """Let a file become the first `size` bytes of its source.

    Grok renames its summary into place whole, and opens its log, before anything else is written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    summary = source.with_name("summary.json")
    if summary.is_file():
        shutil.copyfile(summary, target.with_name(summary.name))
        target.with_name("updates.jsonl").touch()
    if source != summary:
        with target.open("ab") as file:
            file.write(source.read_bytes()[target.stat().st_size : size])


def die_somewhere(space: Workspace, chance: random.Random) -> None:
    step, nth = chance.choice(STEPS), chance.randrange(1, 12)
    try:
        space.sweep(open_as=lambda store: StoppingStore(store, step, nth))
    except Stopped:
        return


def workspace(root: Path, flavor: str, store: str) -> Workspace:
    space = Workspace(root, store=store)
    (root / flavor).mkdir(exist_ok=True)
    space.paths = {flavor: (str(root / flavor),)}
    return space


def canonical(space: Workspace, flavor: str) -> Dump:
    """The dump; of Grok without the number of events ever captured.

    Its messages come in chunks, so a sweep in the middle of one captures a half that counts there.
    """
    entries = space.dump()
    if flavor == "grok":
        for entry in entries:
            del entry["session"]["event_count"]
    return entries


def check(tmp_path: Path, flavor: str, source: Path, seed: int) -> None:
    root = tmp_path / "straight"
    straight = workspace(root, flavor, "store")
    shutil.copytree(source, root / flavor, dirs_exist_ok=True)
    straight.sweep()
    winding = workspace(root, flavor, "winding")
    shutil.rmtree(root / flavor)
    (root / flavor).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:  # distil what is new from where the last sweep stood, of any session
            patch.setattr(checkpoint, "WORTHWHILE", 1)
            patch.setattr(checkpoint, "APART", 1)
        replay(winding, flavor, source, random.Random(seed))
    found = difference(canonical(winding, flavor), canonical(straight, flavor))
    assert found == [], f"seed {seed}"
    assert winding.findings() == []
    assert straight.findings() == []


@pytest.mark.parametrize(
    ("flavor", "seed"),
    # The sweep tests of the newer adapters grow their logs too: half of the rounds will do.
    [(name, n) for name in BUILT for n in range(ROUNDS // 2 if name in FAMILIES else ROUNDS)],
)
def test_built_logs_give_one_store_whatever_way_they_come_in(
    tmp_path: Path, flavor: str, seed: int
) -> None:
    source = tmp_path / "source"
    BUILT[flavor](source)
    check(tmp_path, flavor, source, seed)


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
    check(tmp_path, "claude", source, seed)


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
    check(tmp_path, "claude", source, seed + 100)


@pytest.mark.shared
@pytest.mark.parametrize("flavor", ["codex", "grok"])
@pytest.mark.parametrize("seed", range(max(1, ROUNDS // 6)))
def test_genuine_logs_of_other_agents_give_one_store_whatever_way_they_come_in(
    tmp_path: Path, shared: Path, flavor: str, seed: int
) -> None:
    home = shared / "client-logs" / flavor / "home" / f".{flavor}" / "sessions"
    source = tmp_path / "source"
    shutil.copytree(home, source / "sessions")
    for path in smallest(shared / "logs" / flavor, 150_000):
        target = source / "sessions" / path.relative_to(shared / "logs" / flavor)
        if not target.exists():
            shutil.copytree(path.parent, target.parent, dirs_exist_ok=True)
    for path in source.rglob("*.jsonl"):
        if path.stat().st_size > 700_000:
            path.unlink()
    check(tmp_path, flavor, source, seed + 200)
