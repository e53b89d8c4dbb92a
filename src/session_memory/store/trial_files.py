"""The list of trials on disk: a small file, since the worker reads it without opening a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.loop.trials import Trial
from session_memory.paths import private_dir
from session_memory.store.json_files import REPAIR, encode_rows, read_json_file
from session_memory.store.lock import exclusive

TRIALS = "trials.json"
Change = Callable[[tuple[Trial, ...]], tuple[Trial, ...]]


def read_trials(data: Path) -> tuple[Trial, ...]:
    """Every trial that was started; none where there is no file.

    A file that cannot be read is an error: giving a pattern without knowing its trial spoils it.
    """
    return read_json_file(data / TRIALS, tuple[Trial, ...], REPAIR) or ()


def change_trials(data: Path, change: Change) -> tuple[Trial, ...]:
    """Apply a change to the list under a lock; returns the list after it."""
    with exclusive(str(data / "trials.lock"), "another change of trials", wait=True):
        trials = change(read_trials(data))
        write_trials(data, trials)
    return trials


def write_trials(data: Path, trials: Iterable[Trial]) -> None:
    """Replace the list in one step, oldest first."""
    ordered = sorted(trials, key=lambda trial: (trial.started_at, trial.pattern_id))
    replace_file(private_dir(data) / TRIALS, encode_rows(ordered))
