"""Six servers and two sweeps on one store: `python -m tests.bench.mcp_crowd [SECONDS]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.bench.usage import arguments
from tests.mcp.crowd import Seen, crowd


def main() -> int:
    """Run the crowd and tell what it went through; 1 where anything failed."""
    given = arguments(__doc__)
    seconds = float(given[0]) if given else 60.0
    ends = time.monotonic() + seconds

    def goes_on(_seen: Seen) -> bool:
        return time.monotonic() < ends

    with tempfile.TemporaryDirectory(prefix="session-memory-crowd-") as folder:
        seen = crowd(Path(folder), goes_on)
    print(
        f"{seen.answers} answers, {seen.sweeps} sweeps, {len(seen.errors)} errors,"
        f" {seen.most_servers} servers at once"
    )
    for error in seen.errors[:10]:
        print(error)
    return 1 if seen.errors else 0


if __name__ == "__main__":
    sys.exit(main())
