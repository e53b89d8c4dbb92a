"""Atomic, lock-protected writes of small files, and recovery of damaged JSON files."""

from __future__ import annotations

import contextlib
import re
import stat
import time
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.errors import StoreLocked
from session_memory.paths import PRIVATE_FILE, private_dir
from session_memory.store.lock import exclusive

Warn = Callable[[str], None]
BUSY_WAIT_S = 0.1
_TEMPORARY = re.compile(r"(?:\.md|\.json|\.corrupt-[0-9-]+)\.\d+\.new$")


def atomic_write_text(path: Path, text: str) -> None:
    """Replace a text file in one step.

    New files are private; a file or folder of the user, as in a vault, keeps its mode.
    """
    if not path.parent.is_dir():
        private_dir(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE_FILE
    replace_file(path, text.encode("utf-8", "surrogateescape"), mode)


def remove_leftovers(*folders: Path) -> None:
    """Remove temporary files of killed writers; call it while no other process can write there."""
    for folder in folders:
        for path in folder.glob("*.new"):
            if _TEMPORARY.search(path.name):  # a vault may have *.new files of the user
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def file_lock(lock: Path, what: str) -> Generator[None]:
    """Hold a lock file for the block, waiting for it as long as it takes."""
    private_dir(lock.parent)
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(str(lock), what, wait=True))
                break
            except StoreLocked:  # Windows waits only for ten seconds
                time.sleep(BUSY_WAIT_S)
        yield


def locked_append(path: Path, lock: Path, addition_to: Callable[[str], str]) -> bool:
    """Append what `addition_to` returns for the present text, under a lock; False if that is "".

    The file is replaced as a whole, so that neither a killed process nor a reader at the same time
    leaves or sees half an entry.
    """
    with file_lock(lock, f"a writer of {path.name}"):
        text = read_text(path) or ""
        addition = addition_to(text)
        if not addition:
            return False
        atomic_write_text(path, text + addition)
        return True


def read_text(path: Path) -> str | None:
    """A text file with its line ends unchanged; None if it does not exist."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def load_json_with_recovery(
    path: Path, default: dict[str, Any], now_ms: int, warn: Warn
) -> dict[str, Any]:
    """The JSON object in a file; a damaged file is renamed with the time, and warned of."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return dict(default)
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    backup = _backup_path(path, now_ms)
    replace_file(backup, data)
    warn(f"{path.name} is damaged; its bytes are kept as {backup.name}")
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    return dict(default)


def save_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file in one step."""
    atomic_write_text(
        path, msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    )


def _backup_path(path: Path, now_ms: int) -> Path:
    stamp = datetime.fromtimestamp(now_ms / 1000).strftime("%Y%m%d-%H%M%S")
    names = (
        f"{path.name}.corrupt-{stamp}{suffix}" for suffix in ("", *(f"-{n}" for n in range(1, 100)))
    )
    paths = (path.with_name(name) for name in names)
    return next((path for path in paths if not path.exists()), path.with_name("corrupt"))
