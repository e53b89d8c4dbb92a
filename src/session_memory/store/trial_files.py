"""The list of trials on disk: a small file, since the worker reads it without opening a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.loop.trials import Trial, decode_trials, encode_trials
from session_memory.errors import Refused
from session_memory.paths import private_dir

TRIALS = "trials.json"


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


def write_trials(data: Path, trials: Iterable[Trial]) -> None:
    """Replace the list in one step."""
    replace_file(private_dir(data) / TRIALS, encode_trials(trials))
