"""Short pages on the words and rules of this program, for `session-memory help TOPIC`."""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """A page of help that belongs to no single command."""

    title: str
    text: str


TOPICS: dict[str, Topic] = {
    "words": Topic(
        "The words of this program, one sentence each",
        """\
agent        a program that works on code with you: Claude Code, Codex
session      one conversation with one agent
event        one thing in a session: a prompt, an answer, a tool call
sweep        reading what is new in the agents' logs into the store
digest       what is kept of a session for good: goal, outcome, errors, cost
observation  a statement worth knowing later: a request, a decision
project      what sessions work on: usually a repository with its worktrees
lane         the part of a project a session works in: a directory or a topic
pack         the state of a project in a few lines, for an agent that starts
closure      a check of whether work that was called done was done
rule         a sentence for agents that you approved
locus        what recurs in the same form: a command, a path or an error
gate         the evidence a rule needs before agents are given it
trial        giving a rule to half of the sessions, by chance, to measure it
journal      daily logs of a project, and the knowledge base compiled from them
memory       what earlier sessions left for a project, in a MEMORY.md""",
    ),
    "digest": Topic(
        "What is kept when raw text goes",
        """\
A digest is what is kept of a session for good: what was asked for, how it
ended, which commands ran, which errors came up and what cured them, which
files changed, tokens and cost. It is made by fixed rules, without a model.
Raw text is only evicted after its digest exists.

  session-memory show 42 --digest""",
    ),
    "rules": Topic(
        "From something that recurs to a line in CLAUDE.md",
        """\
1. found        what users said again and again, and what made failing calls
                work, in at least two sessions: `rules`
2. decided      you say yes or no to each, with its quotes in view:
                `rules review`
3. gate         a yes needs evidence. Too little for any use: refused. Enough
                to keep, not to give to agents: `provisional`.
                Enough: `approved`.
                See `help gate`.
4. distributed  approved rules are written between two markers into CLAUDE.md,
                AGENTS.md or a skill: `rules distribute`
5. measured     did sessions get better? `rules measure`

`rules undo` takes back the last decision, `rules withdraw --all` removes what
was written, byte for byte (`--rule ID`: one rule). `rules add "TEXT"` makes a
rule of your own; it needs no evidence but your word.""",
    ),
    "gate": Topic(
        "How much evidence a rule needs",
        """\
Two floors under [curate.gate], each over how often it occurred (`frequency`),
in how many sessions, and what that cost. Below `promote_min_*` a rule cannot
be approved. Between the two it becomes `provisional`: kept, shown again when
more sessions show it, not given to agents. From `distribute_min_*` on it
becomes `approved`.

To give a rule to agents all the same, knowing that few sessions show it:
  session-memory rules add "TEXT"     in your own words, for this project
  session-memory config set curate.gate.distribute_min_frequency 3    for all""",
    ),
    "pack": Topic(
        "What an agent is told when it starts work",
        """\
A pack is the state of a project in a few lines: goal, constraints, decisions,
checks that work, traps, open work, blockers. Agents get it through the hook
that `init` adds, or ask for it over MCP. Every line comes from a session;
nothing in it is an instruction.

  session-memory project pack            what an agent would be told here
  session-memory rules injected SESSION  what a session was really told""",
    ),
    "project": Topic(
        "What counts as one project",
        """\
A project is a repository with all its worktrees, or a directory outside of
any repository. Commands take the one of the working directory, or `--project
NAME`. `project list` names them all, `project merge` makes two clones one,
`project rename` gives a better name. A domain is a group of projects, such as
work or private, given in the configuration.""",
    ),
    "session": Topic(
        "How to name a session",
        """\
  42            the number that `session-memory sessions` prints
  1f6a2c        the id its agent gave it, or the beginning of that id
  id:20260301   the same, where the id is digits alone
  codex:1f6a2c  the same, of this agent""",
    ),
    "redaction": Topic(
        "What happens to secrets",
        """\
Keys, tokens and passwords become [REDACTED_SECRET:tag] before anything is
stored; equal secrets get equal tags. It is good, not perfect: `store secrets
rescan` searches the store again with the rules of today, `forget --text`
removes for good what was missed, and text in <private>...</private> is never
stored at all.""",
    ),
    "retention": Topic(
        "What is deleted, when, and what stays",
        """\
Raw text has a budget: an age, a soft cap and a hard cap, under [retention].
Over the soft cap the oldest raw text goes, always after its digest was made.
Digests, observations and costs stay. If the hard cap ever forces out text
without a digest, the report says `data_loss`.

  session-memory store retention plan  what would go now
  session-memory forget --session 42   delete for good, everywhere""",
    ),
    "privacy": Topic(
        "What leaves this machine: nothing",
        """\
There is no network, account or telemetry. Files are readable by you alone. A
language model is used only if you turn one on under [model]; then redacted
text goes to that provider, within a budget, and `store spend` lists every
call. `pause` stops capture; sources.exclude_paths, or a file
.session-memory.toml in a repository, keeps folders out.""",
    ),
    "output": Topic(
        "How much is printed, and where",
        """\
Results go to stdout, messages and warnings to stderr. A list that can be long
is cut after 20 or 50 lines and ends in `N more: --all`, at a terminal and in a
pipe alike; `config show` is cut at a terminal alone. `--json` prints all,
except where --limit says otherwise.

At a terminal what does not fit on the screen goes through $PAGER, or less;
--no-pager or NO_PAGER=1 prints it at once. Tables leave out columns that have
no room; wider terminals and --json show them. Colour: --color, NO_COLOR.

  -v  more: steps, whole ids, quotes, every error; `help -v` prints every page
  -q  results and warnings only""",
    ),
    "json": Topic(
        "For programs",
        """\
Every command that reads takes `--json` behind its name, prints one JSON
object (or array) with `schema_version` to stdout, and nothing else there.
Messages go to stderr. An error is one object on stderr: {"error": {"code",
"message", "hint"}}. From Python: `from session_memory import open_store`.""",
    ),
    "exit-codes": Topic(
        "What the exit code says",
        """\
  0    done
  1    failed, or not found
  2    the command line is wrong
  3    done, with warnings
  4    a configuration value is invalid, or an extra is not installed
  5    no store yet, or a newer program wrote it
  6    another process holds the lock
  7    session and project do not belong together
  8    refused, because going on could lose or leak data
  9    a model was asked for and none can answer
  10   the team's hub cannot be reached, or refuses
  130  interrupted""",
    ),
    "files": Topic(
        "Where things are",
        """\
  session-memory config path    the configuration file
  session-memory status         the store, as `on disk`
  session-memory rules files    files of yours that hold something of ours
  session-memory store audit    files written outside the store, and why
SESSION_MEMORY_HOME moves all of ours below one directory.""",
    ),
}
