"""The values every part of the program speaks in: frozen, without behaviour, without I/O."""

from __future__ import annotations

from typing import Literal

import msgspec

EventKind = Literal[
    "user_prompt",
    "injected",
    "assistant_text",
    "reasoning",
    "tool_call",
    "tool_result",
    "compaction",
    "system",
    "error",
    "other",
]
Origin = Literal["user", "harness", "tool", "web", "agent", "subagent"]
ToolClass = Literal["read", "edit", "shell", "search", "web", "agent", "mcp", "plan", "other"]
SourceKind = Literal["interactive", "exec", "subagent", "internal"]
SessionState = Literal["captured", "analyzed", "raw_evicted", "forgotten"]
Outcome = Literal["success", "partial", "fail", "uncertain"]
Confidence = Literal["high", "medium", "low"]


class Cost(msgspec.Struct, frozen=True):
    """Tokens as billed and, where the price is known, dollars."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    usd: float | None = None
    price_table: str | None = None

    @property
    def total_tokens(self) -> int:
        """All billed tokens; reasoning is part of output, so it is not added again."""
        return (
            self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h
        )


class Usage(msgspec.Struct, frozen=True):
    """What one API response cost. `key` names the response, so that copies of it count once."""

    key: str
    model: str
    at: int | None = None
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0
    usd: float | None = None
    """Dollars stated by the log itself; None means: price it from the table."""
    sidechain: bool = False
    mode: str = ""
    """How it was served where that has a price of its own: `fast`, `batch`, `flex`, `priority`."""


class Project(msgspec.Struct, frozen=True):
    """One place of work: usually a repository; found from where a session ran."""

    id: int
    key: str
    root: str | None
    remote: str | None = None
    worktree_of: str | None = None
    domain: str | None = None
    source: str = "fallback"
    confidence: Confidence = "low"
    aliases: tuple[str, ...] = ()
    found_key: str | None = None
    """The key it had before the user renamed it."""
    merged: tuple[str, ...] = ()
    """Keys of projects that the user made part of this one."""


class Session(msgspec.Struct, frozen=True):
    """One conversation with one agent, as in its log."""

    id: int
    flavor: str
    external_id: str
    parent_external_id: str | None = None
    parent_id: int | None = None
    forked_from: str | None = None
    project_id: int | None = None
    project_key: str | None = None
    cwd: str | None = None
    repo: str | None = None
    domain: str | None = None
    branch: str | None = None
    commit: str | None = None
    models: tuple[str, ...] = ()
    client_version: str | None = None
    source_kind: SourceKind = "interactive"
    started_at: int | None = None
    ended_at: int | None = None
    title: str | None = None
    label: str | None = None
    low_value: str | None = None
    """Why this session is not worth mining, or None."""
    event_count: int = 0
    cost: Cost = Cost()
    parser_version: int = 0
    state: SessionState = "captured"
    metadata: dict[str, str | int | float | bool | list[str] | None] = {}
    """Resolution source, confidence, warnings and the like (IDN-06)."""

    @property
    def is_work(self) -> bool:
        """Whether somebody worked in it: it is not one of our own, and not of low value."""
        return self.source_kind != "internal" and self.low_value is None


class SessionEvent(msgspec.Struct, frozen=True):
    """One thing that happened in a session; its text lives in a segment and is read on demand."""

    session_id: int
    seq: int
    kind: EventKind
    origin: Origin
    at: int | None = None
    tool: str | None = None
    tool_class: ToolClass | None = None
    call_id: str | None = None
    paired: bool = False
    inherited: bool = False
    is_error: bool = False
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    tokens: Cost | None = None
    fingerprint: int = 0
    body_ref: tuple[int, int, int] | None = None
    """(segment id, offset in its text, length); None where the event has no text."""
    source_ref: tuple[int, int] | None = None
    """(source id, byte position of the record in that file)."""
    label: str | None = None
    """What kind of injected, system or other record it was, in the vendor's word."""
    text: str | None = None
    id: int = 0

    @property
    def is_unpaired(self) -> bool:
        """A call whose result is not here, or a result without its call (CAP-06)."""
        return bool(self.call_id) and not self.paired


class CommandRun(msgspec.Struct, frozen=True):
    """A shell command and how it ended; exit is None when the log does not say."""

    command: str
    exit: int | None = None
    is_error: bool = False
    """It failed: by its exit code, by the log's mark, or, behind a pipe, by its output."""
    at: int | None = None
    seq: int = 0
    verifies: bool = False
    """True for tests, builds, linters and type checkers, and for what `delivers`."""
    denied: bool = False
    """Refused by the user or a rule, so it never ran."""
    count: int = 1
    """How often it ran like this in a row."""
    delivers: bool = False
    """A commit, push or release, or a request whether it arrived: no check of the project."""

    @property
    def is_check(self) -> bool:
        """A test, build, linter or type checker."""
        return self.verifies and not self.delivers


class ErrorSeen(msgspec.Struct, frozen=True):
    """A masked error text and how often it occurred in the session."""

    template: str
    count: int
    sample: str
    seq: int = 0
    tool: str | None = None


CureKind = Literal["command", "install", "edit"]


