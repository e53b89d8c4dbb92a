"""The Claude Agent SDK as a model, restricted in the same way as `claude -p`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import Any

from session_memory import settings
from session_memory.errors import ModelUnavailable, extra_hint
from session_memory.model.failures import CallFailed, short_message
from session_memory.model.marks import FOLDER_PREFIX, MARKS, fenced
from session_memory.model.port import Answer, Request, Usage
from session_memory.model.sdk import system_with_schema

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
            hint=extra_hint("agent-sdk"),
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
            folder = request.folder or request.cwd
            if not folder:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX))
            messages = self._sdk.query(
                prompt=fenced(request.user), options=self._options(request, folder)
            )
            try:
                return asyncio.run(_read_within(request.timeout_s, messages, self.name))
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
                raise CallFailed(
                    f"the agent failed: {short_message(str(error))}", "error_event"
                ) from None

    def _options(self, request: Request, folder: str) -> Any:
        tools = [] if request.folder is None else FOLDER_TOOLS
        values: dict[str, Any] = {
            "model": self.name,
            "system_prompt": system_with_schema(request),
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
        supported = {field.name for field in dataclasses.fields(options)}
        return options(**{name: value for name, value in values.items() if name in supported})


async def _read_within(timeout_s: float, messages: AsyncIterator[Any], model: str) -> Answer:
    return await asyncio.wait_for(_read(messages, model), timeout_s)


async def _read(messages: AsyncIterator[Any], model: str) -> Answer:
    """The assistant's text blocks, joined; an error unless a result message completes them.

    The result message repeats only the last message, so only its cost and success are used.
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
        message = f"the agent failed: {short_message(str(result.result))}"
        raise CallFailed(message, "error_event", usage=usage)
    return Answer("".join(texts), model, usage)


def _texts(message: Any) -> list[str]:
    """The text blocks of an assistant message; none for any other message.

    Only assistant messages name a model. User messages have blocks too: the results of tools.
    """
    content: Any = getattr(message, "content", None)
    if not hasattr(message, "model") or not isinstance(content, list):
        return []
    blocks: list[Any] = content  # pyright: ignore[reportUnknownVariableType] - of the SDK
    return [block.text for block in blocks if isinstance(getattr(block, "text", None), str)]


def _usage(result: Any) -> Usage:
    counts: dict[str, Any] = result.usage or {}
    return Usage(
        counts.get("input_tokens") or 0,
        counts.get("output_tokens") or 0,
        counts.get("cache_read_input_tokens") or 0,
        counts.get("cache_creation_input_tokens") or 0,
        result.total_cost_usd,
    )
