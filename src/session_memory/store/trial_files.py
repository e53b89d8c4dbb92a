"""The list of trials on disk: a small file, since the worker reads it without opening a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.loop.trials import Trial, decode_trials, encode_trials
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive

TRIALS = "trials.json"
Change = Callable[[tuple[Trial, ...]], tuple[Trial, ...]]


def read_trials(data: Path) -> tuple[Trial, ...]:
    """Every trial that was started; none where there is no file.

    A file that cannot be read is an error: giving a pattern without knowing its trial spoils it.
    """
    path = data / TRIALS
    try:
        return decode_trials(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        hint = "repair that file, or put an older copy of it back"
        raise Refused(f"cannot read {path}: {error}", hint=hint) from None


def change_trials(data: Path, change: Change) -> tuple[Trial, ...]:
    """Apply a change to the list under a lock; returns the list after it."""
    with exclusive(str(data / "trials.lock"), "another change of trials", wait=True):
        trials = change(read_trials(data))
        write_trials(data, trials)
    return trials


def write_trials(data: Path, trials: Iterable[Trial]) -> None:
    """Replace the list in one step."""
    replace_file(private_dir(data) / TRIALS, encode_trials(trials))
