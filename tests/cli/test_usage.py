"""What `usage` shows of prices: their mode, their date, their source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog, tokens
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.codex.log_builder import tokens as codex_tokens
from session_memory.testing.workspace import Workspace


def claude_log(seed: int, **usage: str) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.model = "claude-opus-4-8"
    log.prompt(f"question {seed}")
    log.say(f"answer {seed}", {**tokens(100_000, 100_000), **usage})
    return log


def usage_by_model(space: Workspace) -> dict[str, Any]:
    done = space.run("--config", str(space.write_config()), "usage", "--by", "model", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.rows("CAP-15")
def test_a_fast_response_costs_what_fast_ones_cost(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    space.write(claude_log(1, speed="standard"), claude_log(2, speed="fast"))
    space.write(claude_log(3, service_tier="batch"), claude_log(4, service_tier="priority"))
    space.write(claude_log(5, service_tier="default"))  # how some gateways call the standard one
    space.sweep()
    shown = usage_by_model(space)
    rows = {row["group"]: row for row in shown["rows"]}
    assert rows["claude-opus-4-8"]["cost"]["usd"] == pytest.approx(2 * 3.0)
    assert rows["claude-opus-4-8 (fast)"]["cost"]["usd"] == pytest.approx(6.0)
    assert rows["claude-opus-4-8 (batch)"]["cost"]["usd"] == pytest.approx(1.5)
    # Committed capacity has no list price: unknown is said, not guessed.
    assert rows["claude-opus-4-8 (priority)"]["cost"]["usd"] is None
    assert rows["claude-opus-4-8 (priority)"]["unpriced_tokens"] == 200_000
    assert shown["price_table"] >= "2026-11-17"
    assert "genai-prices" in shown["price_source"]


@pytest.mark.rows("CAP-15")
def test_codex_turns_cost_what_the_service_tier_of_their_settings_costs(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = CodexLog(1).header().turn("gpt-5.4").prompt("one").answer("first")
    log.spend(codex_tokens(100_000, 0, 1000), record=True)
    for tier, said in (("fast", "second"), (None, "third")):
        settings = {"model": "gpt-5.4", **({"service_tier": tier} if tier else {})}
        log.event("thread_settings_applied", thread_settings=settings)
        log.turn("gpt-5.4").prompt(said).answer(said)
        log.spend(codex_tokens(100_000, 0, 1000), record=True)
    log.write(space.flavor_home("codex"))
    space.sweep()
    rows = {row["group"]: row["cost"]["usd"] for row in usage_by_model(space)["rows"]}
    assert rows == {
        "gpt-5.4": pytest.approx(2 * 0.265),
        "gpt-5.4 (priority)": pytest.approx(2 * 0.265),
    }


@pytest.mark.rows("CAP-15")
def test_a_mode_survives_export_and_import(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    space.write(claude_log(1, speed="fast"))
    space.sweep()
    config = str(space.write_config())
    bundle = str(tmp_path / "bundle")
    assert space.run("--config", config, "store", "export", bundle).returncode == 0
    other = space.with_store("other")
    imported = other.run("--config", str(other.write_config()), "store", "import", bundle)
    assert imported.returncode == 0, imported.stderr
    assert usage_by_model(other)["rows"] == usage_by_model(space)["rows"]
