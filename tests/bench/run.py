"""Every speed and size figure in one run: `make bench`, or `python tests/bench/run.py --help`."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.suite import main

if __name__ == "__main__":
    sys.exit(main())
