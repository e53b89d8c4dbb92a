"""`rules detect` over parts: mined where they lie, counted by DuckDB and workers, ranked here."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import uuid4

import duckdb
import msgspec

from session_memory.core.loop.patterns import Candidate, PatternStatus
from session_memory.detect.cluster import candidates_of
from session_memory.detect.fold import Fold
from session_memory.detect.names import Loci, find_names
from session_memory.detect.rank import rank
from session_memory.detect.survey import KeyCounts
from session_memory.errors import SessionMemoryError
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.parts import Filter, MinedPart, Shared, fold_of, loci_of, mine_part
from session_memory.fleet.port import Engine

MEMORY = "400MB"
"""What DuckDB takes before it spills to disk."""
_KEYS = """
SELECT key FROM (SELECT unnest(keys) AS key FROM signals) GROUP BY key HAVING count(*) > 1
"""


class Places(msgspec.Struct, frozen=True):
    """Where a fleet reads and writes, as addresses that every worker can open."""

    source: str
    work: str
    """Where signals are kept: the source itself, unless it must not be written to."""


class Mining(msgspec.Struct, frozen=True):
    """What there is to count."""

    parts: tuple[str, ...]
    sessions: int
    mined: int
    written: int
    damaged: tuple[str, ...]


class Mined(NamedTuple):
    """A fleet that has the signals of every session."""

    engine: Engine
    places: Places
    mining: Mining


class FleetQuery(msgspec.Struct, frozen=True):
    """Which candidates to report; see `DetectQuery`."""

    min_frequency: int | None = None
    since: int | None = None
    project: str | None = None

    @property
    def sessions(self) -> Filter:
        """The sessions it is about."""
        return Filter(self.since, self.project)


def mine_all(engine: Engine, places: Places) -> Mined:
    """Signals of every digest; those that are known are not mined again."""
    source = Dataset(places.source)
    source.check("digests")
    digest_parts = source.parts("digests")
    calls = [(places.source, places.work, part) for part in digest_parts]
    mined: Iterable[MinedPart] = engine.map("mining", _mine, calls)
    done = sorted(
        mined, key=lambda mined_part: mined_part.part, reverse=True
    )  # the newest sessions first
    for part in set(Dataset(places.work).parts("signals")) - set(digest_parts):
        Dataset(places.work).delete("signals", part)  # of sessions that are not there any more
    mining = Mining(
        tuple(mined_part.part for mined_part in done if mined_part.sessions),
        sum(mined_part.sessions for mined_part in done),
        sum(mined_part.mined for mined_part in done),
        sum(mined_part.written for mined_part in done),
        tuple(text for mined_part in done for text in mined_part.damaged),
    )
    return Mined(engine, places, mining)


def cluster_all(
    fleet: Mined, statuses: Mapping[str, PatternStatus], query: FleetQuery
) -> list[Candidate]:
    """What `detect.cluster.cluster` gives, of all parts."""
    engine, places, mining = fleet
    single = query.min_frequency is not None
    counts = None if single else recurring_keys(places.work, mining.parts)
    table = b"" if counts is None else zlib.compress(counts.to_bytes(), 1)
    shares = engine.shares(mining.parts)
    with _shared(places.work, Shared(find_names(Loci(), statuses), table)) as name:
        loci = Loci()
        calls = [(places.work, share, query.sessions, name) for share in shares]
        for partial in engine.map("finding near duplicates", _loci, calls):
            loci.join(partial)
    names = find_names(loci, statuses)
    fold = Fold(names, counts)
    with _shared(places.work, Shared(names, table)) as name:
        calls = [(places.work, share, query.sessions, name) for share in shares]
        for partial in engine.map("counting", _fold, calls):
            fold.join(partial)
    return candidates_of(fold, statuses, single_sessions=single)


def detect_all(fleet: Mined, query: FleetQuery, now_ms: int) -> list[Candidate]:
    """What `rules detect` gives of the same sessions."""
    candidates = cluster_all(fleet, read_statuses(fleet.places.source), query)
    floor = query.min_frequency
    return [c for c in rank(candidates, now_ms) if floor is None or c.frequency >= floor]


def read_statuses(source: str) -> dict[str, PatternStatus]:
    """What was decided on each pattern, as the export says."""
    dataset, statuses = Dataset(source), dict[str, PatternStatus]()
    for part in dataset.parts("patterns"):
        rows = dataset.read("patterns", part)
        statuses |= dict(zip(rows["pattern"].to_pylist(), rows["status"].to_pylist(), strict=True))
    return statuses


def recurring_keys(work: str, parts: Sequence[str]) -> KeyCounts:
    """Keys that several sessions have, grouped by DuckDB, which spills what memory cannot hold."""
    if not parts:
        return KeyCounts()
    try:
        with duckdb.connect(config={"memory_limit": MEMORY, "threads": 1}) as database:
            database.register("signals", Dataset(work).arrow("signals", parts))
            result = database.execute(_KEYS)
            chunks: Iterator[list[tuple[int]]] = iter(lambda: result.fetchmany(100_000), [])
            return KeyCounts.of_recurring(key for chunk in chunks for (key,) in chunk)
    except duckdb.Error as error:
        raise SessionMemoryError(
            f"grouping failed: {str(error).splitlines()[0]}",
            hint="is the disk full? DuckDB spills into the folder that TMPDIR names",
        ) from None


class _shared:  # noqa: N801 - used as a context manager
    """A file that every worker of a step reads, gone when the step is over."""

    def __init__(self, work: str, content: Shared) -> None:
        self._dataset, self._name = Dataset(work), f"run/{uuid4().hex}.msgpack"
        self._content = content

    def __enter__(self) -> str:
        self._dataset.write_bytes(self._name, msgspec.msgpack.encode(self._content))
        return self._name

    def __exit__(self, *_: object) -> None:
        self._dataset.delete(self._name)


@lru_cache(maxsize=1)
def _read_shared(work: str, name: str) -> tuple[Shared, KeyCounts | None]:
    content = msgspec.msgpack.decode(Dataset(work).read_bytes(name), type=Shared)
    return content, content.table()


def _mine(source: str, work: str, part: str) -> MinedPart:
    return mine_part(Dataset(source), Dataset(work), part)


def _loci(work: str, parts: list[str], wanted: Filter, shared: str) -> Loci:
    return loci_of(Dataset(work), parts, wanted, _read_shared(work, shared)[1])


def _fold(work: str, parts: list[str], wanted: Filter, shared: str) -> Fold:
    content, counts = _read_shared(work, shared)
    return fold_of(Dataset(work), parts, wanted, content.names, counts)
