"""How far redacting again what is stored has come."""

from __future__ import annotations

import msgspec


class RescanMark(msgspec.Struct, frozen=True):
    """Sessions up to `done` were redacted by these rules; those after `last` always were."""

    rules: str
    done: int
    last: int
    """The newest session when these rules came."""
    changed: bool = False
    """Whether something was rewritten, so that traces are left to be erased."""
    finished: bool = False
    """Also digests, and what was made of sessions."""


class RescanState(msgspec.Struct, frozen=True):
    """For `status`: how many sessions of an older rule were looked at again."""

    sessions: int = 0
    done: int = 0
    finished: bool = True
