"""Everything a store holds, table by table: what `forget` and a rescan for secrets must go through.

A test compares this list with the schema, so that a new table cannot be left out by accident.
"""

from __future__ import annotations

import msgspec


class Derived(msgspec.Struct, frozen=True):
    """One table or folder of the store."""

    what: str
    by_session: str | None
    """How to find what belongs to one session; None where nothing does."""
    holds_text: bool
    """Whether words of a log can stand in it, and so a secret that redaction missed."""


DERIVED: dict[str, Derived] = {
    "meta": Derived("the store's keys, forget marks of other keys", None, False),
    "schema_migration": Derived("which migrations ran, and when", None, False),
    "project": Derived(
        "places of work: keys, roots, remotes", "those no other session is in", True
    ),
    "project_alias": Derived("directories and the project of each", "by its project", True),
    "source": Derived("log files, their paths and cursors", "through session_source", True),
    "session": Derived("one row for each session: names, titles, directories", "by id", True),
    "session_source": Derived("which files tell of which session", "by session id", False),
    "fact": Derived("what files state: titles, directories, branches", "by session id", True),
    "segment": Derived("the files that hold a session's texts", "by session id", False),
    "doomed_segment": Derived(
        "files whose rows are gone and whose bytes must go next",
        "the session's number begins the name",
        False,
    ),
    "event": Derived(
        "events: commands, paths, labels", "the session's number is the upper part of the id", True
    ),
    "event_copy": Derived("the same event in further files", "by its event", False),
    "evicted_event": Derived("fingerprints of evicted events", "by session id", False),
    "usage": Derived("tokens and dollars of each response", "by session id", False),
    "tombstone": Derived("keyed fingerprints of what was forgotten", None, False),
    "forgotten_session": Derived("keyed names of forgotten sessions", None, False),
    "forgotten_source": Derived("keyed paths of files that only tell of them", None, False),
    "quarantine": Derived("where damaged lines are in the logs", "through its source", False),
    "turn": Derived("turns that ended, as hooks told", "by flavour and native id", False),
    "session_note": Derived("small facts from hooks", "by flavour and native id", True),
    "injection": Derived("what was given to a session", "by flavour and native id", False),
    "job": Derived("background work: what, for whom, how often it failed", "by session id", True),
    "digest": Derived("what was distilled from a session", "by session id", True),
    "observation": Derived("what a session said that is worth knowing", "by session id", True),
    "mined": Derived("signals mined from a digest", "by session id", True),
    "pattern": Derived(
        "what recurs, and what was decided on it", "its words go with the signals they are of", True
    ),
    "effect": Derived("figures on what a pattern changed", None, False),
    "spend": Derived("calls of models: when, which, how much", None, False),
    "trace": Derived("what a session left for its project", "by session id", True),
    "memory_consolidation_locks": Derived(
        "who consolidates a project's memory", "its owner's, and those of roots none is in", True
    ),
    "closure_check": Derived("whether work called done was done", "by session id", False),
    "context_sync": Derived("files a project's state was written into", "by its project", True),
    "evicted_digest": Derived("the digest of the evicted part", "by session id", True),
    "eviction": Derived("which raw text left, when and why", "by session id", False),
    "event_text": Derived("full-text index over events", "by event id", True),
    "turn_text": Derived("full-text index over turns in context", "by event id", True),
    "segments": Derived(
        "folder of compressed texts", "through segment; the session's number begins the name", True
    ),
}
"""By name of the table; `segments` is a folder. The shadow tables of an index belong to it."""

FOLDERS: dict[str, Derived] = {
    "memories": Derived(
        "traces, MEMORY.md, skills and copies that runs work in (memory/forget.py)",
        "the session's name begins each trace's name and stands in what was made of it",
        True,
    ),
    "journal": Derived(
        "daily logs, the knowledge made of them, contexts on their way (journal/forget.py)",
        "the session's name stands in each entry's comment and each context's name",
        True,
    ),
}
"""Folders of features beside the tables, each with the functions that forget and redact in it."""

BESIDE: dict[str, str] = {
    "data/store.db": "the tables above",
    "data/store.db-wal": "emptied when traces are erased",
    "data/store.db-shm": "an index into the file before it",
    "data/segments": "see the tables",
    "data/catalog": "words and names leave with the last session that says them (curate)",
    "data/proposals.json": "likewise",
    "data/distribution.json": "lines are taken out of files, then their entries go (distribute)",
    "data/given.json": "keys of projects, dropped with the project (store/given_files.py)",
    "data/trials.json": "ids of patterns and times alone",
    "data/audit.jsonl": "paths of forgotten projects are blanked (audit.py)",
    "data/install.json": "how agents are wired; named where it names a forgotten project",
    "data/hooks": "copies of the hook program",
    "data/pauses.json": "times alone",
    "data/forget-marks.json": "keyed hashes of what was forgotten",
    "data/sweep.unfinished": "empty",
    "data/damaged.json": "when a database was found damaged, and where it is kept",
    "data/restore.json": "names of files that a restore moves",
    "data/restore.partial": "a restore in the making, removed by the next",
    "data/unclaimed": "texts a repair could match with no session; forget names it",
    "data/memories": "see FOLDERS",
    "data/journal": "see FOLDERS",
    "state/last_sweep.json": "removed whole",
    "state/served.json": "removed whole",
    "state/spool": "records of the sessions and of forgotten projects; damaged ones all",
    "state/told": "marks named by a hash of the session, removed with it",
    "state/inject": "pages, removed whole; the worker writes them anew",
    "state/logs": "worker.log and memory.log, removed whole",
    "state/hook.json": "settings for the hook",
    "state/hook-errors.log": "our own messages, nothing of a payload",
    "state/servers": "process ids",
    "state/mcp-token": "a secret of our own",
}
"""Every file and folder of ours, and how `forget` deals with it; a test finds one that is missing.

Locks hold nothing and need no entry.
"""


KEPT_STORES = ("data/before-restore-", "data/store.db.damaged-")
"""Whole stores of before, which `forget` names; they are the user's way back."""


def is_registered(name: str) -> bool:
    """Whether forgetting knows a file, named by its place and name, such as `data/given.json`."""
    return name in BESIDE or name.endswith(".lock") or name.startswith(KEPT_STORES)
