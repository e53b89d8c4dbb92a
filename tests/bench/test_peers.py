"""The comparison with other programs, as far as it can be shown without them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.bench import peers, peers_logs, peers_tokens
from tests.bench.peers_known import KNOWN
from tests.bench.peers_process import run
from tests.bench.peers_tokens import Difference, Tokens

posix = pytest.mark.skipif(os.name == "nt", reason="process groups")
SLOT = ("2026-03-02", "model")


def test_only_slots_that_differ_are_told_and_a_missing_one_counts_as_nothing() -> None:
    other = ("2026-03-03", "model")
    ours = {SLOT: Tokens(1, 2, 3, 4), other: Tokens(5)}
    theirs = {other: Tokens(5)}
    assert peers_tokens.differences(ours, theirs) == [
        Difference(SLOT, Tokens(1, 2, 3, 4), Tokens())
    ]
    assert peers_tokens.differences(ours, ours) == []


def test_days_whose_dollars_differ_by_a_cent_are_shown() -> None:
    ours = {"2026-03-02": 1.0, "2026-03-03": 2.0, "2026-03-04": 0.02}
    theirs = {"2026-03-02": 1.004, "2026-03-03": 2.5}
    assert peers_tokens.dollar_differences(ours, theirs) == [
        ("2026-03-03", 2.0, 2.5),
        ("2026-03-04", 0.02, 0.0),
    ]


def test_a_difference_that_nobody_explained_fails_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    difference = peers.Compared([Difference(SLOT, Tokens(1), Tokens(2))], [])
    assert peers._explain({next(iter(KNOWN)): difference}) == 0
    assert peers._explain({"claude/new": difference}) == 1
    assert "claude/new: NOT EXPLAINED" in capsys.readouterr().out


@posix
def test_our_side_of_the_comparison_reads_every_built_home(tmp_path: Path) -> None:
    built = peers_logs.built(tmp_path / "built")
    assert len({logs.title for logs in built}) == len(built)
    spent: dict[str, int] = {}
    for number, logs in enumerate(built[:1] + built[4:5] + built[-1:]):  # one of each agent
        home = tmp_path / f"home{number}"
        home.mkdir()
        logs.put(home)
        spent[logs.flavor] = peers_tokens.whole(peers_tokens.of_ours(home).tokens)
    assert spent == {"claude": 1062, "codex": 330, "grok": 168}


@posix
def test_a_program_that_fails_or_takes_too_long_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="ended with 3"):
        run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
    held = tmp_path / "held"
    take = (
        f"import fcntl, signal; file = open({str(held)!r}, 'w'); fcntl.flock(file, fcntl.LOCK_EX)"
    )
    with pytest.raises(OSError, match="was ended"):
        run([sys.executable, "-c", f"{take}; signal.pause()"], tmp_path, seconds=1)
    fcntl = pytest.importorskip("fcntl")
    with held.open("w") as file:  # a program that is still there would hold this for ever
        fcntl.flock(file, fcntl.LOCK_EX)
