"""Opens the configured model: the user's provider wrapped in a meter, or None."""

from __future__ import annotations

from collections.abc import Mapping

from session_memory import settings
from session_memory.clock import Clock
from session_memory.model.budget import Caps
from session_memory.model.metered import Ledger, Meter, Metered
from session_memory.model.port import Model, Provider

AGENT_TURN_TOKENS = 12_000
"""What an agent's own instructions and tools add to each turn; Codex sends 29 KB of them."""
AGENTS = ("claude_cli", "codex_cli", "agent_sdk")


def open_model(
    settings: settings.Model, environ: Mapping[str, str], ledger: Ledger, clock: Clock, run: str
) -> Model | None:
    """The configured model, or None if none is enabled.

    `run` names one run of a command or of the worker, since some caps hold per run. Raises
    ModelUnavailable, with a hint about what is missing.
    """
    provider = _provider(settings, environ)
    if provider is None:
        return None
    turn_tokens = AGENT_TURN_TOKENS if settings.provider in AGENTS else 0
    meter = Meter(
        caps_of(settings),
        ledger,
        clock,
        run,
        turn_tokens=turn_tokens,
        window=settings.context_tokens,
        timeout_s=float(settings.timeout_seconds),
    )
    return Metered(provider, meter)


def caps_of(settings: settings.Model) -> Caps:
    """The caps the user set."""
    return Caps(
        run_calls=settings.run_max_calls,
        run_tokens=settings.run_max_tokens,
        day_tokens=settings.day_max_tokens,
        run_usd=settings.run_max_usd,
        day_usd=settings.day_max_usd,
        run_ms=settings.run_max_minutes * 60_000,
    )


def _provider(settings: settings.Model, environ: Mapping[str, str]) -> Provider | None:
    """The bare provider; only the chosen one is imported."""
    match settings.provider:
        case "anthropic":
            from session_memory.model.anthropic import open_anthropic

            return open_anthropic(settings, environ)
        case "openai":
            from session_memory.model.openai import open_openai

            return open_openai(settings, environ)
        case "claude_cli" | "codex_cli":
            from session_memory.model.cli_agent import open_agent

            return open_agent(settings, environ)
        case "agent_sdk":
            from session_memory.model.agent_sdk import open_agent_sdk

            return open_agent_sdk(settings, environ)
        case _:
            return None
