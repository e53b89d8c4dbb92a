"""mem_search on a big store, as the command line and the tools run it. Prints JSON when run.

Queries are made of words that stand in the store. Each is asked over everything, in the project
with the most sessions, in a middle one and in the smallest, for failures alone and over the last 30
days of the store; then the command line is started for some of them, each in a process of its own,
and a server answers some.

`python -m tests.bench.search STORE QUERIES`
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.bench.child import REPOSITORY, Home, run, run_json
from tests.bench.figures import Figure, Section, percentile
from tests.bench.usage import arguments

QUERIES = 30
STARTS = 5
BEST_OF = 3
"""Of so many tries the fastest counts: other programs run on the machine, too."""
BUDGET_EVENTS = 1_000_000
_WORD = re.compile(r"[^\W\d_]{4,}")
_MONTH_MS = 30 * 86_400_000


def search(home: Home) -> Section:
    """Latency in a process that has the store open, of the command, and memory of the server."""
    result = run_json(
        ["-m", "tests.bench.search", str(home.store), str(QUERIES)], home.environment()
    )
    # The budget is for a store of that size: meeting it on a smaller one says nothing.
    is_big = result["events"] >= BUDGET_EVENTS
    figures: list[Figure] = []
    for name, times in result["milliseconds"].items():
        p50, p95 = ((20, 5), (80, 50)) if is_big else ((), ())
        figures.append(Figure(f"{name}, p50", percentile(times, 0.5), "ms", *p50))
        figures.append(Figure(f"{name}, p95", percentile(times, 0.95), "ms", *p95))
        used = result["cpu_ms"][name]
        figures.append(Figure(f"{name}, CPU p50", percentile(used, 0.5), "ms"))
        figures.append(Figure(f"{name}, CPU p95", percentile(used, 0.95), "ms"))
    words = result["queries"]
    starts = [
        run(["-m", "session_memory", "search", *query.split()], home.environment())
        for query in words[:STARTS]
    ]
    cold = min(spent.wall for spent in starts) * 1000
    figures.append(Figure("the command, from its start", cold, "ms", *((250,) if is_big else ())))
    figures.append(Figure("CPU of the command", min(s.cpu for s in starts) * 1000, "ms"))
    figures.append(Figure("memory of a server", _server_mb(home, words), "MB", 60))
    empty = f"{result['empty']} of {len(words)} queries found nothing"
    return Section(f"Search over {result['events']} events", figures, (empty,))


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


def _server_mb(home: Home, words: list[str]) -> float:
    """What a server holds after it answered the queries."""
    asked: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call",
         "params": {"name": "mem_search", "arguments": {"query": query}}}
        for number, query in enumerate(words, 1)
    ]  # fmt: skip
    watched = run(["-c", _SERVE, json.dumps(asked)], home.environment())
    return watched.peak_bytes / 1_000_000


_SERVE = f"""
import json, subprocess, sys
lines = "\\n".join(json.dumps(one) for one in json.loads(sys.argv[1])) + "\\n"
done = subprocess.run([{sys.executable!r}, "-m", "session_memory", "mcp"], input=lines.encode(),
                      stdout=subprocess.PIPE, cwd={str(REPOSITORY)!r}, check=True)
assert done.stdout.count(b'"isError":false') == len(json.loads(sys.argv[1])), done.stdout[:500]
"""
"""The server in a small process, whose peak is that of its child."""


def main(directory: str, count: int) -> None:
    """Run the queries and print what they took."""
    from session_memory.clock import now_ms
    from session_memory.recall.context import RecallContext
    from session_memory.recall.requests import SearchRequest
    from session_memory.recall.search import search
    from session_memory.store import open_store
    from session_memory.store.port import SessionQuery

    store = open_store(directory, now_ms(), read_only=True)
    sessions = store.sessions(SessionQuery())
    prompts = [
        event.text or ""
        for session in sessions[:40]
        for event in store.events(session.id, texts=True)
        if event.kind in ("user_prompt", "assistant_text")
    ]
    by_size = [key for key, _ in Counter(s.project_key for s in sessions).most_common()]
    last = max(session.ended_at or 0 for session in sessions)
    filters: dict[str, dict[str, Any]] = {
        "all": {},
        "biggest project": {"project_key": by_size[0]},
        "middle project": {"project_key": by_size[len(by_size) // 2]},
        "smallest project": {"project_key": by_size[-1]},
        "failures": {"errors_only": True},
        "30 days": {"since": last - _MONTH_MS},
    }
    context = RecallContext(store, now_ms)
    asked = list(queries(prompts, count))
    times: dict[str, list[float]] = {name: [] for name in filters}
    cpu: dict[str, list[float]] = {name: [] for name in filters}
    empty = 0
    for query in asked:
        for name, given in filters.items():
            tries: list[tuple[float, float]] = []
            for _ in range(BEST_OF):
                started, spent = time.perf_counter(), time.process_time()
                answer = search(context, SearchRequest(query, **given))
                tries.append((time.perf_counter() - started, time.process_time() - spent))
            times[name].append(min(wall for wall, _ in tries) * 1000)
            cpu[name].append(min(used for _, used in tries) * 1000)
            empty += name == "all" and not answer.items
    result = {
        "events": store.info().events,
        "milliseconds": times,
        "cpu_ms": cpu,
        "queries": asked,
        "empty": empty,
    }
    print(json.dumps(result))
    store.close()


if __name__ == "__main__":
    place, count, *_ = arguments(__doc__, least=2)
    main(place, int(count))
