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
        "traces, MEMORY.md, skills and copies that runs work in (memory/forgetting.py)",
        "the session's name begins each trace's name and stands in what was made of it",
        True,
    ),
    "journal": Derived(
        "daily logs, the knowledge made of them, contexts on their way (journal/forgetting.py)",
        "the session's name stands in each entry's comment and each context's name",
        True,
    ),
}
"""Folders of features beside the tables, each with the functions that forget and redact in it."""
