"""The table of prompts: what a user can ask the agent to do with memory, often as a slash command.

The server reads this table before its handshake, so what a prompt quotes is made at the first use.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from session_memory.mcp.prompt_texts import PromptContext

Json = dict[str, Any]


class Prompt(msgspec.Struct, frozen=True):
    """One prompt. Its text is a file of prompts/; `quotes` makes the values it holds."""

    name: str
    title: str
    description: str
    tools: tuple[str, ...]
    """What the text tells the agent to call: offered where all of them are."""
    quotes: str | None = None
    """A function of prompt_texts.py."""
    argument: str | None = None
    argument_help: str = ""

    def text(self, context: PromptContext) -> str:
        """The text for an agent, with what it quotes."""
        texts = import_module("session_memory.mcp.prompt_texts")
        values: dict[str, str] = getattr(texts, self.quotes)(context) if self.quotes else {}
        return texts.text_of(f"{self.name.replace('-', '_')}.md", values)


PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        "remember",
        "What of this session should last",
        "Choose with the user what of this session should outlast it, and note it.",
        ("mem_note", "mem_search", "mem_transcript"),
    ),
    Prompt(
        "catch-up",
        "Where this project stands",
        "What was done last, what is open, how to verify a change, what to watch out for.",
        ("mem_bootstrap_context", "mem_search"),
        "project_memory_and_notes",
    ),
    Prompt(
        "handoff",
        "Hand this work on",
        "Write what a fresh session of any agent needs to go on with this work.",
        ("mem_search",),
        "handoff",
    ),
    Prompt(
        "review-rules",
        "Go through candidate rules",
        "Look with the user at what recurs in earlier sessions, and word the rules worth having.",
        ("mem_draft",),
        "candidate_rules",
    ),
    Prompt(
        "consolidate",
        "Rewrite this project's memory",
        "Read what earlier sessions left and propose better lines for MEMORY.md.",
        ("mem_memory_write", "mem_transcript"),
        "project_memory",
    ),
    Prompt(
        "postmortem",
        "Why did this fail",
        "Find out why work failed or took long, and which rule would have prevented it.",
        ("mem_transcript", "mem_search", "mem_fix", "mem_note"),
    ),
    Prompt(
        "fix",
        "What cured this error before",
        "What worked after an error in earlier sessions.",
        ("mem_search",),
        "cures",
        "error",
        "The error as it was printed.",
    ),
)


def prompts_for(tools: Collection[str]) -> dict[str, Prompt]:
    """The prompts whose tools are all offered, by name."""
    return {prompt.name: prompt for prompt in PROMPTS if set(prompt.tools) <= set(tools)}


def prompt_listing(prompt: Prompt) -> Json:
    """A prompt as prompts/list describes it."""
    argument = {"name": prompt.argument, "description": prompt.argument_help, "required": True}
    return {
        "name": prompt.name,
        "title": prompt.title,
        "description": prompt.description,
        **({"arguments": [argument]} if prompt.argument else {}),
    }
