"""Small files that survive crashes and company: replaced whole, appended to under a lock."""

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
_FRESH = re.compile(r"(?:\.md|\.json|\.corrupt-[0-9-]+)\.\d+\.new$")


def atomic_write_text(path: Path, text: str) -> None:
    """Replace a text file in one step.

    What is new is private; a file or folder of the user's, as in a vault, keeps its mode.
    """
    if not path.parent.is_dir():
        private_dir(path.parent)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE_FILE
    replace_file(path, text.encode("utf-8", "surrogateescape"), mode)


def remove_leftovers(*folders: Path) -> None:
    """Remove half-written files of killed writers; only while nobody else may write there."""
    for folder in folders:
        for path in folder.glob("*.new"):
            if _FRESH.search(path.name):  # a vault may hold files of the user's that end so
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def held(lock: Path, what: str) -> Generator[None]:
    """Hold a lock file for the length of the block, however long another holds it before."""
    private_dir(lock.parent)
    with contextlib.ExitStack() as stack:
        while True:
            try:
                stack.enter_context(exclusive(str(lock), what, wait=True))
                break
            except StoreLocked:  # Windows waits for ten seconds only
                time.sleep(BUSY_WAIT_S)
        yield


def locked_append(path: Path, lock: Path, added: Callable[[str], str]) -> bool:
    """Append what `added` makes of the present text, all of it inside the lock; False for nothing.

    The file is replaced whole, so that a process killed in between leaves no half entry, and
    whoever reads it sees all entries or all but the last.
    """
    with held(lock, f"a writer of {path.name}"):
        text = read_text(path) or ""
        more = added(text)
        if not more:
            return False
        atomic_write_text(path, text + more)
        return True


def read_text(path: Path) -> str | None:
    """A text file with its line ends as they are; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def load_json_with_recovery(
    path: Path, default: dict[str, Any], now_ms: int, warn: Warn
) -> dict[str, Any]:
    """The JSON object of a file; one that is none is set aside under the time, and told of."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return dict(default)
    try:
        found: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if isinstance(found, dict):
        return cast("dict[str, Any]", found)
    backup = _free_name(path, now_ms)
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


def _free_name(path: Path, now_ms: int) -> Path:
    stamp = datetime.fromtimestamp(now_ms / 1000).strftime("%Y%m%d-%H%M%S")
    names = (
        f"{path.name}.corrupt-{stamp}{suffix}" for suffix in ("", *(f"-{n}" for n in range(1, 100)))
    )
    candidates = (path.with_name(name) for name in names)
    return next((found for found in candidates if not found.exists()), path.with_name("corrupt"))
