"""Context packs on a big store: of projects and of sessions. Prints JSON when run.

python -m tests.bench.recall_pack STORE [COUNT]      a store that was swept
python -m tests.bench.recall_pack --crowd SESSIONS   one project with that many sessions, made
                                                     here: the worst a store can hold
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.child import Home, run_json
from tests.bench.figures import Figure, Section, percentile
from tests.bench.usage import arguments

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Observation, ObservationType
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.requests import PackRequest
from session_memory.store import open_store
from session_memory.store.port import Store
from session_memory.testing.store_drafts import START, Said, add_draft, distilled, lived, turn

PACKS = 40
BUDGET_EVENTS = 1_000_000
_SAID: tuple[tuple[ObservationType, int, int], ...] = (
    ("user_request", 8, 25),
    ("session_summary", 7, 45),
    ("pending_item", 2, 9),
    ("constraint", 1, 12),
    ("decision", 1, 12),
    ("completed_item", 1, 8),
)
"""Type, how many a session says, words in each: as on generated logs."""


def recall_packs(home: Home) -> Section:
    """Latency in a process that has the store open."""
    arguments = ["-m", "tests.bench.recall_pack", str(home.store), str(PACKS)]
    result = run_json(arguments, home.environment())
    times: list[float] = result["milliseconds"]
    # The budget is for a store of that size: meeting it on a smaller one says nothing.
    big = result["events"] >= BUDGET_EVENTS
    figures = [
        Figure("p50", percentile(times, 0.5), "ms"),
        Figure("p95", percentile(times, 0.95), "ms", *((200, 80) if big else (None, None))),
    ]
    size = f"budget: p95 200 / 80 ms, at {BUDGET_EVENTS} events"
    return Section(f"Context packs over {result['events']} events", figures, (size,))


def requests(store: Store, count: int) -> Iterator[PackRequest]:
    """Half of the largest projects, half of their latest sessions."""
    found = [(store.scopes.lines(project.id), project.key) for project in store.projects()]
    found.sort(key=lambda one: -sum(line.observed_bytes for line in one[0]))
    for place in range(count):
        lines, key = found[place // 2 % len(found)]
        yield PackRequest(key, lines[0].id if place % 2 and lines else None)


def timed(store: Store, count: int) -> dict[str, object]:
    """Build every pack anew: nothing is cached here."""
    recall = RecallContext(store, lambda: START, read_only=True)
    times: list[float] = []
    for request in requests(store, count):
        started = time.perf_counter()
        context_pack(recall, request)
        times.append((time.perf_counter() - started) * 1000)
    return {"events": store.info().events, "milliseconds": times}


def crowd(store: Store, sessions: int) -> None:
    """One project in which everybody works."""
    chance = random.Random(7)
    vocabulary = [f"word{number}" for number in range(3000)]
    shop = Resolution(key="shop", root="/work/shop", source="cwd:.git", confidence="high")

    def words(count: int) -> str:
        return " ".join(chance.choice(vocabulary) for _ in range(count))

    with store.writing() as writer:
        for number in range(sessions):
            at = number * 1000
            said = Said(
                f"s{number}", f"/logs/{number}", (turn(at, f"hi {number}"),), lived(at, at + 99)
            )
            one = add_draft(writer, said)
            writer.settle({one})
            place = chance.choice(("", "/api", "/web/src"))
            writer.assign_project(one, f"/work/shop{place}", shop, "general")
            writer.save_digest(one, distilled(words(12), turns=8, requests=8), None)
            kinds: list[tuple[ObservationType, int]] = [
                (kind, size) for kind, count, size in _SAID for _ in range(count)
            ]
            found = [
                Observation(
                    kind, "active", words(size), 3, one, None, "user", f"{number} {n}",
                    START + at + n,
                )
                for n, (kind, size) in enumerate(kinds)
            ]  # fmt: skip
            writer.save_observations({one: found})


def main(arguments: list[str]) -> None:
    """Measure the store that is named, or one made here."""
    if arguments[0] == "--crowd":
        with tempfile.TemporaryDirectory() as folder:
            directory = str(Path(folder) / "store")
            with open_store(directory, START, create_missing=True) as store:
                crowd(store, int(arguments[1]))
                print(json.dumps(timed(store, 10)))
        return
    with open_store(arguments[0], START, read_only=True) as store:
        print(json.dumps(timed(store, int((*arguments, PACKS)[1]))))


if __name__ == "__main__":
    main(arguments(__doc__, least=1))
