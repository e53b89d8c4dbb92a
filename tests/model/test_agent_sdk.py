"""The agent's own SDK as a model."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.model.meters import NOW

from session_memory import settings
from session_memory.errors import ModelUnavailable
from session_memory.model.agent_sdk import AgentSdkModel
from session_memory.model.failures import CallFailed
from session_memory.model.marks import MARKS
from session_memory.model.open import open_model
from session_memory.model.port import Request
from session_memory.store.port import Store

REQUEST = Request("test", "be terse", "what is it?", timeout_s=5)

SDK = '''
"""A stand-in for the agent SDK, which is too large to install for a test."""
import asyncio
import dataclasses
from types import SimpleNamespace

class ClaudeSDKError(Exception): pass
class CLINotFoundError(ClaudeSDKError): pass

@dataclasses.dataclass
class ClaudeAgentOptions:
    model: str
    system_prompt: str
    cwd: str
    allowed_tools: list
    max_turns: int
    setting_sources: list
    permission_mode: str
    env: dict
    extra_args: dict

asked = []
behaviour = "answer"

async def query(*, prompt, options):
    asked.append((prompt, options))
    if behaviour == "lost":
        raise CLINotFoundError("no claude")
    if behaviour == "broken":
        raise ClaudeSDKError("exit code 1 with sk-ant-abcdefghij")
    yield SimpleNamespace(content=[SimpleNamespace(text="the answer")], model="m")
    if behaviour == "cut":
        return
    if behaviour == "slow":
        await asyncio.Event().wait()
    yield SimpleNamespace(
        result="the answer in other words", is_error=behaviour == "error", total_cost_usd=0.01,
        usage={"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7},
    )
'''


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in, importable under the real name."""
    (tmp_path / "claude_agent_sdk.py").write_text(SDK)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)  # so that it goes with the test
    del sys.modules["claude_agent_sdk"]
    return importlib.import_module("claude_agent_sdk")


def test_the_agent_sdk_is_given_no_tools_two_turns_and_our_marks(sdk: Any, store: Store) -> None:
    model = open_model(settings.Model(provider="agent_sdk"), {}, store.spend, lambda: NOW, "run")
    assert model is not None

    answer = model.ask(REQUEST)

    prompt, options = sdk.asked[-1]
    assert (options.allowed_tools, options.max_turns) == ([], 2)
    assert (options.env, options.setting_sources) == (MARKS, [])
    assert "no-session-persistence" in options.extra_args
    assert "session-memory-call-" in options.cwd
    assert not Path(options.cwd).exists()
    assert prompt.startswith("<session-memory-pack")
    assert answer.text == "the answer"
    assert store.spend.totals("day", "2000-01-01")[0].usd == 0.01


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        ("lost", ModelUnavailable, "no claude command"),
        ("broken", CallFailed, "exit code 1 with .REDACTED_SECRET."),
        ("cut", CallFailed, "broke off"),
        ("error", CallFailed, "the answer"),
        ("slow", CallFailed, "no answer within"),
    ],
)
def test_what_the_agent_sdk_fails_at_is_reported(
    sdk: Any, store: Store, behaviour: str, error: type[Exception], words: str
) -> None:
    sdk.behaviour = behaviour
    model = open_model(settings.Model(provider="agent_sdk"), {}, store.spend, lambda: NOW, "run")
    assert model is not None

    with pytest.raises(error, match=words):
        model.ask(msgspec.structs.replace(REQUEST, timeout_s=0.05))


@pytest.mark.rows("FLU-34")
def test_the_answer_of_the_agent_sdk_is_its_text_blocks_joined() -> None:
    block = SimpleNamespace

    async def query(*, prompt: str, options: Any) -> AsyncIterator[Any]:
        assert prompt and options
        yield block(subtype="init", data={"text": "session"})
        yield block(model="m", content=[block(thinking="hm", signature="s"), block(text="a")])
        yield block(model="m", content=[block(id="1", name="Read", input={"text": "x"})])
        yield block(content=[block(tool_use_id="1", content="from a tool", text="from a tool")])
        yield block(model="m", content=[block(text="b")])
        yield block(result="b", is_error=False, usage={}, total_cost_usd=0.5)

    @dataclasses.dataclass
    class Options:
        model: str

    sdk = block(
        query=query, ClaudeAgentOptions=Options, CLINotFoundError=OSError, ClaudeSDKError=OSError
    )
    answer = AgentSdkModel(sdk, "m").ask(REQUEST)
    assert (answer.text, answer.usage.usd) == ("ab", 0.5)
