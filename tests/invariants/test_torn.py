"""Logs torn at every byte, and mutants of their lines: no crash, and no whole record is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import BUILDERS, FLAVORS, GENUINE, LOGS, log_file
from tests.invariants.sizes import SIZES, record

from session_memory.adapters.claude import reader as claude_reader
from session_memory.adapters.common import Block, Normalized, SourceFile, decode_record
from session_memory.adapters.registry import BUILT_IN, adapter
from session_memory.testing.workspace import Workspace

Told = tuple[str, str]
"""(kind, text) of an event."""


def parse(flavor: str, content: bytes, beside: dict[str, bytes] | None = None) -> Normalized:
    """What a file with this content says; a last line without newline is its tail."""
    lines: list[tuple[int, bytes]] = []
    offset = 0
    *whole, tail = content.split(b"\n")
    for line in whole:
        if line and not line.isspace():
            lines.append((offset, line))
        offset += len(line) + 1
    path = "/logs/sessions/%2Fwork/one/updates.jsonl" if flavor == "grok" else "/logs/one.jsonl"
    block = Block(lines, 0, offset, (offset, tail) if tail else None, side_files=beside or {})
    return adapter(flavor).parse(SourceFile(path, len(content), 0, 0, 0, 0), block, {})


def told(bundle: Normalized) -> list[Told]:
    return [(event.kind, event.text) for part in bundle.sessions for event in part.events]


def content_of(flavor: str, tmp_path: Path) -> bytes:
    return log_file(flavor, 7, tmp_path / "built", steps=1).read_bytes()


def cuts_of(content: bytes, ends: list[int]) -> list[int]:
    """Those around each end of a line and as many of the others as the size allows."""
    every = range(len(content) + 1)
    near = {end + away for end in (0, *ends) for away in (-2, -1, 0, 1, 2)}
    chosen = random.Random(SIZES.seed).sample(every, min(len(every), SIZES.parsed_cuts))
    return sorted(near.intersection(every).union(chosen))


@pytest.mark.parametrize("flavor", LOGS)
def test_a_log_torn_at_any_byte_gives_its_whole_records(tmp_path: Path, flavor: str) -> None:
    content = content_of(flavor, tmp_path)
    ends = [at + 1 for at, byte in enumerate(content) if byte == 10]
    at_end = {end: told(parse(flavor, content[:end])) for end in [0, *ends]}
    cuts = cuts_of(content, ends)
    for cut in cuts:
        before = max(end for end in at_end if end <= cut)
        bundle = parse(flavor, content[:cut])
        found = told(bundle)
        whole = at_end[min((end for end in ends if end >= cut), default=before)]
        assert found in (at_end[before], whole), f"torn at byte {cut}"
        if found == at_end[before] and cut > before and found != whole:
            assert bundle.incomplete_tail == 1, f"torn at byte {cut}: not counted"
    record(f"torn at every byte, {flavor}", cuts=len(cuts), problems=0)


@pytest.mark.parametrize("flavor", LOGS)
def test_a_torn_log_that_is_completed_gives_the_store_of_a_whole_one(
    tmp_path: Path, flavor: str
) -> None:
    space = Workspace(tmp_path)
    path = log_file(flavor, 7, space.flavor_home(flavor), steps=1)
    content = path.read_bytes()
    whole = space.with_store("whole")
    whole.sweep()
    expected = whole.dump()
    chance = random.Random(SIZES.seed)
    for number in range(SIZES.cuts):
        cut = chance.randrange(len(content))
        torn = space.with_store(f"torn-{number}")
        path.write_bytes(content[:cut])
        torn.sweep()
        path.write_bytes(content)
        torn.sweep()
        assert difference(torn.dump(), expected) == [], f"torn at byte {cut}"
        assert torn.findings() == []
    assert broken(torn) == []
    record(f"torn and swept, {flavor}", cuts=SIZES.cuts, problems=0, seed=SIZES.seed)


# --- mutants ---

Mutate = Callable[[bytes, bytes, random.Random], bytes]
"""(line, line behind it, chance) to what stands there instead of both, newlines included."""


def splice(line: bytes, after: bytes, chance: random.Random) -> bytes:
    """A record cut off, and the next one written right behind the cut."""
    return line[: chance.randrange(1, len(line))] + after + b"\n"


def glued(line: bytes, after: bytes, _chance: random.Random) -> bytes:
    return line + after + b"\n"


def nul_run(line: bytes, after: bytes, chance: random.Random) -> bytes:
    return line + b"\n" + b"\x00" * chance.choice((1, 8, 4096)) + after + b"\n"


def byte_order_mark(line: bytes, after: bytes, _chance: random.Random) -> bytes:
    return line + b"\n\xef\xbb\xbf" + after + b"\n"


def carriage_return(line: bytes, after: bytes, _chance: random.Random) -> bytes:
    return line + b"\r\n" + after + b"\r\n"


def bad_utf8(line: bytes, after: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(line))
    return (
        line[:at]
        + chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80"))
        + line[at:]
        + b"\n"
        + (after + b"\n")
    )


def lone_surrogate(line: bytes, after: bytes, chance: random.Random) -> bytes:
    at = line.find(b'"', chance.randrange(len(line))) + 1
    return line[:at] + b"\\ud83d" + line[at:] + b"\n" + after + b"\n"


def repeated_key(line: bytes, after: bytes, _chance: random.Random) -> bytes:
    return b'{"type":"elsewhere",' + line[1:] + b"\n" + after + b"\n"


def flipped(line: bytes, after: bytes, chance: random.Random) -> bytes:
    data = bytearray(line)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data) + b"\n" + after + b"\n"


def cut_out(line: bytes, after: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(line)) for _ in range(2))
    return line[:first] + line[last:] + b"\n" + after + b"\n"


def too_deep(line: bytes, after: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((600, 10_000))
    return line[:-1] + b',"deep":' + b"[" * depth + b"]" * depth + b"}\n" + after + b"\n"


def strange_value(line: bytes, after: bytes, chance: random.Random) -> bytes:
    """One value of the record becomes something no vendor ever wrote there."""
    value = chance.choice((b"null", b"[]", b"{}", b"-1", b"1e400", b'""', b"true", b'[{"a":[]}]'))
    colons = [at for at, byte in enumerate(line) if byte == 58 and line[at - 1] == 34]
    if not colons:
        return line + b"\n" + after + b"\n"
    at = chance.choice(colons) + 1
    ends = [end for end in (line.find(b",", at), line.find(b"}", at)) if end > 0]
    return line[:at] + value + line[min(ends, default=len(line)) :] + b"\n" + after + b"\n"


WHOLE_BEHIND: tuple[Mutate, ...] = (
    splice,
    glued,
    nul_run,
    byte_order_mark,
    carriage_return,
    bad_utf8,
    lone_surrogate,
    repeated_key,
    flipped,
    cut_out,
    too_deep,
    strange_value,
)


REREAD: tuple[Mutate, ...] = (repeated_key, flipped, cut_out, strange_value, lone_surrogate)


def genuine_lines(flavor: str, shared: Path) -> list[bytes]:
    """Lines of genuine logs, the shorter files first, as many as a few seconds can take."""
    name = "updates.jsonl" if flavor == "grok" else "*.jsonl"
    paths = [p for top in ("logs", "client-logs") for p in (shared / top / flavor).rglob(name)]
    places = {"chats", "projects", "session-state", "sessions", "subagents"}
    if flavor != "grok":
        kept = [p for p in paths if places & set(p.parts) or p.name.startswith("rollout-")]
        paths = kept or paths
    lines: list[bytes] = []
    for path in sorted(paths, key=lambda p: (p.stat().st_size, p))[:30]:
        lines += [line for line in path.read_bytes().split(b"\n") if line and len(line) < 20_000]
    return [line for line in lines if decode_record(line) is not None]


def built_lines(flavor: str, tmp_path: Path) -> list[bytes]:
    return [
        line
        for seed in range(8)
        for line in log_file(flavor, seed, tmp_path / f"built-{seed}").read_bytes().split(b"\n")
        if line
    ]


def says_something(flavor: str, line: bytes) -> list[Told]:
    return [one for one in told(parse(flavor, line + b"\n")) if one[1]]


class Tally:
    """What became of the mutants of one flavour."""

    def __init__(self) -> None:
        self.mutants = self.splices = self.recovered = 0
        self.problems: list[str] = []


class Fate(NamedTuple):
    """What became of one mutant."""

    mutate: Mutate
    tells: bool
    """Whether the record behind the damage says something that nobody else says."""
    kept: bool
    counted: bool


def try_mutant(flavor: str, lines: list[bytes], number: int, chance: random.Random) -> Fate:
    """One mutant between a record before and one behind."""
    mutate = WHOLE_BEHIND[number % len(WHOLE_BEHIND)]
    before, line, behind = (chance.choice(lines) for _ in range(3))
    after = chance.choice(lines)
    for _ in range(20):  # a record that tells nothing could be lost without anybody seeing it
        if says_something(flavor, after):
            break
        after = chance.choice(lines)
    middle = mutate(line, after, chance)
    bundle = parse(flavor, before + b"\n" + middle + behind + b"\n")
    found = {text for _, text in told(bundle)}
    damaged = any(decode_record(one) is None for one in middle.split(b"\n") if one.strip(b"\0 \r"))
    counted = bundle.parse_errors or bundle.recovered or bundle.incomplete_tail
    # Records answer each other, so `after` must be told whether or not `line` stands before it.
    wanted = {text for _, text in says_something(flavor, after)}
    stands = [b"", line + b"\n"]
    if mutate is bad_utf8 and (read := decode_record(middle.partition(b"\n")[0])) is not None:
        stands.append(msgspec.json.encode(read) + b"\n")  # and may be a copy that holds good bytes
    for one in stands:
        parts = (before + b"\n" + one + after, behind)
        whole = {text for _, text in told(parse(flavor, b"\n".join(parts) + b"\n"))}
        wanted = {text for text in wanted if is_told(text, whole)}
    # What the neighbours say too would hide a loss.
    around = {text for _, text in told(parse(flavor, before + b"\n" + behind + b"\n"))}
    wanted = {text for text in wanted if not is_told(text, around)}
    # What changed and still reads may say something else: a rewind, another session, the same call.
    reread = mutate in REREAD and (not damaged or bundle.recovered)
    kept = bool(reread) or all(is_told(text, found) for text in wanted)
    return Fate(mutate, bool(wanted), kept, bool(counted) or not damaged)


def is_told(text: str, found: set[str]) -> bool:
    """Grok's chunks of one answer are one text, so a text may stand inside a longer one."""
    return text in found or any(text in one for one in found)


