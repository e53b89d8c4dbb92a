"""`python -m session_memory.distribute ...`: the same as `session-memory rules distribute ...`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main_as

if __name__ == "__main__":
    sys.exit(main_as("rules distribute", sys.argv[1:]))
