"""mem_search on a big store, as the command line and the tools run it. Prints JSON when run.

Queries are made of words that stand in the store.

`python -m tests.bench.search STORE QUERIES`
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator

from tests.bench.child import Home, run_json
from tests.bench.figures import Figure, Section, percentile
from tests.bench.usage import arguments

QUERIES = 30
BUDGET_EVENTS = 1_000_000
_WORD = re.compile(r"[^\W\d_]{4,}")


def search(home: Home) -> Section:
    """Latency in a process that has the store open."""
    arguments = ["-m", "tests.bench.search", str(home.store), str(QUERIES)]
    result = run_json(arguments, home.environment())
    times: list[float] = result["milliseconds"]
    # The budget is for a store of that size: meeting it on a smaller one says nothing.
    p50, p95 = ((20, 5), (150, 50)) if result["events"] >= BUDGET_EVENTS else ((), ())
    figures = [
        Figure("p50", percentile(times, 0.5), "ms", *p50),
        Figure("p95", percentile(times, 0.95), "ms", *p95),
        Figure("CPU per query", result["cpu_ms"] / len(times), "ms"),
    ]
    slowest = f"slowest: {result['slowest']!r}, {max(times):.0f} ms"
    empty = f"{result['empty']} of {len(times)} queries found nothing"
    size = f"budget: p50 20 / 5 ms, p95 150 / 50 ms, at {BUDGET_EVENTS} events"
    return Section(f"Search over {result['events']} events", figures, (slowest, empty, size))


def queries(prompts: list[str], count: int) -> Iterator[str]:
    """One to four neighbouring words of prompts and answers, the same for the same store."""
    chance = random.Random(7)
    while count:
        words = _WORD.findall(chance.choice(prompts))
        if words:
            wanted = chance.randint(1, 4)
            first = chance.randrange(max(1, len(words) - wanted))
            yield " ".join(words[first : first + wanted])
            count -= 1


def main(directory: str, count: int) -> None:
    """Run the queries once each and print what they took."""
    from session_memory.clock import now_ms
    from session_memory.recall.context import RecallContext
    from session_memory.recall.requests import SearchRequest
    from session_memory.recall.search import search
    from session_memory.store import open_store
    from session_memory.store.port import SessionQuery

    store = open_store(directory, now_ms(), read_only=True)
    prompts = [
        event.text or ""
        for session in store.sessions(SessionQuery(limit=40))
        for event in store.events(session.id, texts=True)
        if event.kind in ("user_prompt", "assistant_text")
    ]
    context = RecallContext(store, now_ms)
    times: list[tuple[float, str]] = []
    empty = 0
    cpu = time.process_time()
    for query in queries(prompts, count):
        started = time.perf_counter()
        empty += not search(context, SearchRequest(query)).items
        times.append(((time.perf_counter() - started) * 1000, query))
    result = {
        "events": store.info().events,
        "milliseconds": [spent for spent, _ in times],
        "cpu_ms": (time.process_time() - cpu) * 1000,
        "slowest": max(times)[1],
        "empty": empty,
    }
    print(json.dumps(result))
    store.close()


if __name__ == "__main__":
    place, count, *_ = arguments(__doc__, least=2)
    main(place, int(count))
