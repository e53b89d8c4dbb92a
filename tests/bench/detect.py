"""Detection over many digests: what mining costs when they are made, and counting when asked.

`python -m tests.bench.detect [SESSIONS]`
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.usage import arguments

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.child import new_home, run

from session_memory.core.schema import CommandRun, Cost, Digest, ErrorSeen
from session_memory.detect.mine import mine
from session_memory.store import open_store
from session_memory.testing.store_drafts import START, Said, capture, distilled, event

PROGRAMS = ("git push", "npm run build", "pytest -q", "make test", "cargo build", "go test ./...")
TROUBLE = ("cannot open {} for writing", "connection to {} refused", "unknown option {} given")
BATCH = 1000


def digests(count: int) -> Iterator[Digest]:
    """Sessions of a dozen commands each, a third failing; many words of their own, many shared."""
    chance = random.Random(7)
    for number in range(count):
        runs = tuple(
            CommandRun(
                f"{chance.choice(PROGRAMS)} --at pkg{chance.randrange(5000)}",
                exit=int(failed := chance.random() < 0.3),
                is_error=failed,
                at=START + number,
                seq=2 * at,
                verifies=chance.random() < 0.3,
            )
            for at in range(12)
        )
        errors = tuple(
            ErrorSeen(text, 1, text, 2 * at + 1, "Bash")
            for at in range(3)
            for text in [chance.choice(TROUBLE).format(f"thing{chance.randrange(20_000)}")]
        )
        yield distilled(
            flavor=chance.choice(("claude", "codex")),
            outcome=chance.choice(("success", "partial", "fail")),
            events=60,
            duration_s=900.0,
            tools={"Bash": 12, "Edit": 9},
            files={f"src/m{chance.randrange(400)}.py": chance.randrange(12)},
            commands=runs,
            errors=errors,
            corrections=(f"no, use tool{chance.randrange(3000)} instead of that",)
            * (number % 3 == 0),
            cost=Cost(output=1000, usd=0.5),
        )


def fill(directory: str, count: int) -> float:
    """A store of so many sessions, as sweeps leave it; returns the CPU time of the mining in it."""
    spent = 0.0
    with open_store(directory, START, create_missing=True) as store:
        made = digests(count)
        for first in range(0, count, BATCH):
            said = [
                Said(f"s{at}", f"/logs/{at}", (event(at, f"text {at}"),))
                for at in range(first, min(count, first + BATCH))
            ]
            sessions = capture(store, *said)
            with store.writing() as writer:
                for session, one in zip(sessions, made, strict=False):
                    writer.save_digest(session, one, None)
            started = time.process_time()
            mine(store.patterns, sessions)
            spent += time.process_time() - started
    return spent


def main(count: int) -> int:
    """Print CPU seconds of mining, and CPU seconds and peak memory of the command."""
    with new_home() as home:
        mining = fill(str(home.store), count)
        print(f"mining, {BATCH} digests after each sweep: {mining:.1f} CPU s in all")
        for name in ("first detection", "second detection"):
            spent = run(
                ["-m", "session_memory", "rules", "detect", "--all", "--json"], home.environment()
            )
            found = len(json.loads(spent.output))
            memory = spent.peak_bytes // 1_000_000
            print(f"{name}: {spent.cpu:.1f} CPU s, {memory} MB, {found} candidates")
    return 0


if __name__ == "__main__":
    given = arguments(__doc__)
    sys.exit(main(int(given[0]) if given else 100_000))
