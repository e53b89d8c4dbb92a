"""Every key the user can set, as values with their defaults, and the kind of value each takes.

A new key is a field here, its kind in KINDS, and its lines in config.toml next to this file.
`kinds` says what values there are, `load` which of several statements of a key wins.
"""

from __future__ import annotations

import msgspec

from session_memory.settings.kinds import Kind, RecallScope, UserRule

GIB = 1024**3
MIB = 1024**2
FLAVORS = (
    "claude",
    "codex",
    "grok",
    "gemini",
    "qwen",
    "opencode",
    "copilot",
    "pi",
    "cline",
    "roo",
    "kilo",
    "crush",
    "aider",
    "kimi",
    "kiro",
    "zed",
    "cowork",
    "copilot_chat",
    "cursor",
    "droid",
    "continue_dev",
    "antigravity",
)
"""The agents of adapters/registry.py, copied here by `make docs`: settings are below adapters in
the order of layers, and every command reads them. Any other agent may have settings too."""


class StoreConfig(msgspec.Struct, frozen=True):
    """Where captured sessions are kept."""

    path: str = ""


class Source(msgspec.Struct, frozen=True):
    """Whether and where one agent's logs are read."""

    enabled: bool = True
    paths: tuple[str, ...] = ()


class Sources(msgspec.Struct, frozen=True):
    """Which agents' logs are read."""

    exclude_paths: tuple[str, ...] = ()
    flavors: dict[str, Source] = msgspec.field(
        default_factory=lambda: {name: Source() for name in FLAVORS}
    )

    def of(self, flavor: str) -> Source:
        """What was said about a flavour, or the defaults."""
        return self.flavors.get(flavor, Source())


class Identity(msgspec.Struct, frozen=True):
    """How the place a session ran in becomes a project."""

    share_worktrees: bool = True
    default_domain: str = "default"


class Retention(msgspec.Struct, frozen=True):
    """How much raw text is kept; None is unlimited."""

    raw_soft_cap_bytes: int | None = 4 * GIB
    raw_hard_cap_bytes: int | None = 8 * GIB
    raw_max_age_days: int | None = 365
    distilled_cap_bytes: int | None = 1 * GIB


class Ingest(msgspec.Struct, frozen=True):
    """How logs are read."""

    line_cap_bytes: int = 64 * MIB
    commit_bytes: int = 16 * MIB
    cadence: str = "1h"


class Redact(msgspec.Struct, frozen=True):
    """Which secrets are replaced besides those every store knows."""

    rules: tuple[UserRule, ...] = ()
    gitleaks: str = ""


class Gate(msgspec.Struct, frozen=True):
    """How much evidence a pattern needs to enter the catalog, and to be given to agents."""

    promote_min_frequency: int = 3
    promote_min_sessions: int = 2
    promote_min_cost_impact: float = 0.0
    distribute_min_frequency: int = 5
    distribute_min_sessions: int = 3
    distribute_min_cost_impact: float = 0.0
    evidence_per_session: int = 2


class Curate(msgspec.Struct, frozen=True):
    """How patterns enter the catalog."""

    auto_promote: bool = False
    max_patterns: int = 100
    gate: Gate = Gate()


class Model(msgspec.Struct, frozen=True):
    """Which language model may be asked, and how much may be spent; none unless turned on."""

    provider: str = "none"
    name: str = ""
    base_url: str = ""
    key_variable: str = ""
    timeout_seconds: int = 120
    context_tokens: int = 128_000
    run_max_calls: int = 50
    run_max_minutes: int = 30
    run_max_tokens: int = 500_000
    day_max_tokens: int = 2_000_000
    run_max_usd: float = 1.0
    day_max_usd: float = 5.0


class Memory(msgspec.Struct, frozen=True):
    """Per-project memory made from sessions."""

    enabled: bool = True
    recovery: bool = True
    max_sessions_per_start: int = 8
    max_traces: int = 10


class Journal(msgspec.Struct, frozen=True):
    """The daily log and the knowledge base made of it."""

    enabled: bool = True
    at_start: bool = False
    vault: str = ""
    compile_interval_minutes: int = 60
    min_turns_end: int = 1
    min_turns_compaction: int = 5
    attempts: int = 3
    retry_seconds: int = 2
    compile_timeout_seconds: int = 1200


class Recall(msgspec.Struct, frozen=True):
    """How what is stored is found again."""

    scope: RecallScope = "project"


