"""Random queries against a small store: none may raise. `python -m tests.bench.fuzz_search [N]`.

Queries mix words that stand in the store, query syntax of the index, controls, half of surrogate
pairs and text of many scripts; every tenth goes through the whole answer of mem_search.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.usage import arguments

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.testing.workspace import Workspace

SYNTAX = (
    '"', "'", "*", "(", ")", "^", ":", "-", "+", "{", "}", "[", "]", "AND", "OR", "NOT", "NEAR",
    "NEAR(a b, 5)", "body:", "rowid", "\\", "/", "%", "_", "--", ";", "\0", "\x1b[31m", "\ud800",
    "\u202e", "\ufeff", "日本語", "Ünïcödé", "🦊", "a" * 500, " ", "\n", "C:\\Users\\x",
    "src/app.py",
)  # fmt: skip
WORDS = ("test", "checkout", "failing", "make", "decision", "the", "what", "parser", "zstd")


def query(chance: random.Random) -> str:
    """One query of up to twelve pieces, glued in any way."""
    pieces = [
        chance.choice(SYNTAX)
        if chance.random() < 0.5
        else chance.choice(WORDS)
        if chance.random() < 0.7
        else "".join(chr(chance.randrange(1, 0x11000)) for _ in range(chance.randrange(1, 8)))
        for _ in range(chance.randrange(0, 12))
    ]
    return chance.choice(("", " ")).join(pieces)


def main(count: int) -> int:
    """Ask, and print how many were asked; an error ends it with its query."""
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        for seed in range(5):
            log = ClaudeLog(seed)
            log.prompt("fix the failing checkout test in src/app.py, decision: use zstd")
            log.run("make test", "parser failed", 1)
            log.say("Unïcode 日本語 🦊 all done")
            space.write(log)
        space.sweep()
        chance, found, began = random.Random(11), 0, time.process_time()
        with space.store() as store:
            recall = RecallContext(store, lambda: space.now)
            for number in range(count):
                asked = query(chance)
                try:
                    found += bool(store.search(asked))
                    if number % 10 == 0:
                        search(recall, SearchRequest(asked))
                except Exception:
                    print(f"query {number}: {asked!r}", file=sys.stderr)
                    raise
    took = time.process_time() - began
    print(json.dumps({"queries": count, "with_hits": found, "raised": 0, "cpu_s": round(took, 1)}))
    return 0


if __name__ == "__main__":
    given = arguments(__doc__)
    sys.exit(main(int(given[0]) if given else 100_000))
