"""What a better price table does for responses that had no price when they were read."""

from __future__ import annotations

import msgspec
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog, tokens
from session_memory.core.pricing import PriceTable, parse_table
from session_memory.ingest import capture, sweep
from session_memory.testing.workspace import Workspace

NEW_MODEL = "brand-new-model"


def table_of(version: str, model: str, dollars: float) -> PriceTable:
    prices = [{"input": dollars, "output": dollars}]
    models = [{"names": [model], "prices": prices}]
    return parse_table(
        msgspec.json.encode({"version": version, "source": "test", "models": models})
    )


def talk(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.model = NEW_MODEL
    log.prompt(f"question {seed}")
    log.say(f"answer {seed}", tokens(600_000, 400_000))
    return log


def usd(space: Workspace, log: ClaudeLog) -> tuple[float | None, float | None]:
    """What the session costs by its rows, and by its digest."""
    digest = space.digest(log.session_id)
    assert digest is not None
    return space.session(log.session_id).cost.usd, digest.cost.usd


def test_what_had_no_price_gets_one_from_a_newer_table(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, second, third = talk(1), talk(2), talk(3)
    space.write(old)
    space.sweep()
    assert usd(space, old) == (None, None)

    newer = table_of("2099-01-01", NEW_MODEL, 2.0)
    monkeypatch.setattr(capture, "load_table", lambda: newer)
    space.write(second)
    space.sweep()
    assert usd(space, old) == usd(space, second) == (2.0, 2.0)
    assert space.session(old.session_id).cost.price_table == "2099-01-01"

    # What has a price keeps it: history is not written anew by each table.
    dearer = table_of("2099-02-02", NEW_MODEL, 9.0)
    monkeypatch.setattr(capture, "load_table", lambda: dearer)
    space.write(third)
    space.sweep()
    assert usd(space, old) == (2.0, 2.0)
    assert usd(space, third) == (9.0, 9.0)


def test_a_newer_table_is_tried_although_no_log_changed(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = talk(1)
    space.write(old)
    space.sweep()
    newer = table_of("2099-01-01", NEW_MODEL, 2.0)
    monkeypatch.setattr(capture, "load_table", lambda: newer)
    monkeypatch.setattr(sweep, "table_version", lambda: newer.version)
    space.sweep()
    assert usd(space, old) == (2.0, 2.0)


def test_a_table_that_knows_no_more_changes_nothing(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = talk(1)
    space.write(old)
    space.sweep()
    stranger = table_of("2099-01-01", "another-model", 2.0)
    monkeypatch.setattr(capture, "load_table", lambda: stranger)
    space.write(talk(2))
    assert space.sweep().analyzed == 1
    assert usd(space, old) == (None, None)