class Team(msgspec.Struct, frozen=True):
    """How what others shared is used; what leaves is decided by `team share` alone."""

    lessons: bool = True
    mcp: bool = False


class Distribute(msgspec.Struct, frozen=True):
    """What may be written into the files agents read."""

    targets: tuple[str, ...] = ("CLAUDE.md", "AGENTS.md", ".claude/skills", ".agents/skills")
    max_bytes: int = 8 * 1024
    max_patterns: int = 20


class Measure(msgspec.Struct, frozen=True):
    """How much data a verdict needs."""

    min_sessions: int = 20
    min_effect: float = 0.3
    window_days: int = 90


class Guards(msgspec.Struct, frozen=True):
    """Approved rules that hooks check while an agent works."""

    enabled: bool = True


class Config(msgspec.Struct, frozen=True):
    """Everything the user can decide, validated."""

    store: StoreConfig = StoreConfig()
    sources: Sources = Sources()
    identity: Identity = Identity()
    domains: dict[str, str] = {}
    retention: Retention = Retention()
    ingest: Ingest = Ingest()
    redact: Redact = Redact()
    curate: Curate = Curate()
    distribute: Distribute = Distribute()
    measure: Measure = Measure()
    guards: Guards = Guards()
    model: Model = Model()
    memory: Memory = Memory()
    journal: Journal = Journal()
    recall: Recall = Recall()
    team: Team = Team()


SOURCE_KINDS: dict[str, Kind] = {"enabled": "flag", "paths": "paths"}
KINDS: dict[str, Kind] = {
    "store.path": "path",
    "sources.exclude_paths": "list",
    **{
        f"sources.{flavor}.{name}": kind
        for flavor in FLAVORS
        for name, kind in SOURCE_KINDS.items()
    },
    "identity.share_worktrees": "flag",
    "identity.default_domain": "name",
    "retention.raw_soft_cap_bytes": "cap",
    "retention.raw_hard_cap_bytes": "cap",
    "retention.raw_max_age_days": "days",
    "retention.distilled_cap_bytes": "cap",
    "ingest.line_cap_bytes": "size",
    "ingest.commit_bytes": "size",
    "ingest.cadence": "interval",
    "redact.rules": "rules",
    "redact.gitleaks": "file",
    "curate.auto_promote": "flag",
    "curate.max_patterns": "count",
    **{
        f"curate.gate.{name}": "money" if name.endswith("_cost_impact") else "count"
        for name in Gate.__struct_fields__
    },
    "distribute.targets": "list",
    "distribute.max_bytes": "size",
    "distribute.max_patterns": "count",
    "measure.min_sessions": "count",
    "measure.min_effect": "share",
    "measure.window_days": "count",
    "guards.enabled": "flag",
    "model.provider": "provider",
    "model.name": "text",
    "model.base_url": "text",
    "model.key_variable": "text",
    "model.timeout_seconds": "count",
    "model.context_tokens": "tokens",
    "model.run_max_calls": "count",
    "model.run_max_minutes": "count",
    "model.run_max_tokens": "tokens",
    "model.day_max_tokens": "tokens",
    "model.run_max_usd": "money",
    "model.day_max_usd": "money",
    "memory.enabled": "flag",
    "memory.recovery": "flag",
    "memory.max_sessions_per_start": "count",
    "memory.max_traces": "count",
    "journal.enabled": "flag",
    "journal.at_start": "flag",
    "journal.vault": "path",
    "journal.compile_interval_minutes": "count",
    "journal.min_turns_end": "count",
    "journal.min_turns_compaction": "count",
    "journal.attempts": "count",
    "journal.retry_seconds": "count",
    "journal.compile_timeout_seconds": "count",
    "recall.scope": "scope",
    "team.lessons": "flag",
    "team.mcp": "flag",
}
PLAIN: dict[str, type[msgspec.Struct]] = {
    "store": StoreConfig,
    "identity": Identity,
    "retention": Retention,
    "ingest": Ingest,
    "redact": Redact,
    "distribute": Distribute,
    "measure": Measure,
    "guards": Guards,
    "model": Model,
    "memory": Memory,
    "journal": Journal,
    "recall": Recall,
    "team": Team,
}
"""Sections that are one flat table."""
SECTIONS = (*PLAIN, "sources", "domains", "curate")
