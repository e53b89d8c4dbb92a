"""One record for each client: how its user configured it, and how it is driven."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.e2e_clients.sandbox import Sandbox

WORK, AGAIN, RECALL = "build a calculator", "check the calculator again", "what do we know here?"
AFTER = "add a module for minus"
"""Asked for after a compaction."""


class Step(NamedTuple):
    """One run of the client."""

    name: str
    arguments: Callable[[Sandbox, str], list[str]]
    """Given the sandbox and the id of the first session, where the client tells it."""
    environ: Mapping[str, str] = MappingProxyType({})


class Client(NamedTuple):
    """What differs between clients."""

    name: str
    configure: Callable[[Sandbox], None]
    """Write the files a user has: model, keys, nothing of ours."""
    call: Callable[[Sandbox, str, list[str]], list[str]]
    """The command line for a prompt and more words."""
    steps: tuple[Step, ...]
    session_id: Callable[[str], str] = lambda printed: ""
    """From what the first run printed."""
    hooks: frozenset[str] = frozenset()
    """Events of ours that this client fires in these steps."""
    lacks: Mapping[str, str] = MappingProxyType({})
    """Check to the reason why the client cannot have it."""
    init: tuple[str, ...] = ()
    """What its user adds to `init`."""
    looks_first: int = 0
    """Requests of a turn before a hook can tell its model anything."""
    asks_again: bool = False
    """Asks for the user's next words behind the last answer, if it runs for long enough."""

    def greet(self, box: Sandbox) -> list[str]:
        """A session from before we came."""
        return self.call(box, box.prompt("hello", "are you there?"), [])


def _steps(run: Callable[[Sandbox, str, list[str]], list[str]], *wanted: Step) -> tuple[Step, ...]:
    """Work, then `wanted`, then a second session."""

    def plain(scenario: str, words: str) -> Callable[[Sandbox, str], list[str]]:
        return lambda box, _: run(box, box.prompt(scenario, words), [])

    return (
        Step("work", plain("work", WORK)),
        *wanted,
        Step("agent", plain("agent", "delegate the listing")),
        Step("recall", plain("recall", RECALL)),
    )


# Claude Code


def _claude_files(box: Sandbox) -> None:
    box.write(".claude/settings.json", {"cleanupPeriodDays": 9999, "hooks": {}})
    box.write(".claude.json", {"hasCompletedOnboarding": True, "theme": "dark"})
    box.environ |= {
        "ANTHROPIC_BASE_URL": box.base,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "IS_SANDBOX": "1",
    }


CLAUDE_ID = "11111111-1111-4111-8111-111111111111"


