"""`python -m session_memory.detect [--json] [--min-frequency N]`: the same as `rules detect`."""

from __future__ import annotations

import sys

from session_memory.__main__ import main_as

if __name__ == "__main__":
    sys.exit(main_as("rules detect", sys.argv[1:]))
