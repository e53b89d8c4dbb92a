"""The Claude Agent SDK as a model: the same restraints as `claude -p`, through its Python face."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import Any

from session_memory import settings
from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed, Kind, tidy
from session_memory.model.marks import FOLDER_PREFIX, MARKS, fenced
from session_memory.model.port import Answer, Request, Usage
from session_memory.model.sdk import plainly

SMALL_MODEL = "claude-haiku-4-5"
FOLDER_TOOLS = ["Read", "Edit", "Write", "Glob", "Grep"]


def open_agent_sdk(settings: settings.Model, environ: Mapping[str, str]) -> AgentSdkModel:
    """The provider, or ModelUnavailable when its package is not installed."""
    del environ  # the SDK starts the client itself, in this process's environment
    try:
        sdk = importlib.import_module("claude_agent_sdk")
    except ImportError:
        raise ModelUnavailable(
            "the claude-agent-sdk package is not installed",
            hint="pip install 'session-memory[agent-sdk]'",
        ) from None
    return AgentSdkModel(sdk, settings.name or SMALL_MODEL)


class AgentSdkModel:
    """See model.port.Model."""

    provider = "agent_sdk"
    works_in_folders = True

    def __init__(self, sdk: Any, name: str) -> None:
        self._sdk = sdk
        self.name = name

    def ask(self, request: Request) -> Answer:
        """See model.port.Model."""
        with contextlib.ExitStack() as stack:
            place = request.folder or request.cwd
            place = place or stack.enter_context(tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX))
            messages = self._sdk.query(
                prompt=fenced(request.user), options=self._options(request, place)
            )
            try:
                return asyncio.run(_within(request.timeout_s, messages, self.name))
            except TimeoutError:
                raise CallFailed(
                    f"no answer within {request.timeout_s:g} seconds", "timeout"
                ) from None
            except self._sdk.CLINotFoundError:
                raise ModelUnavailable(
                    "the Claude Agent SDK finds no claude command",
                    hint="install Claude Code, or set model.provider to another",
                ) from None
            except self._sdk.ClaudeSDKError as error:
                raise CallFailed(f"the agent failed: {tidy(str(error))}", "error_event") from None

    def _options(self, request: Request, folder: str) -> Any:
        tools = [] if request.folder is None else FOLDER_TOOLS
        wishes: dict[str, Any] = {
            "model": self.name,
            "system_prompt": plainly(request),
            "cwd": folder,
            "allowed_tools": tools,
            "tools": tools,
            "max_turns": request.max_turns,
            "setting_sources": [],
            "permission_mode": "acceptEdits" if request.folder is not None else "default",
            "env": MARKS,
            "extra_args": {"no-session-persistence": None},
        }
        options = self._sdk.ClaudeAgentOptions
        known = {field.name for field in dataclasses.fields(options)}
        return options(**{name: wish for name, wish in wishes.items() if name in known})


async def _within(timeout_s: float, messages: AsyncIterator[Any], model: str) -> Answer:
    return await asyncio.wait_for(_read(messages, model), timeout_s)


async def _read(messages: AsyncIterator[Any], model: str) -> Answer:
    """What the assistant wrote, as soon as the result says that it is complete.

    The words are those of its text blocks, joined as they came. The result repeats only the last
    message, so of it just cost and success count.
    """
    result: Any = None
    texts: list[str] = []
    async for message in messages:
        if hasattr(message, "total_cost_usd"):
            result = message
        else:
            texts += _texts(message)
    if result is None:
        raise CallFailed("the answer broke off before it was complete", "cut_stream")
    usage = _usage(result)
    if result.is_error:
        kind: Kind = "error_event"
        raise CallFailed(f"the agent failed: {tidy(str(result.result))}", kind, usage=usage)
    return Answer("".join(texts), model, usage)


def _texts(message: Any) -> list[str]:
    """The text blocks of an assistant's message; of any other message, and of other blocks, none.

    Only an assistant's message names a model; a user's has blocks too: what tools answered.
    """
    content: Any = getattr(message, "content", None)
    if not hasattr(message, "model") or not isinstance(content, list):
        return []
    blocks: list[Any] = content  # pyright: ignore[reportUnknownVariableType] - of the SDK
    return [block.text for block in blocks if isinstance(getattr(block, "text", None), str)]


def _usage(result: Any) -> Usage:
    said: dict[str, Any] = result.usage or {}
    return Usage(
        said.get("input_tokens") or 0,
        said.get("output_tokens") or 0,
        said.get("cache_read_input_tokens") or 0,
        said.get("cache_creation_input_tokens") or 0,
        result.total_cost_usd,
    )
