"""`python -m session_memory.ingest [--dry-run] [--config PATH]`: the same as `sweep`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main_as

if __name__ == "__main__":
    sys.exit(main_as("sweep", sys.argv[1:]))