def _claude(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    model = ["--output-format", "json", "--model", "claude-sonnet-4-5"]
    return ["-p", prompt, *model, "--dangerously-skip-permissions", *more]


CLAUDE = Client(
    "claude",
    _claude_files,
    _claude,
    (
        Step(
            "work",
            lambda box, _: _claude(box, box.prompt("work", WORK), ["--session-id", CLAUDE_ID]),
        ),
        *_steps(
            _claude,
            Step(
                "resume",
                lambda box, id: _claude(box, box.prompt("resume", AGAIN), ["--resume", id]),
            ),
            Step(
                "compact",
                lambda box, id: _claude(box, "/compact keep the test command", ["--resume", id]),
            ),
            Step(
                "after",
                lambda box, id: _claude(box, box.prompt("after", AFTER), ["--resume", id]),
            ),
        )[1:],
    ),
    session_id=lambda printed: CLAUDE_ID,
    hooks=frozenset({"session_start", "stop", "subagent_stop", "pre_compact", "session_end"}),
)

# Codex

CODEX_CONFIG = """\
model = "gpt-5.1-codex"
model_provider = "fake"   # the user's own comment
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "{base}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[projects."{project}"]
trust_level = "trusted"
"""


def _codex_files(box: Sandbox) -> None:
    box.write(".codex/config.toml", CODEX_CONFIG.format(base=box.base, project=box.project))
    box.environ |= {"FAKE_KEY": "dummy"}


def _codex(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    flags = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return ["exec", *more, *flags, prompt]


def _codex_id(printed: str) -> str:
    rows = [json.loads(line) for line in printed.splitlines() if '"thread.started"' in line]
    return str(rows[0]["thread_id"]) if rows else "--last"


CODEX = Client(
    "codex",
    _codex_files,
    _codex,
    _steps(
        _codex,
        Step(
            "resume",
            lambda box, id: _codex(box, box.prompt("resume", AGAIN), ["resume", id]),
        ),
        # Below the size of the instructions it would compact for ever, so: just above them.
        Step(
            "compact",
            lambda box, id: [
                *_codex(box, box.prompt("hello", "with a low limit"), ["resume", id]),
                *("-c", "model_auto_compact_token_limit=11000"),
            ],
        ),
        Step(
            "after",
            lambda box, id: _codex(box, box.prompt("after", AFTER), ["resume", id]),
        ),
    ),
    session_id=_codex_id,
    hooks=frozenset({"session_start", "stop", "subagent_stop", "pre_compact", "session_end"}),
    init=("--trust-codex-hooks",),
)

# Grok Build

GROK_CONFIG = """\
[cli]
auto_update = false

[features]
telemetry = false

[models]
default = "fake"   # the user's own comment

[model.fake]
model = "fake-model"
base_url = "{base}/v1"
api_key = "dummy"
api_backend = "responses"
context_window = 200000
"""


def _grok_files(box: Sandbox) -> None:
    box.write(".grok/config.toml", GROK_CONFIG.format(base=box.base))
    box.environ |= {"GROK_TELEMETRY_ENABLED": "0", "XAI_API_KEY": "dummy"}


def _grok(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    return ["-p", prompt, "--always-approve", "--output-format", "json", "-m", "fake", *more]


def _grok_id(printed: str) -> str:
    try:
        return str(json.loads(printed)["sessionId"])
    except (ValueError, KeyError):
        return ""


GROK = Client(
    "grok",
    _grok_files,
    _grok,
    _steps(
        _grok,
        Step("resume", lambda box, id: _grok(box, box.prompt("resume", AGAIN), ["-r", id])),
        Step("compact", lambda box, id: _grok(box, "/compact keep the test command", ["-r", id])),
        Step("after", lambda box, id: _grok(box, box.prompt("after", AFTER), ["-r", id])),
    ),
    session_id=_grok_id,
    hooks=frozenset({"session_start", "stop", "subagent_stop", "pre_compact", "session_end"}),
    asks_again=True,
    looks_first=1,  # its hooks speak beside the result of a tool alone
)

# Gemini CLI and Qwen Code, which began as a copy of it


def _settings(auth: str) -> dict[str, object]:
    return {
        "security": {"auth": {"selectedType": auth}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "enableAutoUpdate": False,
            "disableAutoUpdate": True,
            "disableUpdateNag": True,
        },
    }


def _gemini_files(box: Sandbox) -> None:
    box.write(".gemini/settings.json", _settings("gemini-api-key"))
    box.environ |= {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": box.base,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


def _gemini(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    return ["-p", prompt, "--yolo", "-o", "json", "-m", "gemini-2.5-pro", *more]


GEMINI = Client(
    "gemini",
    _gemini_files,
    _gemini,
    _steps(
        _gemini,
        Step(
            "resume",
            lambda box, _: _gemini(box, box.prompt("resume", AGAIN), ["--resume", "latest"]),
        ),
        # Gemini puts what a SessionStart hook prints before the words of `-p`, and then sees no
        # command in them any more: whoever compresses this way has to do without.
        Step(
            "compact",
            lambda box, _: _gemini(box, "/compress", ["--resume", "latest"]),
            {"SESSION_MEMORY_INJECT": "0"},
        ),
        Step(
            "after",
            lambda box, _: _gemini(box, box.prompt("after", AFTER), ["--resume", "latest"]),
        ),
    ),
    hooks=frozenset({"session_start", "after_agent", "session_end"}),
)


def _qwen_files(box: Sandbox) -> None:
    box.write(".qwen/settings.json", _settings("openai"))
    box.environ |= {
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": f"{box.base}/v1",
        "OPENAI_MODEL": "fake-model",
        "QWEN_TELEMETRY_ENABLED": "false",
    }


def _qwen(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    return ["-p", prompt, "--yolo", "-o", "json", "--auth-type", "openai", *more]


QWEN = Client(
    "qwen",
    _qwen_files,
    _qwen,
    _steps(
        _qwen,
        Step("resume", lambda box, _: _qwen(box, box.prompt("resume", AGAIN), ["--continue"])),
        Step("compact", lambda box, _: _qwen(box, "/compress", ["--continue"])),
        Step("after", lambda box, _: _qwen(box, box.prompt("after", AFTER), ["--continue"])),
    ),
    hooks=frozenset({"session_start", "stop"}),
    asks_again=True,
)

# GitHub Copilot CLI


def _copilot_files(box: Sandbox) -> None:
    box.write(".copilot/config.json", {"banner": "never"})
    box.environ |= {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{box.base}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "fake-model",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "128000",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "8000",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_ALLOW_ALL": "true",
    }


def _copilot(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    flags = ["--allow-all-tools", "--allow-all-paths", "--output-format", "json"]
    return ["-p", prompt, *flags, "--disable-client-telemetry", "--no-auto-update", *more]


COPILOT = Client(
    "copilot",
    _copilot_files,
    _copilot,
    _steps(
        _copilot,
        Step(
            "resume",
            lambda box, _: _copilot(box, box.prompt("resume", AGAIN), ["--continue"]),
        ),
        Step("compact", lambda box, _: _copilot(box, "/compact", ["--continue"])),
    ),
    hooks=frozenset({"session_start", "agent_stop", "session_end"}),
    lacks={"recovered": "`copilot -p /compact` is not followed by a resumed turn here"},
)

# OpenCode


def _opencode_files(box: Sandbox) -> None:
    model = {"name": "Fake", "limit": {"context": 200000, "output": 8000}}
    options = {"baseURL": f"{box.base}/v1", "apiKey": "dummy"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Fake",
        "options": options,
        "models": {"fake-model": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
        "provider": {"fake": provider},
    }
    box.write(".config/opencode/opencode.json", settings)
    # It asks npm for its plug-in kit at every start: let it hear "no" at once.
    box.write(".config/opencode/.npmrc", f"registry={box.base}\nfetch-retries=0\n")
    box.environ |= {
        "NPM_CONFIG_REGISTRY": box.base,
        "npm_config_registry": box.base,
        "npm_config_fetch_retries": "0",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _opencode(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    return ["run", *more, "--format", "json", prompt]


OPENCODE = Client(
    "opencode",
    _opencode_files,
    _opencode,
    _steps(
        _opencode,
        Step(
            "resume",
            lambda box, _: _opencode(box, box.prompt("resume", AGAIN), ["--continue"]),
        ),
    ),
    hooks=frozenset({"session_created", "session_idle"}),
    lacks={
        "compacted": "`opencode run` has no command for it",
        "recovered": "`opencode run` has no command to compact",
    },
)

# pi


def _pi_files(box: Sandbox) -> None:
    cost = {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1}
    model = {
        "id": "fake-model",
        "name": "Fake",
        "contextWindow": 200000,
        "maxTokens": 8000,
        "reasoning": False,
        "input": ["text"],
        "cost": cost,
    }
    provider = {
        "baseUrl": f"{box.base}/v1",
        "api": "openai-completions",
        "apiKey": "dummy",
        "models": [model, {**model, "id": "fake-small", "contextWindow": 2500}],
    }
    compaction = {"enabled": True, "reserveTokens": 500, "keepRecentTokens": 100}
    box.write(".pi/agent/settings.json", {"compaction": compaction})
    box.write(".pi/agent/models.json", {"providers": {"fake": provider}})
    box.environ |= {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}


def _pi(box: Sandbox, prompt: str, more: list[str]) -> list[str]:
    return ["-p", "--provider", "fake", "--model", "fake-model", "--mode", "json", *more, prompt]


def _pi_small(box: Sandbox, prompt: str) -> list[str]:
    """The same with a window that the session does not fit into."""
    words = _pi(box, prompt, ["--continue"])
    return ["fake-small" if word == "fake-model" else word for word in words]


PI = Client(
    "pi",
    _pi_files,
    _pi,
    (
        Step("work", lambda box, _: _pi(box, box.prompt("work", WORK), [])),
        Step("resume", lambda box, _: _pi(box, box.prompt("resume", AGAIN), ["--continue"])),
        Step("compact", lambda box, _: _pi_small(box, box.prompt("hello", "in a small window"))),
        Step("recall", lambda box, _: _pi(box, box.prompt("hello", RECALL), [])),
    ),
    hooks=frozenset({"session_start", "agent_end", "pre_compact", "session_end"}),
    lacks={
        "sub-agent": "pi has none",
        "recovered": "pi's plug-in tells its model at the start of a session only",
        "mcp listed": "pi has no MCP",
        "first turn": "pi has no MCP",
        "mcp called": "pi has no MCP",
    },
)

CLIENTS = {
    client.name: client for client in (CLAUDE, CODEX, GROK, GEMINI, QWEN, COPILOT, OPENCODE, PI)
}
