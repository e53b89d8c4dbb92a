"""What a model is asked for one session: instructions, input message and shape of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from string import Template
from typing import Any

from session_memory.model.cut import Cut, cut
from session_memory.model.port import Request

PURPOSE = "memory.extract"
MAX_PROMPT_BYTES = 1_000_000
PROMPT_CUT = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"traceMemory": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["traceMemory", "summary"],
    "additionalProperties": False,
}

Engine = Callable[[str, Mapping[str, str]], str]
Warn = Callable[[str], None]


def substitute(template: str, values: Mapping[str, str]) -> str:
    """Fill a template in one pass: what a value holds is never taken for a place to fill."""
    return Template(template).substitute(values)


def render(
    template: str, values: Mapping[str, str], warn: Warn, engine: Engine = substitute
) -> str:
    """A template filled; where that fails, by plain replacement, with a warning."""
    try:
        return engine(template, values)
    except (ValueError, KeyError, TypeError) as error:
        warn(f"template: {type(error).__name__}: {error}")
    for name, value in values.items():  # the conversation is last, so nothing in it is replaced
        template = template.replace("${" + name + "}", value)
    return template


def read_prompt(name: str) -> str:
    """A text of prompts/."""
    return (files("session_memory.memory") / "prompts" / name).read_text(encoding="utf-8")


def shown_of(conversation: str, limit: int) -> Cut:
    """A conversation as far as a prompt may hold it: `limit` is what model and budget allow."""
    return cut(conversation, min(MAX_PROMPT_BYTES, limit), PROMPT_CUT)


def stage_one(path: str, conversation: str, warn: Warn, timeout_s: float = 120.0) -> Request:
    """The request for one session: one message, no tools, a strict answer."""
    values = {"rollout_path": path, "conversation": conversation}
    return Request(
        purpose=PURPOSE,
        system=read_prompt("stage_one.md"),
        user=render(read_prompt("stage_one_input.md"), values, warn),
        schema=SCHEMA,
        schema_name="trace_memory",
        timeout_s=timeout_s,
    )
