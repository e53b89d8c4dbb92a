"""The table of verbs: which module holds each, and what the overview says of it."""

from __future__ import annotations

import msgspec


class Verb(msgspec.Struct, frozen=True):
    """A command that is known without importing it."""

    target: str
    """`module` or `module:name`, below `session_memory.cli`; without a name, its `command`."""
    help: str


class Section(msgspec.Struct, frozen=True):
    """A verb that only holds others."""

    help: str
    verbs: dict[str, Verb]
    examples: tuple[str, ...]
    bare: str | None = None
    """The verb that runs when none is named."""


PROJECT = Section(
    "One project: its state, open work, memory and journal.",
    {
        "list": Verb("project:list_", "List projects, their folders and sessions."),
        "merge": Verb("project:merge", "Make two folders or clones one project, or undo that."),
        "rename": Verb("project:rename", "Give a project another name, or undo that."),
        "pack": Verb("pack", "Show the state of a project in a few lines."),
        "brief": Verb("brief", "Summarise a project or session."),
        "open-work": Verb("open_work", "List open items and blockers."),
        "changes": Verb("changes", "Show what is new since the last pack."),
        "lanes": Verb("lanes", "List the parts of a project worked on."),
        "completion-check": Verb("completion_check", "Check whether the work is done."),
        "observations": Verb(
            "observations", "List requests, constraints, decisions, plans and completed work."
        ),
        "memory": Verb("memory", "Project memories made from sessions."),
        "journal": Verb("journal", "Daily logs and knowledge base of projects."),
    },
    (
        "session-memory project pack",
        "session-memory project open-work --project shop",
        "session-memory project memory show",
    ),
)

RULES = Section(
    "What recurs, what you approve of it for agents, what helps.",
    {
        "list": Verb("review:list_", "List what was found and awaits your decision."),
        "review": Verb("rules_review:review", "Decide on them one by one, at a terminal."),
        "add": Verb("rules_review:add", "Add a rule of your own."),
        "detect": Verb("detect", "Show problems and solutions that recur."),
        "show": Verb("review:show", "Show one rule and every decision on it."),
        "propose": Verb("review:propose", "Add proposals from `rules detect`, or from a file."),
        "edit": Verb("review:edit", "Change the text of a rule."),
        "draft": Verb("review:draft", "Ask the configured model for a better wording."),
        "approve": Verb("review:approve", "Approve rules, for good or on trial."),
        "reject": Verb("review:reject", "Reject rules."),
        "retire": Verb("review:retire", "Take a rule out of use."),
        "snooze": Verb("review:snooze", "Put a decision off for some days."),
        "merge": Verb("review:merge", "Merge rules into one that is in use."),
        "undo": Verb("review:undo", "Take the last decision back."),
        "distribute": Verb("distribute", "Write approved rules into files agents read."),
        "files": Verb("distribute:status", "List every file that holds something of ours."),
        "withdraw": Verb("distribute:undo", "Remove what was distributed."),
        "measure": Verb("measure", "Measure whether distributed rules help."),
        "trial": Verb("measure:trial", "Give a rule to half of the sessions, and compare."),
        "guard": Verb("guard", "Let hooks check rules while agents work."),
        "stages": Verb("loop", "Show every rule's stage and the next step."),
        "explain": Verb("explain", "Show the evidence behind any id."),
        "injected": Verb("why_injected", "Show what a session was given at its start."),
        "sync": Verb("review:sync", "Update the store from the catalog's files."),
    },
    (
        "session-memory rules",
        "session-memory rules review",
        "session-memory rules approve sm-1a2b3c",
        "session-memory rules distribute --dry-run",
    ),
    bare="list",
)

STORE = Section(
    "The store itself: check, copy, shrink, clean and move it.",
    {
        "fsck": Verb("fsck", "Check every row and segment of the store."),
        "repair": Verb("repair", "Repair what fsck found."),
        "backup": Verb("backup", "Copy the store and verify the copy."),
        "restore": Verb("restore", "Replace the store with a backup."),
        "export": Verb("export", "Export sessions as JSON Lines or Markdown."),
        "import": Verb("import_", "Import an export; nothing is overwritten."),
        "retention": Verb("retention", "Show or apply the byte budget."),
        "forget": Verb("forget", "Delete sessions or texts for good."),
        "secrets": Verb("secrets", "Find and redact secrets in the store."),
        "redact": Verb("redact", "Show what redaction would replace in a file."),
        "quarantine": Verb("quarantine", "List damaged lines of logs."),
        "audit": Verb("audit", "List files written outside the store, and why."),
        "spend": Verb("spend", "Show what our own model calls cost."),
        "dump": Verb("dump", "Print the store in canonical form."),
    },
    (
        "session-memory store backup ~/memory-copy",
        "session-memory store fsck",
        "session-memory store secrets rescan",
    ),
)

