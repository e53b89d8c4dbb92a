"""`spend` shows what our own calls cost and what the caps leave."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from session_memory import settings
from session_memory.cli.spend import status_line
from session_memory.clock import local_date, now_ms
from session_memory.core.spend import Call, Settled
from session_memory.testing.workspace import Workspace


def spent(root: Path) -> Workspace:
    """A store in which one call was settled today, and one was not."""
    space = Workspace(root)
    space.sweep()
    now = now_ms()
    call = Call(now, local_date(now), "r", "memory.extract", "anthropic", "m", 100, 50, 0.5)
    with space.store() as store:
        store.spend.settle(store.spend.reserve(call, lambda _: None), Settled("m", 10, 5, 0.25))
        store.spend.reserve(call, lambda _: None)
    return space


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    space = spent(root)
    return space.run("--config", str(space.write_config()), *arguments)


def test_spend_adds_up_and_says_what_is_left(tmp_path: Path) -> None:
    done = run(tmp_path, "store", "spend", "--by", "purpose", "--json")

    said = json.loads(done.stdout)
    (row,) = said["rows"]
    assert (row["name"], row["calls"], row["unsettled"]) == ("memory.extract", 2, 1)
    assert (row["input_tokens"], row["output_tokens"], row["usd"]) == (110, 55, 0.75)
    assert said["today"] == {"tokens": 165, "usd": 0.75}
    assert said["left_today"] == {"tokens": 2_000_000 - 165, "usd": 4.25}


def test_spend_tells_people_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, "store", "spend", "--days", "1")

    assert "165 of 2,000,000 tokens, $0.75 of $5.00" in done.stdout
    assert "no model is turned on" in done.stdout


def test_the_line_for_status_is_there_only_with_a_model(tmp_path: Path) -> None:
    with spent(tmp_path).store() as store:
        now = now_ms()
        assert status_line(settings.Model(), store.spend, now) is None
        line = status_line(settings.Model(provider="openai"), store.spend, now)
    assert line == "openai: today 165 of 2000000 tokens, $0.75 of $5.00"
