"""`codex exec`: the command line for one answer, and how to read what it prints."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

import msgspec

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, kind_of_status, short_message
from session_memory.model.marks import fenced
from session_memory.model.port import Answer, Request, Usage
from session_memory.model.sdk import system_with_schema
from session_memory.plain_files import read_plain

STATUS = re.compile(r"(?i)\bstatus\D{0,12}(\d{3})\b")
LOGIN = re.compile(r"(?i)codex login|not logged in|401 unauthorized|missing .*api key")
OFF = (
    "hooks",
    "memories",
    "apps",
    "plugins",
    "multi_agent",
    "goals",
    "image_generation",
    "browser_use",
    "computer_use",
    "view_image",
    "skill_search",
    "shell_snapshot",
    "sleep_tool",
    "tool_suggest",
)
SHELL = ("shell_tool", "unified_exec")
CONFIG_CAP = 4 * 1024 * 1024
MODEL_KEYS = ("model_provider", "openai_base_url", "chatgpt_base_url", "cli_auth_credentials_store")
"""Keys of the user's configuration that say where the model is; the rest is left out."""


def arguments(request: Request, model: str, schema_file: str | None) -> list[str]:
    """The command line; the prompt itself goes through standard input.

    With a folder the shell stays on, since it is Codex's only way to read a file. The sandbox then
    lets it write in that folder only, without network.
    """
    off = OFF if request.folder is not None else (*OFF, *SHELL)
    overrides = [
        *(f"features.{name}=false" for name in off),
        'web_search="disabled"',
        'approval_policy="never"',
        "project_doc_max_bytes=0",
        "notify=[]",
        "sandbox_workspace_write.exclude_slash_tmp=true",
        "sandbox_workspace_write.exclude_tmpdir_env_var=true",
    ]
    return [
        "exec",
        "--json",
        "--ephemeral",
        "--skip-git-repo-check",
        "--ignore-user-config",
        "--ignore-rules",
        "--color",
        "never",
        "--sandbox",
        "read-only" if request.folder is None else "workspace-write",
        *(part for override in overrides for part in ("-c", override)),
        *(("-m", model) if model else ()),
        *(("--output-schema", schema_file) if schema_file else ()),
    ]


def prompt(request: Request) -> str:
    """What goes to standard input; Codex has its own system text, so ours comes first here."""
    return fenced(f"{system_with_schema(request)}\n\n{request.user}")


class UserConfig(msgspec.Struct, frozen=True):
    """What the user's own configuration says about where the model is."""

    overrides: tuple[str, ...] = ()
    model: str = ""
    key_variable: str = ""


def user_config(environ: Mapping[str, str]) -> UserConfig:
    """The parts of the user's configuration that a call needs; never raises."""
    home = environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")
    try:
        data = read_plain(os.path.join(home, "config.toml"), CONFIG_CAP)
        config = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return UserConfig()
    name = config.get("model_provider")
    provider = _table(_table(config, "model_providers"), str(name))
    overrides = [f"{key}={toml}" for key in MODEL_KEYS if (toml := _toml(config.get(key)))]
    overrides += [
        f"model_providers.{name}.{key}={toml}"
        for key, value in provider.items()
        # The process list would show a token; the name of a variable is harmless there.
        if "token" not in key and (toml := _toml(value))
    ]
    model, variable = config.get("model"), provider.get("env_key")
    return UserConfig(
        tuple(overrides),
        model if isinstance(model, str) else "",
        variable if isinstance(variable, str) else "",
    )


def _table(parent: dict[str, Any], name: str) -> dict[str, Any]:
    table: object = parent.get(name)
    return cast("dict[str, Any]", table) if isinstance(table, dict) else {}


class Item(msgspec.Struct, frozen=True):
    """Something the agent did or said."""

    type: str = ""
    text: str = ""


class Counts(msgspec.Struct, frozen=True):
    """Tokens of a turn; cached ones are included in the input."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class TurnError(msgspec.Struct, frozen=True):
    """Why a turn failed."""

    message: str = "the turn failed"


class Event(msgspec.Struct, frozen=True):
    """One line the client prints; only the fields we read."""

    type: str
    item: Item = Item()
    usage: Counts = Counts()
    error: TurnError = TurnError()
    message: str = "unknown error"


def read(output: str, errors: str, status: int, model: str) -> Answer:
    """The last message of the turn, if the turn was completed."""
    text, failed = "", ""
    counts: Counts | None = None
    for event in _events(output):
        match event.type:
            case "item.completed" if event.item.type == "agent_message":
                text = event.item.text
            case "turn.completed":
                counts = event.usage
            case "turn.failed":
                failed = event.error.message
            case "error":
                failed = failed or event.message
            case _:
                pass
    if counts is None:
        _fail(failed or errors or f"it ended with status {status} in the middle of its turn")
    cached = min(counts.cached_input_tokens, counts.input_tokens)
    usage = Usage(counts.input_tokens - cached, counts.output_tokens, cached)
    return Answer(text, model, usage)


def _events(output: str) -> Iterator[Event]:
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                yield msgspec.json.decode(line, type=Event)
            except msgspec.DecodeError:
                continue  # truncated, or of another shape; only a whole line completes a turn


def _fail(message: str) -> NoReturn:
    if LOGIN.search(message):
        raise ModelUnavailable(
            f"codex cannot sign in: {short_message(message)}", hint="run `codex login` once"
        )
    match = STATUS.search(message)
    kind: Kind = kind_of_status(int(match[1])) if match else "error_event"
    raise CallFailed(f"codex failed: {short_message(message)}", kind)


def _toml(value: object) -> str:
    """A plain value as TOML, else ""; strings and booleans are written as in JSON."""
    return json.dumps(value) if isinstance(value, str | bool | int | float) else ""
