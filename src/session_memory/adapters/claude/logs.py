"""Where Claude Code keeps its session logs, and when it deletes them: all an idle sweep needs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.adapters.agent import later
from session_memory.adapters.claude import AGENT
from session_memory.adapters.common import (
    SETTINGS_CAP,
    LogDeletion,
    SourceFile,
    decode_record,
    walk_files,
)
from session_memory.plain_files import read_plain

PARSER_VERSION = 2
DEFAULT_CLEANUP_DAYS = 30

_SKIP_DIRS = frozenset({"memory", "tool-results"})
_SKIP_FILES = frozenset({"history.jsonl", "journal.jsonl"})


def discover(root: str) -> Iterator[SourceFile]:
    """Every session log of a Claude home, or of any other folder the user points at."""
    projects = os.path.join(root, "projects")
    start = projects if os.path.isdir(projects) else root
    return walk_files(start, ".jsonl", skip_dirs=_SKIP_DIRS, skip_files=_SKIP_FILES)


def log_deletion(home: str) -> LogDeletion:
    """After how many days Claude Code deletes its own logs; the local settings file wins."""
    for name in ("settings.local.json", "settings.json"):
        try:
            settings = decode_record(read_plain(os.path.join(home, name), SETTINGS_CAP))
        except OSError:
            continue
        days = (settings or {}).get("cleanupPeriodDays")
        if isinstance(days, int) and not isinstance(days, bool) and days >= 0:
            return LogDeletion(days, f"{name}: cleanupPeriodDays")
    return LogDeletion(DEFAULT_CLEANUP_DAYS, "default")


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(
        discover=discover,
        parse=later("session_memory.adapters.claude.reader:parse"),
        read=later("session_memory.adapters.claude.leaves:read"),
        version=PARSER_VERSION,
    ),
    log_deletion=log_deletion,
    # On resuming, and when an editor opens again (2.1), with other folders and versions in them.
    writes_again=True,
)
