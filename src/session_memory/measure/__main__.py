"""`python -m session_memory.measure ...`: the same as `session-memory rules measure ...`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main_as

if __name__ == "__main__":
    sys.exit(main_as("rules measure", sys.argv[1:]))
