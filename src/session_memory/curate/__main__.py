"""`python -m session_memory.curate ...`: the same as `session-memory rules ...`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main_as

if __name__ == "__main__":
    sys.exit(main_as("rules", sys.argv[1:]))
