"""`codex exec`: its command line for one answer, and how to read what it prints."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

import msgspec

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, kind_of_status, tidy
from session_memory.model.marks import fenced
from session_memory.model.port import Answer, Request, Usage
from session_memory.model.sdk import plainly
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
KEPT = ("model_provider", "openai_base_url", "chatgpt_base_url", "cli_auth_credentials_store")
"""Keys of the user's configuration that say where the model is; all else of it stays out."""


def arguments(request: Request, model: str, schema_file: str | None) -> list[str]:
    """The command line; the prompt itself goes through standard input.

    With a folder the shell stays on, since it is Codex's only way to read a file; its sandbox then
    lets it write in that folder alone, without network.
    """
    off = OFF if request.folder is not None else (*OFF, *SHELL)
    wishes = [
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
        *(part for wish in wishes for part in ("-c", wish)),
        *(("-m", model) if model else ()),
        *(("--output-schema", schema_file) if schema_file else ()),
    ]


def prompt(request: Request) -> str:
    """What goes to standard input: Codex has its own system text, so that ours comes first here."""
    return fenced(f"{plainly(request)}\n\n{request.user}")


class UserConfig(msgspec.Struct, frozen=True):
    """What the user's own configuration says about where the model is."""

    overrides: tuple[str, ...] = ()
    model: str = ""
    key_variable: str = ""


def user_config(environ: Mapping[str, str]) -> UserConfig:
    """The part of the user's configuration that a call needs; never raises."""
    home = environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")
    try:
        data = read_plain(os.path.join(home, "config.toml"), CONFIG_CAP)
        found = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return UserConfig()
    name = found.get("model_provider")
    table = _table(_table(found, "model_providers"), str(name))
    chosen = [f"{key}={toml}" for key in KEPT if (toml := _toml(found.get(key)))]
    chosen += [
        f"model_providers.{name}.{key}={toml}"
        for key, value in table.items()
        # A token in the table would stand in the list of processes; a variable's name may.
        if "token" not in key and (toml := _toml(value))
    ]
    model, variable = found.get("model"), table.get("env_key")
    return UserConfig(
        tuple(chosen),
        model if isinstance(model, str) else "",
        variable if isinstance(variable, str) else "",
    )


def _table(found: dict[str, Any], name: str) -> dict[str, Any]:
    inner: object = found.get(name)
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}


class Item(msgspec.Struct, frozen=True):
    """Something the agent did or said."""

    type: str = ""
    text: str = ""


class Counts(msgspec.Struct, frozen=True):
    """Tokens of a turn; those read from a cache are a part of the input."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class Trouble(msgspec.Struct, frozen=True):
    """Why a turn failed."""

    message: str = "the turn failed"


class Event(msgspec.Struct, frozen=True):
    """One line of what the client prints, as far as we read it."""

    type: str
    item: Item = Item()
    usage: Counts = Counts()
    error: Trouble = Trouble()
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
                continue  # cut off, or of no interest: a turn is complete only if a line says so


def _fail(words: str) -> NoReturn:
    if LOGIN.search(words):
        raise ModelUnavailable(
            f"codex cannot sign in: {tidy(words)}", hint="run `codex login` once"
        )
    found = STATUS.search(words)
    kind: Kind = kind_of_status(int(found[1])) if found else "error_event"
    raise CallFailed(f"codex failed: {tidy(words)}", kind)


def _toml(value: object) -> str:
    """A plain value as TOML, or nothing: strings and booleans are written as in JSON."""
    return json.dumps(value) if isinstance(value, str | bool | int | float) else ""
