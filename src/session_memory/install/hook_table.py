"""The table of agents inside the hook file, made from the agents' records.

The hook imports nothing of ours, so it cannot read the records itself. `make docs` writes the table
of our own agents into hooks/entry.py; `init` writes it with plug-ins into the copy agents run.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Sequence

from session_memory.adapters.agent import Agent
from session_memory.adapters.tool_classes import PATH_KEYS, TOOL_NAMES
from session_memory.core.schema import ToolClass

BEGIN = "# --- agents: made by `make docs` from adapters/*/__init__.py; do not edit these lines\n"
END = "# --- end of agents\n"
LINE_LENGTH = 100
_TOOLS: dict[str, tuple[ToolClass, ...]] = {
    "SHELL_TOOLS": ("shell",),
    "EDIT_TOOLS": ("edit",),
    "READ_TOOLS": ("read", "search"),
}


def with_table(source: str, agents: Collection[Agent]) -> str:
    """The text of the hook file with the table of these agents."""
    head, begin, rest = source.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError("the hook file has no lines that mark the table of agents")
    return head + begin + table(agents) + end + tail


def table(agents: Collection[Agent]) -> str:
    """The table as Python, in the shape the formatter leaves alone."""
    # From the last agent to the first: paths below Claude Code's folder are the weakest sign.
    signs = [
        (agent.name, agent.hook.session_variable, agent.hook.transcript_part)
        for agent in reversed(list(agents))
        if agent.hook.session_variable or agent.hook.transcript_part
    ]
    wired = [agent.name for agent in agents if agent.wiring is not None]  # others have no hook
    with_tool = [agent.name for agent in agents if agent.hook.memory_with_tool]
    without = [agent.name for agent in agents if not agent.hook.gives_memory]
    in_system = [agent.name for agent in agents if agent.hook.in_system_prompt]
    flat = [agent.name for agent in agents if agent.hook.flat_answer]
    events = {agent.name: " ".join(agent.hook.events) for agent in agents if agent.hook.events}
    guarded = {agent.name: agent.hook.guards for agent in agents if agent.hook.guards}
    lines = [
        *_wrapped("AGENTS", wired),
        "# Agent, the variable that holds its session's id, a part of its transcripts' paths.",
        "SIGNS = (",
        *(f"    {_row(sign)}," for sign in signs),
        ")",
        "# They drop what a hook prints at a session's start, and take it with a tool's result.",
        f"MEMORY_WITH_TOOL = {_row(with_tool)}",
        "# Their models are given nothing that a hook prints.",
        f"NO_MEMORY = {_row(without)}",
        "# What a hook prints at a start is in the system prompt there, until the process ends.",
        f"IN_SYSTEM_PROMPT = {_row(in_system)}",
        "# They read `additionalContext` at the top of the answer.",
        f"FLAT_ANSWER = {_row(flat)}",
        "# Agents whose hook may be called for other events too, and the events that count.",
        "ONLY_EVENTS = {",
        *(_only(name, words) for name, words in events.items()),
        "}",
        "# What guards can do there; in other agents they are silent.",
        "GUARDED = {",
        *(f"    {json.dumps(name)}: {_row(words)}," for name, words in guarded.items()),
        "}",
        "# Tools by what they do, and the members of their input that name a file.",
        *(
            line
            for name, classes in _TOOLS.items()
            for line in _words(
                name, [tool for tool_class in classes for tool in TOOL_NAMES[tool_class].split()]
            )
        ),
        *_wrapped("PATH_KEYS", PATH_KEYS),
    ]
    return "\n".join(lines) + "\n"


def _only(name: str, words: str) -> str:
    line = f"    {json.dumps(name)}: {json.dumps(words)},"
    return line if len(line) <= LINE_LENGTH else f"{line}  # noqa: E501"


def _words(name: str, words: Sequence[str]) -> list[str]:
    """Words under a name as one text with blanks around each: no list is compiled faster."""
    lines = textwrap.wrap(" ".join(words), LINE_LENGTH - 8)
    rows = [json.dumps(f" {line}" + (" " if line is lines[-1] else "")) for line in lines]
    return [f"{name} = (", *(f"    {row}" for row in rows), ")"]


def _wrapped(name: str, words: Sequence[str]) -> list[str]:
    """A tuple of words under a name: on one line where it fits, else a word per line."""
    line = f"{name} = {_row(words)}"
    if len(line) <= LINE_LENGTH:
        return [line]
    return [f"{name} = (", *(f"    {json.dumps(word)}," for word in words), ")"]


def _row(words: Sequence[str]) -> str:
    """A tuple of words as Python."""
    inner = ", ".join(map(json.dumps, words))
    return f"({inner},)" if len(words) == 1 else f"({inner})"
