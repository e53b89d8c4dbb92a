"""`claude -p`: the command line for one answer, and how to read what it prints."""

from __future__ import annotations

import re
from typing import NoReturn

import msgspec

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, kind_of_status, short_message
from session_memory.model.marks import fenced
from session_memory.model.port import Answer, Request, Stop, Usage
from session_memory.model.sdk import system_with_schema

SMALL_MODEL = "claude-haiku-4-5"
FOLDER_TOOLS = "Read,Edit,Write,Glob,Grep"
STATUS = re.compile(r"(?i)\b(?:api error|status)\D{0,12}(\d{3})\b")
LOGIN = re.compile(r"(?i)/login|not logged in|invalid api key|authentication|oauth token")
STOPS: dict[str, Stop] = {"max_tokens": "length", "refusal": "refusal"}
SETTINGS = '{"disableAllHooks":true}'


def arguments(request: Request, model: str) -> list[str]:
    """The command line; the prompt itself goes through standard input."""
    common = [
        "-p",
        "--output-format",
        "json",
        "--model",
        model,
        "--no-session-persistence",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--settings",
        SETTINGS,
        "--max-turns",
        str(max(1, request.max_turns)),
        "--system-prompt",
        system_with_schema(request),
    ]
    if request.folder is None:
        # "user" keeps a key helper or a cloud address from the user's settings.
        return [*common, "--setting-sources", "user", "--tools", ""]
    # Restricted: file tools stay inside the folder, no commands run, no setting can widen that.
    return [
        *common,
        "--restricted",
        "--tools",
        FOLDER_TOOLS,
        "--permission-mode",
        "acceptEdits",
    ]


def variables(request: Request) -> dict[str, str]:
    """Environment variables for the client: no foreign instructions, a limit for the answer."""
    return {
        "CLAUDE_CODE_SAFE_MODE": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_output_tokens),
    }


def prompt(request: Request) -> str:
    """What goes to standard input."""
    return fenced(request.user)


class ModelUse(msgspec.Struct, frozen=True, rename="camel"):
    """Tokens of one model in a run; the client uses a second, small model for titles."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Result(msgspec.Struct, frozen=True, tag_field="type", tag="result"):
    """The object the client prints at its end; only the fields we read."""

    subtype: str = "success"
    is_error: bool = False
    result: str | None = None
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    by_model: dict[str, ModelUse] = msgspec.field(default_factory=dict, name="modelUsage")

    @property
    def model(self) -> str:
        """The model that wrote most of the output."""
        return max(self.by_model, key=lambda name: self.by_model[name].output_tokens, default="")

    @property
    def usage(self) -> Usage:
        """Tokens of all turns and models."""
        uses = self.by_model.values()
        return Usage(
            sum(use.input_tokens for use in uses),
            sum(use.output_tokens for use in uses),
            sum(use.cache_read_input_tokens for use in uses),
            sum(use.cache_creation_input_tokens for use in uses),
            self.total_cost_usd or None,
        )


def read(output: str, errors: str, status: int, model: str) -> Answer:
    """The answer in what the client printed."""
    result = _find_result(output)
    if result is None:
        _fail(errors or output or f"it ended with status {status} and said nothing", None)
    text = result.result or ""
    if result.is_error or result.subtype != "success" or status:
        _fail(text or errors or result.subtype, result.usage)
    stop = STOPS.get(result.stop_reason or "end_turn", "end")
    return Answer(text, result.model or model, result.usage, stop)


def _find_result(output: str) -> Result | None:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            try:
                return msgspec.json.decode(line, type=Result)
            except msgspec.DecodeError:  # another kind of line, or a truncated one
                continue
    return None


def _fail(message: str, usage: Usage | None) -> NoReturn:
    if LOGIN.search(message):
        raise ModelUnavailable(
            f"claude cannot sign in: {short_message(message)}",
            hint="run `claude` once and sign in",
        )
    match = STATUS.search(message)
    kind: Kind = kind_of_status(int(match[1])) if match else "error_event"
    if usage == Usage():
        usage = None  # it failed before it counted
    raise CallFailed(f"claude failed: {short_message(message)}", kind, usage=usage)
