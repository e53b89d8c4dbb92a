"""Packed logs whose end is missing: what can be unpacked is read, and the rest when it is there."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariants.sessions import BUILDERS

from session_memory.adapters.packed import open_log, pack_zstd, why_cut
from session_memory.errors import AdapterError
from session_memory.testing.workspace import Workspace

Pack = Callable[[bytes], bytes]


def in_pieces(pack: Pack) -> Pack:
    """Each line packed alone, as tools that append to a packed log do."""
    return lambda data: b"".join(pack(line) for line in data.splitlines(keepends=True))


PACKED = {".gz": in_pieces(gzip.compress), ".zst": in_pieces(pack_zstd)}
FLAVORS = ("claude", "codex", "pi", "droid", "qwen", "copilot")


def packed_log(space: Workspace, flavor: str, suffix: str) -> tuple[Path, bytes]:
    plain = BUILDERS[flavor](7, 3).write(space.flavor_home(flavor))
    path = plain.with_name(plain.name + suffix)
    content = PACKED[suffix](plain.read_bytes())
    plain.unlink()
    path.write_bytes(content)
    return path, content


def texts(space: Workspace) -> list[str]:
    return [event["text"] for one in space.dump() for event in one["events"]]


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_what_can_be_unpacked_of_a_cut_log_is_read(
    tmp_path: Path, flavor: str, suffix: str
) -> None:
    space = Workspace(tmp_path)
    path, content = packed_log(space, flavor, suffix)
    space.sweep()
    expected, said = space.dump(), texts(space)
    for share in (0.5, 0.9):
        later = space.with_store(f"cut at {share}")
        path.write_bytes(content[: int(len(content) * share)])
        report = later.sweep()
        assert "it was cut off; what could be unpacked was read" in report.failed[0].reason
        read = texts(later)
        assert read
        assert set(read) <= set(said)
        assert len(read) < len(said) or share > 0.5
        again = later.sweep()
        assert (again.skipped_unchanged, again.records) == (1, 0)
        path.write_bytes(content[:-3])  # it grows, and is not whole yet
        assert later.sweep().failed
        assert len(read) <= len(texts(later)) <= len(said)
        path.write_bytes(content)
        assert later.sweep().failed == []
        assert later.dump() == expected
        assert later.findings() == []
        with later.store() as store:
            assert store.quarantined() == []


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_packed_log_that_is_cut_later_takes_nothing_away(
    tmp_path: Path, flavor: str, suffix: str
) -> None:
    space = Workspace(tmp_path)
    path, content = packed_log(space, flavor, suffix)
    space.sweep()
    expected = space.dump()
    for share in (0.9, 0.4, 0.0):
        path.write_bytes(content[: int(len(content) * share)])
        space.sweep()
        assert space.dump() == expected
        assert space.findings() == []
    path.write_bytes(content)
    assert space.sweep().failed == []
    assert space.dump() == expected


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize("flavor", ["claude", "pi", "gemini"])
def test_a_packed_log_that_says_less_takes_nothing_away(tmp_path: Path, flavor: str) -> None:
    space = Workspace(tmp_path)
    path, content = packed_log(space, flavor, ".gz")
    space.sweep()
    expected, said = space.dump(), sorted(texts(space))
    plain = gzip.decompress(content)
    half, most = plain[: len(plain) // 2], int(len(content) * 0.7)
    for less in (content[:most], gzip.compress(half), gzip.compress(b"")):
        path.write_bytes(less)
        space.sweep()
        assert sorted(texts(space)) == said
        assert space.findings() == []
    path.write_bytes(content)
    assert space.sweep().failed == []
    assert space.dump() == expected


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize("flavor", [*FLAVORS, "gemini", "kiro", "cowork", "copilot_chat", "cursor"])
def test_a_log_of_any_agent_that_is_packed_later_adds_nothing(tmp_path: Path, flavor: str) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home(flavor)
    BUILDERS[flavor](7, 2).write(home)
    space.sweep()
    before = space.dump()
    for path in [path for path in home.rglob("*.jsonl") if path.is_file()]:
        info = path.stat()
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        os.utime(packed, ns=(info.st_atime_ns, info.st_mtime_ns))
        path.unlink()
    space.sweep()
    assert space.dump() == before
    afresh = space.with_store("afresh")
    afresh.sweep()
    assert afresh.dump() == before


@pytest.mark.rows("ING-19")
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", pack_zstd)])
def test_a_packed_file_is_read_forwards_in_bounded_pieces(
    tmp_path: Path, suffix: str, pack: Pack
) -> None:
    path = tmp_path / f"log.jsonl{suffix}"
    text = random.Random(1).randbytes(300_000).hex().encode() + b"a" * 3_000_000
    for content in (pack(text), pack(text[:500]) + pack(b"") + pack(text[500:])):
        path.write_bytes(content)
        with open_log(str(path), 100) as stream:
            assert len(stream.read(1000)) == 1000
            assert stream.read(len(text)) == text[1100:]
            assert (stream.read(1), why_cut(stream)) == (b"", "")
        path.write_bytes(content[: len(content) // 2])
        with open_log(str(path), 0) as stream:
            read = stream.read(len(text))
            assert read
            assert text.startswith(read)
            assert stream.read(1) == b""
            assert "log.jsonl" in why_cut(stream)
        with pytest.raises(AdapterError, match="cut off"), open_log(str(path), len(text)):
            pass


@pytest.mark.rows("ING-19")
def test_what_is_no_packed_log_is_refused_and_padding_is_not(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.gz"
    for content in (b"\0" * 100, b"hello", gzip.compress(b"x") + b"hello"):
        path.write_bytes(content)
        with (
            pytest.raises(AdapterError, match="cannot be unpacked"),
            open_log(str(path), 0) as stream,
        ):
            stream.read(100)
    path.write_bytes(gzip.compress(b"x") + b"\0" * 100_000)
    with open_log(str(path), 0) as stream:
        assert (stream.read(100), why_cut(stream)) == (b"x", "")


@pytest.mark.rows("ING-19")
def test_a_cut_log_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(tmp_path)
    monkeypatch.setattr("session_memory.adapters.common.UNPACKED_CAP", 100_000)
    path = BUILDERS["claude"](1, 1).write(space.claude)
    bomb = path.read_bytes() + b" " * 9_000_000
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(bomb)[:-20])
    path.unlink()
    (failure,) = space.sweep().failed
    assert "unpacks to more than" in failure.reason
