"""Redaction speed on genuine Claude logs: run by hand, `python tests/bench/bench_redact.py`.

Must 40, goal 100 MB of text per CPU second; the first round also builds the automaton.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.redact import Redactor

LOGS = Path(__file__).resolve().parents[3] / "shared" / "logs" / "claude"
ROUNDS = 4


def texts(value: Any) -> Iterator[str]:
    """Every text a message holds: what people and models wrote, and what tools gave back."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for name in ("text", "thinking", "content"):
            yield from texts(value.get(name))
        if "input" in value:
            yield msgspec.json.encode(value["input"]).decode()


def bodies(root: Path) -> Iterator[bytes]:
    for file in sorted(root.rglob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            try:
                record: Any = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(record, dict) and isinstance(record.get("message"), dict):
                for text in texts(record["message"].get("content")):
                    yield text.encode("utf-8", "surrogatepass")


def main(root: Path) -> None:
    corpus = list(bodies(root))
    if not corpus:
        sys.exit(f"no logs below {root}")
    sizes = [len(body) for body in corpus]
    total = sum(sizes)
    print(
        f"{len(corpus)} bodies, {total / 1e6:.1f} MB, median {statistics.median(sizes):.0f}, "
        f"mean {total / len(corpus):.0f} bytes"
    )
    redactor = Redactor(b"a key of the bench")
    for number in range(ROUNDS):
        start = time.process_time()
        touched = sum(redactor.redact(body) is not body for body in corpus)
        spent = time.process_time() - start
        print(
            f"round {number + 1}: {total / spent / 1e6:6.0f} MB per CPU second, "
            f"{spent / len(corpus) * 1e6:.1f} us per body, {touched / len(corpus):.2%} touched"
        )
        counts = redactor.take_counts()
    print("redactions:", counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else LOGS)
