"""The command line of a benchmark: its module's text is its help."""

from __future__ import annotations

import sys


def arguments(text: str | None, least: int = 0) -> list[str]:
    """The words behind the command; shows `text` and ends for --help or where some are missing."""
    given = sys.argv[1:]
    asked = any(word in ("-h", "--help") for word in given)
    if asked or len(given) < least:
        print((text or "").strip(), file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    return given
