"""Every table and file of ours: what `forget` and a rescan for secrets must go through.

Tests compare these lists with the schema and with the files that exist, so that a new table or file
cannot be left out by accident.
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
    "project_merge": Derived("projects that the user made one", "by its project", False),
    "source": Derived("log files, their paths and cursors", "through session_source", True),
    "session": Derived("one row for each session: names, titles, directories", "by id", True),
    "session_source": Derived("which files hold which session", "by session id", False),
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
    "usage_sum": Derived(
        "the same by day and model", "by session id, and when a response changes", False
    ),
    "tombstone": Derived("keyed fingerprints of what was forgotten", None, False),
    "forgotten_session": Derived("keyed names of forgotten sessions", None, False),
    "forgotten_source": Derived("keyed paths of files that hold only those", None, False),
    "quarantine": Derived("where damaged lines are in the logs", "through its source", False),
    "turn": Derived("turns that ended, as hooks recorded", "by flavour and native id", False),
    "session_note": Derived("small facts from hooks", "by flavour and native id", True),
    "injection": Derived("what was given to a session", "by flavour and native id", False),
    "job": Derived("background work: what, for whom, how often it failed", "by session id", True),
    "digest": Derived("what was distilled from a session", "by session id", True),
    "checkpoint": Derived(
        "where distilling a long session stood", "by session id, and when an event changes", True
    ),
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
    "observation_text": Derived(
        "full-text index over observations", "with the rows of observation, by triggers", True
    ),
    "event_word": Derived("words of event_text, read from there", "with event_text", True),
    "segments": Derived(
        "folder of compressed texts", "through segment; the session's number begins the name", True
    ),
}
"""By name of the table; `segments` is a folder. The shadow tables of an index belong to it."""


class LocalFile(msgspec.Struct, frozen=True):
    """A file or folder of ours next to the tables."""

    holds: str
    writer: str
    """The package that writes it."""
    why_local: str
    on_forget: str


FILES: dict[str, LocalFile] = {
    "data/store.db": LocalFile(
        "the tables above",
        "store",
        "the SQLite store itself",
        "rows go, then free pages are wiped",
    ),
    "data/store.db-wal": LocalFile(
        "the database's log",
        "store",
        "the SQLite store itself",
        "emptied when traces are erased",
    ),
    "data/store.db-shm": LocalFile(
        "an index into that log",
        "store",
        "the SQLite store itself",
        "nothing: it holds no text",
    ),
    "data/segments": LocalFile(
        "compressed texts of events",
        "store",
        "the SQLite store itself",
        "files of forgotten texts are deleted or rewritten",
    ),
    "data/forget-marks.json": LocalFile(
        "keyed hashes of what was forgotten, and pauses",
        "store",
        "must outlive a lost or restored database",
        "forgetting adds to it",
    ),
    "data/damaged.json": LocalFile(
        "when the database was found damaged, and what was kept of it",
        "store",
        "is read when the database cannot be",
        "nothing: it holds no text",
    ),
    "data/restore.json": LocalFile(
        "names of files that a restore moves",
        "store",
        "is read before any store is opened",
        "nothing: it holds no text",
    ),
    "data/restore.partial": LocalFile(
        "a restore in the making",
        "store",
        "is about files of this machine",
        "the next restore removes it",
    ),
    "data/unclaimed": LocalFile(
        "texts that a repair could match with no session",
        "store",
        "is for a person to look at",
        "forget names it",
    ),
    "data/sweep.unfinished": LocalFile(
        "nothing: that it exists means that a sweep was cut off",
        "store",
        "is about a process of this machine",
        "nothing: it is empty",
    ),
    "data/pauses.json": LocalFile(
        "when capture was paused",
        "ingest",
        "is read before the store is opened",
        "nothing: it holds times alone",
    ),
    "data/catalog": LocalFile(
        "patterns that a person decided on, one file each",
        "curate",
        "is for people to read, edit and version",
        "words go with the last session that says them",
    ),
    "data/proposals.json": LocalFile(
        "rewordings that wait for a decision",
        "curate",
        "belongs to the catalog",
        "words go with the last session that says them",
    ),
    "data/agent-notes.json": LocalFile(
        "what agents wrote for the user, and what became of it",
        "curate",
        "is for one person to decide on",
        "notes by or about forgotten sessions go, and their lines of MEMORY.md",
    ),
    "data/distribution.json": LocalFile(
        "the ledger: files of repositories that hold lines of ours",
        "distribute",
        "is about files of this machine",
        "lines leave those files, then their entries go",
    ),
    "data/native-fixes.json": LocalFile(
        "lines of agents' own memory files that the user let us change, to undo that",
        "curate",
        "is about files of this machine",
        "changes with a forgotten text or of a forgotten project are dropped",
    ),
    "data/given.json": LocalFile(
        "which repository was given which pattern, and when",
        "distribute",
        "belongs to the ledger",
        "projects without a session are dropped",
    ),
    "data/trials.json": LocalFile(
        "trials: ids of patterns and times",
        "measure",
        "the worker reads it without opening a store",
        "nothing: it holds no text",
    ),
    "data/audit.jsonl": LocalFile(
        "one line for each write outside our own folders",
        "audit",
        "is about files of this machine",
        "paths of forgotten projects are blanked",
    ),
    "data/install.json": LocalFile(
        "how agents are wired",
        "install",
        "is about files of this machine",
        "forget names it where it names a forgotten project",
    ),
    "data/hooks": LocalFile(
        "copies of the hook program, and the table of guards, made of approved rules",
        "install",
        "agents of this machine run it",
        "the table is removed; the worker writes it again",
    ),
    "data/memories": LocalFile(
        "traces, MEMORY.md, skills and copies that runs work in",
        "memory",
        "agents and people read the files",
        "traces go, and memories are made again without them",
    ),
    "data/journal": LocalFile(
        "daily logs, the knowledge made of them, contexts on their way",
        "journal",
        "people read and edit the files",
        "entries and what was made of them go",
    ),
    "data/guards.json": LocalFile(
        "what the user decided on guards, and since when each is in which project",
        "curate",
        "belongs to the catalog",
        "projects without a session, and decisions with a forgotten text, are dropped",
    ),
    "data/told.json": LocalFile(
        "what the user decided on lines that new sessions are told",
        "web",
        "is read by the worker without a store, and is a person's own decision",
        "decisions on lines with a forgotten text or of a forgotten project are dropped",
    ),
    "data/saved-searches.json": LocalFile(
        "searches that the user kept by name",
        "web",
        "is about how one person works on this machine",
        "searches that name a forgotten text or project are dropped",
    ),
    "data/team": LocalFile(
        "token and key of the team, hashes of what was sent, what others shared",
        "team",
        "is a secret of this machine, and text of others",
        "forgotten sessions go into its outbox as keyed hashes, words out of what was pulled",
    ),
    "state/last_sweep.json": LocalFile(
        "the report of the last sweep",
        "ingest",
        "is about a run on this machine",
        "removed whole",
    ),
    "state/rules-detected": LocalFile(
        "how much evidence the last detection of rules saw",
        "curate",
        "is about a run on this machine",
        "nothing: it holds no text",
    ),
    "state/rules-listed.json": LocalFile(
        "ids of the rules that were listed last, in their order",
        "cli",
        "numbers mean what this terminal showed",
        "nothing: it holds no text",
    ),
    "state/served.json": LocalFile(
        "when sessions were imported last",
        "worker",
        "is about runs on this machine",
        "removed whole",
    ),
    "state/spool": LocalFile(
        "events that hooks recorded and the worker has not taken in",
        "hooks",
        "a hook must not open a store",
        "records of forgotten sessions and all damaged ones are removed",
    ),
    "state/told": LocalFile(
        "marks, named by a hash of the session, that it was given its page",
        "hooks",
        "a hook must not open a store",
        "removed with the session",
    ),
    "state/guards": LocalFile(
        "what guards remember of a session, as marks and hashes, named by a hash of the session",
        "hooks",
        "a hook must not open a store",
        "removed with the session",
    ),
    "state/inject": LocalFile(
        "pages for the start of a session",
        "worker",
        "a hook must not open a store",
        "removed whole; the worker writes them again",
    ),
    "state/recovery": LocalFile(
        "what sessions are told after a compaction, named by a hash of the session",
        "worker",
        "a hook must not open a store",
        "removed whole",
    ),
    "state/logs": LocalFile(
        "worker.log and memory.log",
        "worker",
        "is about runs on this machine",
        "removed whole",
    ),
    "state/hook.json": LocalFile(
        "settings for the hook",
        "install",
        "a hook must not open a store",
        "nothing: it holds no text",
    ),
    "state/hook-errors.log": LocalFile(
        "messages of the hook",
        "hooks",
        "a hook must not open a store",
        "nothing: it holds nothing of a payload",
    ),
    "state/servers": LocalFile(
        "process ids of running servers",
        "mcp",
        "is about processes of this machine",
        "nothing: it holds no text",
    ),
    "state/mcp-token": LocalFile(
        "the token of the loopback server",
        "mcp",
        "is a secret of this machine",
        "nothing: it holds no text",
    ),
}
"""Every file and folder of ours, as `data/name` or `state/name`.

Tests find one that is missing, and keep the table in docs/architecture.md equal to this one. Locks
hold nothing and need no entry.
"""


EARLIER_STORES = ("data/before-restore-", "data/store.db.damaged-")
"""Earlier stores. `forget` lists them and leaves them: the user may need them."""


def is_registered(name: str) -> bool:
    """Whether forgetting knows a file such as `data/given.json`."""
    return name in FILES or name.endswith(".lock") or name.startswith(EARLIER_STORES)
