"""Every error this program raises on purpose, with the exit code and the hint a user gets.

SessionMemoryError (1)          something failed
├── UsageError (2)              the command line is wrong
├── ConfigError (4)             a configuration value is invalid, or its packages are missing
├── StoreError (1)              the store cannot do what was asked
│   ├── StoreMissing (5)        there is no store yet
│   ├── StoreTooNew (5)         a newer program wrote it
│   ├── StoreDamaged (1)        its content fails a check
│   │   └── DatabaseDamaged (1) the database file is damaged or missing
│   └── StoreLocked (6)         another process holds it                     (transient)
├── NotFound (1)                no session, project or file of that name
├── Ambiguous (2)               a short name fits several
├── ScopeMismatch (7)           session and project do not belong together
├── Refused (8)                 declined, because going on could lose or leak data
├── ModelUnavailable (9)        a model was asked for and none can answer     (transient)
│   ├── ModelFailed (9)         it answered, but not usably                   (transient)
│   └── BudgetSpent (9)         a cap is reached: put off, nothing was called
├── HubUnavailable (10)         the team's hub cannot be reached              (transient)
│   └── HubRefused (10)         it answered, and will not do what was asked
└── AdapterError (1)            a source cannot be read as its flavour

Exit 0 is success, 3 is "finished, with warnings worth reading", 130 is an interrupt.
"""

from __future__ import annotations

import errno

EXIT_OK = 0
EXIT_WARNINGS = 3
EXIT_INTERRUPTED = 130


def extra_hint(name: str) -> str:
    """How to install the packages of an extra, from an index or from a checkout."""
    return f"pip install 'session-memory[{name}]', or in a checkout: pip install '.[{name}]'"


class SessionMemoryError(Exception):
    """Root of the tree; catch it to catch everything raised on purpose."""

    exit_code = 1
    code = "failed"
    transient = False
    default_hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint


class UsageError(SessionMemoryError):
    """The command line does not make sense; nothing was done."""

    exit_code = 2
    code = "usage"


class ConfigError(SessionMemoryError):
    """A configuration value is invalid; raised before anything is written."""

    exit_code = 4
    code = "config"
    default_hint = (
        "run `session-memory config show --all` to see every key and where its value came from"
    )


class StoreError(SessionMemoryError):
    """The store cannot do what was asked."""

    code = "store"


class StoreMissing(StoreError):
    """Nothing was captured yet, so there is nothing to read."""

    exit_code = 5
    code = "store_missing"
    default_hint = "run `session-memory sweep` first"


class StoreTooNew(StoreError):
    """A newer program wrote this store; reading on could damage it."""

    exit_code = 5
    code = "store_too_new"
    default_hint = "upgrade session-memory, or restart a server that was running during the upgrade"


class StoreDamaged(StoreError):
    """Stored content fails a check (hash, integrity, dangling reference)."""

    code = "store_damaged"
    default_hint = (
        "`session-memory store fsck` lists everything, `session-memory store repair` mends it"
    )


class DatabaseDamaged(StoreDamaged):
    """The database file itself is damaged, empty or missing; nothing may be written into it."""

    default_hint = "run `session-memory store repair`: it shows what can be saved and how"


_PATH_HINT = "check the path: it cannot be used as it is"
_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR)
DISK_HINT = "check permissions and free space there, then run the command again"
_DISK = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO)


def as_disk_trouble(error: BaseException) -> SessionMemoryError | None:
    """A file or disk that does not let us read or write, as an error with a hint."""
    if isinstance(error, OSError) and error.errno in (*_DISK, *_PATH):
        where = f"{error.filename}: " if error.filename else ""
        hint = DISK_HINT if error.errno in _DISK else _PATH_HINT
        return SessionMemoryError(f"{where}{error.strerror}", hint=hint)
    return None


class StoreLocked(StoreError):
    """Another process holds the lock this command needs."""

    exit_code = 6
    code = "locked"
    transient = True
    default_hint = "wait for the running sweep to finish, then try again"


class NotFound(SessionMemoryError):
    """No session, project or file of that name."""

    code = "not_found"


class Ambiguous(SessionMemoryError):
    """A short name fits more than one thing."""

    exit_code = 2
    code = "ambiguous"


class ScopeMismatch(SessionMemoryError):
    """The session does not belong to the project it was asked for with."""

    exit_code = 7
    code = "scope_mismatch"


class Refused(SessionMemoryError):
    """Declined, because going on could lose or leak data."""

    exit_code = 8
    code = "refused"


class ModelUnavailable(SessionMemoryError):
    """A model was asked for and none can answer."""

    exit_code = 9
    code = "model_unavailable"
    transient = True


class ModelFailed(ModelUnavailable):
    """The model answered, but the answer cannot be used: cut off, empty, refused or no JSON."""

    code = "model_failed"


class BudgetSpent(ModelUnavailable):
    """A cap on tokens, money or calls is reached; the work is put off and nothing was called."""

    code = "budget_spent"
    transient = False
    default_hint = (
        "see `session-memory store spend`; raise the cap in [model], or wait for the next day"
    )


class HubUnavailable(SessionMemoryError):
    """The team's hub cannot be reached, or cannot answer now; everything is kept for later."""

    exit_code = 10
    code = "hub_unavailable"
    transient = True
    default_hint = "nothing is lost: run the command again when the hub answers"
    reason = ""
    """The hub's own word for it, such as `not_shared`."""


class HubRefused(HubUnavailable):
    """The hub answered, and will not do what was asked: a token that ended, a project it hides."""

    code = "hub_refused"
    transient = False
    default_hint = "`session-memory team status` shows what this device may do"


class AdapterError(SessionMemoryError):
    """A source cannot be read as its flavour; the sweep counts it and goes on."""

    code = "adapter"