def check_mutants(flavor: str, lines: list[bytes]) -> Tally:
    chance, tally = random.Random(f"{SIZES.seed} {flavor}"), Tally()
    for number in range(SIZES.mutants):
        fate = try_mutant(flavor, lines, number, chance)
        name = getattr(fate.mutate, "__name__", "")
        tally.mutants += 1
        if fate.mutate is splice:
            tally.splices += fate.tells
            tally.recovered += fate.tells and fate.kept
        elif not fate.kept:
            tally.problems.append(f"{number} ({name}): the record behind was lost")
        if not fate.counted:
            tally.problems.append(f"{number} ({name}): damage was not counted")
    return tally


def settle(flavor: str, tally: Tally, what: str) -> None:
    share = round(100 * tally.recovered / tally.splices, 2)
    record(
        f"mutants of {what} lines, {flavor}",
        mutants=tally.mutants,
        splices=tally.splices,
        recovered_percent=share,
        problems=len(tally.problems),
        seed=SIZES.seed,
    )
    assert tally.problems == []
    assert share >= 95


@pytest.mark.parametrize("flavor", LOGS)
def test_no_mutant_of_a_built_line_costs_another_record(tmp_path: Path, flavor: str) -> None:
    settle(flavor, check_mutants(flavor, built_lines(flavor, tmp_path)), "built")


@pytest.mark.shared
@pytest.mark.parametrize("flavor", GENUINE)
def test_no_mutant_of_a_genuine_line_costs_another_record(shared: Path, flavor: str) -> None:
    settle(flavor, check_mutants(flavor, genuine_lines(flavor, shared)), "genuine")


def test_every_flavour_has_a_builder() -> None:
    assert set(BUILDERS) == set(FLAVORS) == set(BUILT_IN)


def test_the_measure_sees_a_reader_that_gives_a_damaged_line_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a share of 100 % would prove nothing."""
    monkeypatch.setattr(claude_reader, "recover_records", lambda *_: [])
    tally = check_mutants("claude", built_lines("claude", tmp_path))
    assert tally.recovered < tally.splices / 2
    assert tally.problems != []