TEAM = Section(
    "A team's memory: what you share, what others shared, taking it back.",
    {
        "status": Verb("team:status", "Show the hub, what is shared and what waits."),
        "join": Verb("team:join", "Join a team with an invite of its hub."),
        "share": Verb("team:share", "Share a project, at a level you choose."),
        "push": Verb("team:push", "Send what is shared and new; --dry-run shows every word."),
        "pull": Verb("team:pull", "Bring what others shared, and drop what they took back."),
        "receipts": Verb("team:receipts", "List what left this machine, and what was taken back."),
        "unshare": Verb("team:unshare", "Take everything of a project back from the hub."),
        "leave": Verb("team:leave", "Leave the team and delete what came from it."),
    },
    (
        "session-memory team join https://memory.example.org",
        "session-memory team share --level lessons",
        "session-memory team push --dry-run",
    ),
    bare="status",
)

CONFIG = Section(
    "Settings, known agents and the schedule of sweeps.",
    {
        "show": Verb("config:show", "Show the settings and where each value came from."),
        "set": Verb("config_set", "Change one key of the configuration file."),
        "edit": Verb("config_edit", "Open the configuration file in your editor."),
        "path": Verb("config:path", "Print the path of the configuration file."),
        "init": Verb("config:init", "Write a configuration file with every key in it."),
        "agents": Verb("agents", "List agents, their logs and what is captured."),
        "schedule": Verb("schedule", "Run sweeps on a schedule."),
    },
    (
        "session-memory config show",
        "session-memory config agents",
        "session-memory config schedule install",
    ),
    bare="show",
)

HUB = Section(
    "Run a team's hub: set it up, serve it, invite devices.",
    {
        "init": Verb("hub:init", "Make or update the hub's schema and role."),
        "serve": Verb("hub:serve", "Serve a team's hub."),
        "doctor": Verb("hub:doctor", "Check whether the hub may be served."),
        "invite": Verb("hub:invite", "Make an invite for one device."),
        "devices": Verb("hub:devices", "List devices and open invites of a team."),
        "revoke": Verb("hub:revoke", "End the token of a device or invite."),
        "audit": Verb("hub:audit", "List requests of a team's devices."),
        "audit-prune": Verb("hub:audit_prune", "Delete old requests from the audit."),
        "export": Verb("fleet:hub_export", "Write what a team shares as Parquet."),
        "restore": Verb("hub:restore", "Forget again what a restored backup brought back."),
    },
    (
        "session-memory hub init --database postgresql://postgres@localhost/hub",
        "session-memory hub doctor",
        "session-memory hub invite --team acme",
    ),
)

FLEET = Section(
    "Detect, measure and distil over many machines.",
    {
        "detect": Verb("fleet:detect", "Show what recurs over all sessions of an export."),
        "measure": Verb("fleet:measure", "Measure whether rules help, over all sessions."),
        "redistil": Verb("fleet:redistil", "Distil sessions again from their events."),
        "export": Verb("fleet:export", "Write the store as Parquet."),
    },
    (
        "session-memory fleet export ~/parquet",
        "session-memory fleet detect --from ~/parquet",
        "session-memory fleet detect --from s3://team/parquet --scheduler tls://head:8786",
    ),
)

# By task; `--help` and docs/cli.md list the verbs in this order.
TASKS: dict[str, dict[str, Verb | Section]] = {
    "Set up": {
        "init": Verb("init", "Connect the agents on this machine."),
        "status": Verb("status", "Show what is stored and the last sweep."),
        "doctor": Verb("doctor", "Check the installation and suggest fixes."),
        "uninstall": Verb("uninstall", "Remove everything init added."),
    },
    "Find": {
        "search": Verb("search", "Search everything that was said or run."),
        "fix": Verb("fix", "Show what fixed an error like this before."),
        "sessions": Verb("sessions", "List captured sessions."),
        "show": Verb("show", "Show one session, event by event."),
        "handoff": Verb("handoff", "Hand this work on to a fresh session of any agent."),
        "usage": Verb("usage", "Show tokens and cost by day, project or model."),
        "web": Verb("web", "Open the local page in a browser."),
    },
    "Capture": {
        "sweep": Verb("sweep", "Capture new sessions from the agents' logs."),
        "tail": Verb("tail", "Follow live sessions of all agents."),
        "pause": Verb("pause", "Stop capturing from now on."),
        "resume": Verb("resume", "Capture again."),
        "forget": Verb("forget", "Delete sessions or texts for good."),
    },
    "More, each with verbs of its own": {
        "project": PROJECT,
        "rules": RULES,
        "team": TEAM,
        "store": STORE,
        "fleet": FLEET,
        "config": CONFIG,
        "hub": HUB,
    },
}

# Run by agents, hooks and shells; in `--help` of their own, not on the first page.
PLUMBING: dict[str, Verb] = {
    "mcp": Verb("mcp", "Serve memory to agents (MCP server)."),
    "prompt": Verb("prompt", "Print the text of an MCP prompt."),
    "package": Verb("package", "Build an agent's plug-in or extension."),
    "worker": Verb("worker", "Process queued hook events."),
    "jobs": Verb("jobs", "List, retry or drop background jobs."),
    "shell-completion": Verb("shell_completion", "Print the completion script of a shell."),
    "help": Verb("help", "Explain a word of this program, or a command."),
    "version": Verb("version", "Show program, schema and parser versions."),
}

VERBS: dict[str, Verb | Section] = {
    **{name: verb for verbs in TASKS.values() for name, verb in verbs.items()},
    **PLUMBING,
}
