"""The request for a session's trace: instructions, input message and schema of the answer."""

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
    """Fill a template in one pass, so that placeholders inside a value are left alone."""
    return Template(template).substitute(values)


def render(
    template: str, values: Mapping[str, str], warn: Warn, engine: Engine = substitute
) -> str:
    """A filled template; if the engine fails, by plain replacement and with a warning."""
    try:
        return engine(template, values)
    except (ValueError, KeyError, TypeError) as error:
        warn(f"template: {type(error).__name__}: {error}")
    for name, value in values.items():  # the conversation is last, so nothing in it is replaced
        template = template.replace("${" + name + "}", value)
    return template


def read_prompt(name: str) -> str:
    """A text from prompts/."""
    return (files("session_memory.memory") / "prompts" / name).read_text(encoding="utf-8")


def cut_conversation(conversation: str, limit: int) -> Cut:
    """A conversation cut to what a prompt may hold and to `limit`, for the model and the budget."""
    return cut(conversation, min(MAX_PROMPT_BYTES, limit), PROMPT_CUT)


def trace_request(path: str, conversation: str, warn: Warn) -> Request:
    """The request for one session: one message, no tools, a strict schema."""
    values = {"rollout_path": path, "conversation": conversation}
    return Request(
        purpose=PURPOSE,
        system=read_prompt("stage_one.md"),
        user=render(read_prompt("stage_one_input.md"), values, warn),
        schema=SCHEMA,
        schema_name="trace_memory",
    )