class Cure(msgspec.Struct, frozen=True):
    """What made something that had failed work, by what the session itself shows."""

    error: str
    """The masked error, as in `ErrorSeen.template`."""
    sample: str
    error_seq: int
    failed: str
    """The command, or the tool with its files, that failed."""
    kind: CureKind
    steps: tuple[str, ...]
    """The commands, or the edits, that made the difference."""
    step_seqs: tuple[int, ...]
    proof: str
    """The call that worked afterwards."""
    proof_seq: int
    lines: tuple[str, ...] = ()
    """Further lines of the failure that say what went wrong: any of them may be asked about."""


NoticeKind = Literal["pull requests only", "behind remote", "port in use"]


class Notice(msgspec.Struct, frozen=True):
    """What git or a server said of the repository or the machine, such as a protected branch."""

    kind: NoticeKind
    subject: str
    """The branch or the port."""
    seq: int


RuleStance = Literal["against", "for", "allows", "spares"]
"""`allows` ends what was said against something, `spares` what was said for it."""


class RuleStatement(msgspec.Struct, frozen=True):
    """A sentence of the user that may hold beyond its session."""

    text: str
    seq: int
    at: int | None
    why: str
    """What makes it look like a rule, as a reader would say it."""
    firm: bool
    """General enough to be a rule though it was said only once."""
    stance: RuleStance
    intent: str | None = None
    """A wish that users voice in many different words, such as "discuss first"."""
    opens: bool = False
    """Part of the first prompt: sessions begun with the same prompt count once."""


Task = Literal["work", "question", "none"]
"""Whether a session did work, only asked something, or came to nothing."""
Ended = Literal["finished", "interrupted", "cut off"]
Basis = Literal["verified", "said by the user", "inferred"]
"""What an outcome rests on."""


class GitState(msgspec.Struct, frozen=True):
    """Where a session left its branch, as git and gh printed it."""

    branch: str | None = None
    commit: str | None = None
    """The short hash of the last commit made in the session."""
    subject: str = ""
    committed_seq: int = 0
    pushed: bool = False
    """That commit was pushed."""
    new: bool = False
    """The push made the branch."""
    pull_request: int | None = None
    merged: bool = False
    """It reached the main branch, as far as the session saw."""
    stopped: bool = False
    """A merge or rebase stopped at conflicts."""


class Digest(msgspec.Struct, frozen=True):
    """What is kept of a session when its raw text has gone."""

    flavor: str
    objective: str | None
    outcome: Outcome
    confidence: Confidence
    grounds: tuple[str, ...]
    source_fingerprint: str
    """Hash over the fingerprints of the events it was made from, in source order."""
    events: int = 0
    first_at: int | None = None
    last_at: int | None = None
    duration_s: float | None = None
    turns: int = 0
    requests: int = 0
    """Turns that ask for something: not a bare slash command, "continue" or "thanks"."""
    tools: dict[str, int] = {}
    files: dict[str, int] = {}
    """Path to number of edits (0: only read)."""
    commands: tuple[CommandRun, ...] = ()
    errors: tuple[ErrorSeen, ...] = ()
    retries: int = 0
    loops: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    tests_run: int = 0
    tests_failed: int = 0
    decisions: tuple[str, ...] = ()
    open_items: tuple[str, ...] = ()
    interruptions: int = 0
    internal_prompts: int = 0
    """Prompts by which a program asked for a title or summary: no turns of the user."""
    denials: int = 0
    compactions: int = 0
    calls_before_edit: int | None = None
    """Tool calls before the first edit; None where nothing was edited."""
    cost: Cost = Cost()
    task: Task = "work"
    ended: Ended = "finished"
    basis: Basis = "inferred"
    cures: tuple[Cure, ...] = ()
    rules: tuple[RuleStatement, ...] = ()
    notices: tuple[Notice, ...] = ()
    git: GitState | None = None
    last_words: str = ""
    """What the user typed last."""
    dropped: dict[str, int] = {}
    """What did not fit the limits, by field: nothing is left out silently."""
    version: int = 1
    """The DIGEST_VERSION it was made with; of a merged digest, the older one."""


ObservationType = Literal[
    "session_summary",
    "decision",
    "objective",
    "user_request",
    "constraint",
    "project_dod",
    "mission_dod",
    "session_dod",
    "pending_item",
    "completed_item",
    "blocker",
    "completion_claim",
]
ObservationStatus = Literal[
    "snapshot", "active", "done", "promoted", "low_value", "retired", "superseded"
]
ObservationSource = Literal["turn_extract", "manual_note"]

EXCLUDED_STATUSES: frozenset[ObservationStatus] = frozenset(("low_value", "retired", "superseded"))
"""Kept as evidence, but never ranked as a note and never part of a state."""


class Observation(msgspec.Struct, frozen=True):
    """One thing worth knowing later that a session said, with where it was said and by whom."""

    type: ObservationType
    status: ObservationStatus
    text: str
    importance: int
    """1 (least) to 5."""
    session: int
    event: int | None
    """The event it was read from; its number stays when the raw text has gone."""
    origin: Origin
    hash: str
    """Of session, type and wording: the same thing said again in a session is the same."""
    at: int | None = None
    source: ObservationSource = "turn_extract"
