"""The benchmarks measure what they say; how fast anything is, no test asks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bench import baseline, corpora, stages
from tests.bench.child import new_home, run
from tests.bench.figures import Figure, percentile, shown

from session_memory.adapters.claude.logs import discover
from session_memory.testing.samples import write_samples


@pytest.mark.parametrize(
    ("measured", "more_is_better", "verdict"),
    [
        (10, False, "meets goal"),
        (15, False, "meets must"),
        (21, False, "misses"),
        (25, True, "meets must"),
        (9, True, "misses"),
    ],
)
def test_a_figure_is_judged_in_its_own_direction(
    measured: float, more_is_better: bool, verdict: str
) -> None:
    goal = 30 if more_is_better else 10
    figure = Figure("x", measured, "s", 20, goal, more_is_better)
    assert figure.verdict == verdict


def test_an_anchor_has_no_verdict() -> None:
    assert Figure("bare python", 15, "ms").verdict == ""


def test_percentiles_and_digits() -> None:
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile([float(n) for n in range(20)], 0.95) == 19
    assert [shown(x, "s") for x in (0.1234, 1.234, 12.34, 1234.0)] == [
        "0.123 s",
        "1.23 s",
        "12.3 s",
        "1234 s",
    ]


def test_a_copied_log_is_another_session_and_no_fork(tmp_path: Path) -> None:
    write_samples(tmp_path / "sample")
    corpora._copy_tree(tmp_path / "sample", tmp_path / "copy", 7)
    found = [
        stages.parse_all(stages.read_all(list(discover(str(tmp_path / name)))))
        for name in ("sample", "copy")
    ]
    names = [{item.part.external_id for item in inputs} for inputs in found]
    events = [
        {(e.kind, e.at, e.text, e.call_id) for item in inputs for e in item.part.events}
        for inputs in found
    ]
    assert len(names[0]) == len(names[1]) and not names[0] & names[1]
    assert len(events[0]) == len(events[1]) and not events[0] & events[1]


def test_every_stage_runs_on_the_samples(tmp_path: Path) -> None:
    write_samples(tmp_path)
    result = stages.measure(stages.choose([str(tmp_path)], 10**9), rounds=1)
    assert set(stages.SWEEP) < set(result["stages"])
    assert result["bytes"] == sum(path.stat().st_size for path in tmp_path.rglob("*.jsonl"))
    assert result["events"] > 50


def test_the_baseline_indexes_each_message(tmp_path: Path) -> None:
    write_samples(tmp_path)
    database = str(tmp_path / "loop.db")
    baseline.index([str(tmp_path)], database)
    db = sqlite3.connect(database)
    found = db.execute("SELECT count(*) FROM message WHERE message MATCH 'pytest'").fetchone()
    db.close()
    assert found[0] > 3


def test_a_child_sees_no_home_but_the_one_made_for_it() -> None:
    with new_home() as home:
        code = "import os, json; print(json.dumps([os.path.expanduser('~'), sorted(os.environ)]))"
        spent = run(["-c", code], home.environment(("logs",)))
        assert str(home.root) in spent.output
        assert '"XDG_CONFIG_HOME"' not in spent.output
        assert spent.peak_bytes > 1_000_000


def test_long_lines_are_as_long_as_asked(tmp_path: Path) -> None:
    corpus = corpora.long_lines(tmp_path, (300_000, 100_000))
    (file,) = discover(corpus.roots[0])
    lengths = sorted(len(line) for line in Path(file.path).read_bytes().splitlines())
    assert 300_000 < lengths[-1] < 400_000
    assert 100_000 < lengths[-2] < 200_000


RUNNABLE = sorted(
    path.stem
    for path in Path(baseline.__file__).parent.glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8") and not path.stem.startswith("test_")
)


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_benchmark_says_how_it_is_run(name: str) -> None:
    root = Path(baseline.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", f"tests.bench.{name}", "--help"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
