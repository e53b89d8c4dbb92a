"""The work on one part of the sessions: pure functions over the rows of its files."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from session_memory.core.loop.patterns import MINER_VERSION, Mined, Signal
from session_memory.core.schema import CommandRun, Digest, ErrorSeen
from session_memory.detect.digest_view import SessionProject
from session_memory.detect.fold import Fold
from session_memory.detect.loci import trim_caches
from session_memory.detect.names import Loci, Names, find_loci
from session_memory.detect.signals import signals as signals_of
from session_memory.detect.survey import KeyCounts, session_keys
from session_memory.fleet.dataset import Damaged, Dataset
from session_memory.fleet.records import encode
from session_memory.fleet.tables import NAMES, SIGNALS


class _Run(CommandRun, frozen=True, gc=False):
    """See core.loop.patterns on `gc`: thousands of digests are here at a time."""


class _Error(ErrorSeen, frozen=True, gc=False):
    """Likewise."""


class _Digest(Digest, frozen=True, gc=False):
    """Likewise."""

    commands: tuple[_Run, ...] = ()
    errors: tuple[_Error, ...] = ()


_digest = msgspec.json.Decoder(_Digest).decode
_signals = msgspec.json.Decoder(tuple[Signal, ...]).decode
_META = [*NAMES, "digest_version", "digest_hash"]


class MinedPart(msgspec.Struct, frozen=True):
    """What mining one part did."""

    part: str
    sessions: int = 0
    mined: int = 0
    """Digests that were mined now; the signals of all others were there already."""
    written: int = 0
    """Bytes."""
    damaged: tuple[str, ...] = ()
    """Files, or digests, that cannot be read, and why."""


class Filter(msgspec.Struct, frozen=True):
    """Which sessions count."""

    since: int | None = None
    project: str | None = None


class Shared(msgspec.Struct, frozen=True):
    """What every worker needs for counting; in a file, so that it outlives any of them."""

    names: Names
    counts: bytes
    """The table of keys, compressed; b'' where everything counts."""

    def table(self) -> KeyCounts | None:
        """The keys that recur."""
        return KeyCounts.from_bytes(zlib.decompress(self.counts)) if self.counts else None


def mine_part(digests: Dataset, signals: Dataset, part: str) -> MinedPart:
    """Mine the digests of a part whose signals are not there, and write what changed.

    Signals are known by the hash of what they are mined from and by the version of the miner.
    """
    try:
        rows = digests.read("digests", part, [*_META, "roots"])
    except Damaged as error:
        return MinedPart(part, damaged=(str(error),))
    earlier = signals.read_if_there("signals", part)
    cached = _cached(earlier)
    hashes: list[str] = rows["digest_hash"].to_pylist()
    missing = {name for name in hashes if name not in cached}
    damaged: list[str] = []
    if missing:
        try:
            texts = digests.read("digests", part, ["digest_hash", "digest"])
        except Damaged as error:
            return MinedPart(part, damaged=(str(error),))
        _mine(rows, texts, missing, cached, damaged)
    is_mined = [name in cached for name in hashes]
    table = _table(rows.filter(pa.array(is_mined)), cached)
    written = 0
    if earlier is None or not table.equals(earlier):
        written = signals.write("signals", part, table)
    sessions = len(table)
    return MinedPart(part, sessions, len(missing) - len(damaged), written, tuple(damaged))


def _cached(earlier: pa.Table | None) -> dict[str, tuple[str, list[int]]]:
    if earlier is None or earlier.schema != SIGNALS:
        return {}
    columns = ("miner_version", "digest_hash", "signals", "keys")
    rows = zip(*(earlier[name].to_pylist() for name in columns), strict=True)
    return {name: (body, keys) for version, name, body, keys in rows if version == MINER_VERSION}


def _mine(
    rows: pa.Table,
    texts: pa.Table,
    missing: set[str],
    cached: dict[str, tuple[str, list[int]]],
    damaged: list[str],
) -> None:
    """Add the signals of the digests that are missing; one that cannot be read is named."""
    bodies = texts["digest"]
    repos, roots, numbers = (rows[name].to_pylist() for name in ("repo", "roots", "number"))
    for at, name in enumerate(texts["digest_hash"].to_pylist()):
        if name not in missing or name in cached:
            continue
        repo = repos[at]
        try:
            digest = _digest(bodies[at].as_py())
        except (msgspec.MsgspecError, TypeError, RecursionError) as error:
            damaged.append(f"digest of session {numbers[at]}: {error}")
            continue
        digest_signals = signals_of(digest, SessionProject(repo or "", tuple(roots[at])))
        cached[name] = encode(digest_signals).decode(), session_keys(repo, digest_signals)
    trim_caches()


def _table(rows: pa.Table, cached: dict[str, tuple[str, list[int]]]) -> pa.Table:
    mined = [cached[name] for name in rows["digest_hash"].to_pylist()]
    table = rows.select(_META)
    columns: list[tuple[str, Any]] = [
        ("miner_version", pa.array([MINER_VERSION] * len(mined), pa.int32())),
        ("signals", pa.array([body for body, _ in mined], pa.string())),
        ("keys", pa.array([keys for _, keys in mined], pa.list_(pa.uint32()))),
    ]
    for name, values in columns:
        table = table.append_column(name, values)
    return table.cast(SIGNALS).combine_chunks()


def evidence(signals: Dataset, parts: Iterable[str], selection: Filter) -> Iterator[Mined]:
    """Every session of these parts that counts, as the local store gives them."""
    columns = [*NAMES, "signals"]
    for part in parts:
        for batch in signals.read("signals", part, columns).to_batches(max_chunksize=500):
            yield from _mined(batch, selection)


def _mined(batch: pa.RecordBatch, selection: Filter) -> Iterator[Mined]:
    ended: list[int | None] = batch["ended_at"].cast(pa.int64()).to_pylist()
    others: Sequence[list[Any]] = [
        batch[name].to_pylist()
        for name in ("number", "owner", "flavor", "external_id", "repo", "project", "is_evidence")
    ]
    bodies = batch["signals"].to_pylist()
    for at, body, *names in zip(ended, bodies, *others, strict=True):
        number, owner, flavor, external_id, repo, project, counts = names
        if not counts or (selection.project is not None and project != selection.project):
            continue
        if selection.since is not None and (at is None or at < selection.since):
            continue
        yield Mined(number, owner, flavor, external_id, repo, at, _signals(body))


def loci_of(
    signals: Dataset, parts: Sequence[str], selection: Filter, counts: KeyCounts | None
) -> Loci:
    """What may have near duplicates in these parts."""
    return find_loci(evidence(signals, parts, selection), counts)


def fold_of(
    signals: Dataset,
    parts: Sequence[str],
    selection: Filter,
    names: Names,
    counts: KeyCounts | None,
) -> Fold:
    """What these parts add up to."""
    fold = Fold(names, counts)
    fold.add_all(evidence(signals, parts, selection))
    return fold
