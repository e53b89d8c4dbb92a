"""CPU time of each stage of a sweep, run one by one on the same blocks. Prints JSON.

Run as a process of its own, because it holds all events in memory: `python -m tests.bench.stages
BYTES ROOT...` takes files until they hold that many bytes.
"""

from __future__ import annotations

import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec
from tests.bench.usage import arguments
from tests.distil.test_digest import build_digest

from session_memory.adapters.claude.logs import ADAPTER
from session_memory.adapters.common import Block, SessionPart, SourceFile, read_lines
from session_memory.clock import now_ms
from session_memory.core.fingerprint import event_fingerprint
from session_memory.core.pricing import load_table
from session_memory.ingest.merge import Reading, place
from session_memory.ingest.normalize import Drafter, side_files_of
from session_memory.redact.engine import Redactor
from session_memory.store import open_store
from session_memory.store.port import EventDraft, SessionQuery
from session_memory.store.segments import DirectorySegments, pack
from session_memory.store.sqlite.connection import connect, transaction

KEY = b"a key of the benchmark"
COMMIT_BYTES = 16 * 1024 * 1024
ROUNDS = 3
SWEEP = (
    "read",
    "adapter (with decode)",
    "draft (with redact, fingerprint)",
    "all writing at once",
    "digest (with reading back)",
)
"""The stages that together do what a sweep does; the others are parts of these."""


class Input(NamedTuple):
    """A part of one block, with the place it came from and the drafts made of it."""

    file: SourceFile
    part: SessionPart
    drafts: list[EventDraft]


class Stopwatch:
    """Keeps the least CPU seconds of each stage: whatever is above them, others caused."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def time(self, stage: str, work: Callable[[], Any]) -> Any:
        """Run one stage and remember its cost if it is the lowest so far."""
        gc.collect()
        # A sweep does not hold the results of earlier stages for the collector to walk. What is
        # frozen stays so: the tests' own modules are, and walking them takes most of a second.
        gc.freeze()
        started = time.process_time()
        result = work()
        spent = time.process_time() - started
        self.spent[stage] = min(spent, self.spent.get(stage, spent))
        return result


def choose(roots: list[str], limit: int) -> list[SourceFile]:
    """Files of all roots until `limit` bytes are reached."""
    chosen: list[SourceFile] = []
    total = 0
    for root in roots:
        for file in sorted(ADAPTER.discover(root), key=lambda found: found.path):
            if total < limit and file.size <= limit - total:
                chosen.append(file)
                total += file.size
    return chosen


def decode_all(blocks: Iterable[Block], decode: Callable[[bytes], Any]) -> None:
    """Bare decoding: the least any reader of these logs pays."""
    for block in blocks:
        for _, line in block.lines:
            try:
                decode(line)
            except (ValueError, msgspec.DecodeError, RecursionError):
                continue


def parse_all(blocks: list[tuple[SourceFile, list[Block]]]) -> list[Input]:
    """The adapter's work, decoding included."""
    found: list[Input] = []
    for file, of_file in blocks:
        state: dict[str, Any] = {}
        for block in of_file:
            normalized = ADAPTER.parse(file, block, state)
            state = normalized.state
            found += [Input(file, part, []) for part in normalized.sessions]
    return found


def fingerprint_all(inputs: list[Input], bodies: list[bytes]) -> None:
    """The hash by which an event is known again."""
    body = iter(bodies)
    for item in inputs:
        for raw in item.part.events:
            event_fingerprint(
                KEY,
                kind=raw.kind,
                at=raw.at,
                body=next(body),
                call_id=raw.call_id,
                place=raw.identity or item.part.external_id,
            )


def redact_all(inputs: list[Input], bodies: list[bytes], redactor: Redactor) -> None:
    """Redaction of bodies only; commands and paths are redacted while drafting."""
    body = iter(bodies)
    for item in inputs:
        for raw in item.part.events:
            data = next(body)
            (redactor.redact_json if raw.kind == "tool_call" else redactor.redact)(data)


def draft_all(inputs: list[Input], drafter: Drafter) -> list[Input]:
    """Everything between adapter and store: fingerprint, redaction, texts to index."""
    turns: dict[tuple[str, str], list[str]] = {}
    drafted: list[Input] = []
    for item in inputs:
        external_id = item.part.external_id
        before = turns.setdefault((item.file.path, external_id), [])
        overflow = side_files_of(item.file.path)
        drafts = drafter.events(ADAPTER.name, item.part, before, overflow)
        drafted.append(item._replace(drafts=drafts))
    return drafted


def write_store(
    inputs: list[Input], directory: str, drafter: Drafter, kept: Callable[[EventDraft], EventDraft]
) -> None:
    """Merge, event rows, facts, usage and settling; with what `kept` leaves of each draft."""
    store = open_store(directory, now_ms(), create_missing=True)
    readings: dict[str, Reading] = {}
    with store.writing() as writer:
        for batch in batches(inputs):
            touched: set[int] = set()
            for item in batch:
                source = writer.source(ADAPTER.name, item.file.path)
                reading = readings.setdefault(item.file.path, Reading(source, KEY, 0))
                part = item.part
                session = writer.session(ADAPTER.name, part.external_id, part.parent_external_id)
                writer.link(session, source)
                touched.add(session.id)
                drafts = [kept(draft) for draft in item.drafts]
                placed = place(session.id, drafts, reading, writer.holders)
                writer.note_shared(placed.shared)
                writer.confirm(source, placed.held)
                writer.append(session, source, placed.new)
                writer.add_facts(session, source, drafter.facts(part))
                writer.add_usage(session, [drafter.usage(ADAPTER.name, u) for u in part.usages])
            writer.settle(touched)
            writer.commit()
    store.close()


