"""Where our own files live, and how they are made so that no other user can read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Literal, overload

import msgspec

from session_memory.atomic_files import make_directory
from session_memory.errors import DISK_HINT, Refused, StoreError

APP = "session-memory"
HOME_VARIABLE = "SESSION_MEMORY_HOME"
PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
LOG_BYTES = 512 * 1024

# A link in the place of a file could point our writes anywhere; Windows has neither flag.
_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Paths(msgspec.Struct, frozen=True):
    """The four places of this program; nothing is ever written elsewhere unless asked."""

    config_file: Path
    data: Path
    """The store and the files that belong to it."""
    state: Path
    """What describes the last runs: logs and the last sweep report."""
    cache: Path
    """What can be made again."""
    hook_folder: Path | None = None
    """Where agents find our hook, if that is not below `data`."""

    @property
    def hooks(self) -> Path:
        """What agents run, and the table of guards; it does not move with the store."""
        return self.hook_folder or self.data / "hooks"

    @property
    def logs(self) -> Path:
        """Directory of our own log files."""
        return self.state / "logs"

    @property
    def last_sweep(self) -> Path:
        """Report of the last sweep."""
        return self.state / "last_sweep.json"

    def with_store(self, store: Path) -> Paths:
        """The same program on another store; state moves along, so two stores share nothing."""
        return Paths(self.config_file, store, store / "state", store / "cache", self.hooks)


def find_paths(environ: Mapping[str, str]) -> Paths:
    """The platform's own directories, or everything below SESSION_MEMORY_HOME where that is set."""
    root = environ.get(HOME_VARIABLE)
    if root:
        base = Path(root).expanduser().absolute()
        return Paths(base / "config.toml", base / "data", base / "state", base / "cache")
    import platformdirs  # 20 ms, and not needed when the variable is set

    return Paths(
        platformdirs.user_config_path(APP, appauthor=False) / "config.toml",
        platformdirs.user_data_path(APP, appauthor=False),
        platformdirs.user_state_path(APP, appauthor=False),
        platformdirs.user_cache_path(APP, appauthor=False),
    )


def private_dir(path: Path | str) -> Path:
    """Make a directory that only its owner can enter, and its missing parents likewise.

    An existing directory of ours is tightened. One that is a link, belongs to somebody else, or is
    a place everybody writes to is refused: what we put there could be read or swapped by others.
    """
    path = Path(path)
    for missing in reversed([part for part in (path, *path.parents) if not part.exists()]):
        # A dangling link is not there for exists() and is there for mkdir: refused below.
        if not missing.is_symlink():
            try:
                make_directory(missing, PRIVATE_DIR)
            except NotADirectoryError:
                raise no_directory(missing.parent) from None
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise
                raise StoreError(f"cannot make {missing}: {error}", hint=DISK_HINT) from error
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise Refused(
            f"{path} is a symbolic link", hint="set `store.path` to the directory it points to"
        )
    if not stat.S_ISDIR(info.st_mode):
        raise no_directory(path)
    if os.name == "posix":
        _own(path, info)
    return path


def no_directory(path: Path) -> Refused:
    """The error for a file in the place of a directory of ours."""
    return Refused(f"{path} is not a directory", hint="move it away, then run the command again")


def _own(path: Path, info: os.stat_result) -> None:
    if info.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to another user", hint="choose a directory of your own")
    if info.st_mode & stat.S_ISVTX:
        raise Refused(f"{path} is shared by all users", hint="choose a directory inside it")
    if stat.S_IMODE(info.st_mode) & 0o077:
        path.chmod(PRIVATE_DIR)


BinaryMode = Literal["wb", "ab", "xb", "r+b", "w+b", "a+b", "x+b"]
TextMode = Literal["w", "a", "x"]


@overload
def open_private(path: Path | str, mode: BinaryMode) -> IO[bytes]: ...
@overload
def open_private(path: Path | str, mode: TextMode) -> IO[str]: ...
def open_private(path: Path | str, mode: BinaryMode | TextMode) -> IO[bytes] | IO[str]:
    """Open a file for writing with mode 0600 from the first byte, whatever the umask is."""
    encoding = None if "b" in mode else "utf-8"
    return open(path, mode, encoding=encoding, opener=_opener)


def _opener(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | _OPEN_FLAGS, PRIVATE_FILE)
    try:
        if os.name == "posix" and stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            os.fchmod(descriptor, PRIVATE_FILE)  # it was there before, with a wider mode
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def append_log(path: Path, data: bytes) -> None:
    """Append to a log file; a file that grew too large is kept as `NAME.1` and a new one begun."""
    private_dir(path.parent)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    with open_private(path, "ab") as file:
        file.write(data)