def bare(draft: EventDraft) -> EventDraft:
    """The draft without what other stages store."""
    return msgspec.structs.replace(draft, body=b"", index_text=None, turn_text=None)


def whole(draft: EventDraft) -> EventDraft:
    """The draft with everything; a copy, because merging numbers equal fingerprints in place."""
    return msgspec.structs.replace(draft)


def write_index(inputs: list[Input], directory: str) -> None:
    """The same texts into both full-text tables of an empty store."""
    open_store(directory, now_ms(), create_missing=True).close()
    db = connect(f"{directory}/store.db")
    row = 0
    for batch in batches(inputs):
        with transaction(db):
            for item in batch:
                texts: list[tuple[int, str]] = []
                turns: list[tuple[int, str]] = []
                for draft in item.drafts:
                    row += 1
                    if draft.index_text:
                        texts.append((row, draft.index_text))
                    if draft.turn_text:
                        turns.append((row, draft.turn_text))
                db.executemany("INSERT INTO event_text (rowid, body) VALUES (?, ?)", texts)
                db.executemany("INSERT INTO turn_text (rowid, body) VALUES (?, ?)", turns)
    db.close()


def write_segments(inputs: list[Input], directory: str) -> None:
    """Compression and durable writing of the texts, one file per session and commit."""
    segments = DirectorySegments(directory)
    numbers: dict[str, int] = {}
    for batch in batches(inputs):
        texts: dict[int, list[bytes]] = {}
        for item in batch:
            number = numbers.setdefault(item.part.external_id, len(numbers) + 1)
            texts.setdefault(number, []).extend(draft.body for draft in item.drafts)
        segments.put([pack(number, b"".join(bodies)) for number, bodies in texts.items()])


def batches(inputs: list[Input]) -> Iterator[list[Input]]:
    """About what the sweep writes per transaction."""
    batch: list[Input] = []
    size = 0
    for item in inputs:
        batch.append(item)
        size += sum(len(draft.body) for draft in item.drafts)
        if size >= COMMIT_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def digest_all(directory: str) -> None:
    """Read every session of a finished store back and distil it."""
    store = open_store(directory, now_ms())
    for session in store.sessions(SessionQuery()):
        build_digest(session, store.events(session.id, texts=True))
    store.close()


def read_all(files: list[SourceFile]) -> list[tuple[SourceFile, list[Block]]]:
    """All blocks of all files."""
    return [(file, list(read_lines(file.path))) for file in files]


def reading_stages(watch: Stopwatch, files: list[SourceFile]) -> list[Input]:
    """From file to events, beside bare decoding of the same lines."""
    blocks: list[tuple[SourceFile, list[Block]]] = watch.time("read", lambda: read_all(files))
    flat = [block for _, of_file in blocks for block in of_file]
    watch.time("decode, json", lambda: decode_all(flat, json.loads))
    watch.time("decode, msgspec", lambda: decode_all(flat, msgspec.json.Decoder().decode))
    return watch.time("adapter (with decode)", lambda: parse_all(blocks))


def writing_stages(watch: Stopwatch, inputs: list[Input], drafter: Drafter) -> None:
    """From drafts to the store, part by part and all at once, and the digest read from it."""
    with tempfile.TemporaryDirectory() as folder:
        rows, full = f"{folder}/rows", f"{folder}/full"
        watch.time("merge, rows, settle", lambda: write_store(inputs, rows, drafter, bare))
        watch.time("index", lambda: write_index(inputs, f"{folder}/index"))
        watch.time("segments", lambda: write_segments(inputs, f"{folder}/segments"))
        watch.time("all writing at once", lambda: write_store(inputs, full, drafter, whole))
        watch.time("digest (with reading back)", lambda: digest_all(full))


def measure(files: list[SourceFile], rounds: int) -> dict[str, Any]:
    """Run all stages on the same files, several times over."""
    watch = Stopwatch()
    redactor = Redactor(KEY)
    redactor.redact_text("token=")  # building the automaton is a cost of the process, not of bytes
    drafter = Drafter(KEY, redactor, load_table())
    bodies: list[bytes] = []
    for _ in range(rounds):
        inputs = reading_stages(watch, files)
        bodies = [e.text.encode("utf-8", "replace") for item in inputs for e in item.part.events]
        watch.time("fingerprint", partial(fingerprint_all, inputs, bodies))
        watch.time("redact", partial(redact_all, inputs, bodies, redactor))
        drafted = watch.time(
            "draft (with redact, fingerprint)", partial(draft_all, inputs, drafter)
        )
        writing_stages(watch, drafted, drafter)
    watch.spent["sum: read, adapter, draft, writing, digest"] = sum(
        watch.spent[stage] for stage in SWEEP
    )
    return {
        "bytes": sum(file.size for file in files),
        "text_bytes": sum(map(len, bodies)),
        "events": len(bodies),
        "stages": watch.spent,
    }


if __name__ == "__main__":
    size, *roots = arguments(__doc__, least=1)
    print(json.dumps(measure(choose(roots, int(size)), ROUNDS)))
