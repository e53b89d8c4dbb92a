"""Which redaction rules are in force: a hash of their files and of the user's own rules.

A hash, so that no number has to be raised. The rules themselves are not imported: an idle sweep
asks this, and they take longer to load than it runs.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import msgspec

import session_memory
from session_memory.core.hashing import blake2b
from session_memory.core.rescan import RescanMark, RescanState
from session_memory.settings import Redact
from session_memory.store.values import SessionQuery

if TYPE_CHECKING:
    from session_memory.store.port import ForgetStore

_FOLDER = os.path.join(os.path.dirname(session_memory.__file__), "redact")
_FILES = frozenset(
    {"value_checks.py", "well_known.py", "surroundings.py", "secret_names.py", "json_fields.py"}
)
"""With the files of rules, what decides whether something is a secret; the engine only makes it
fast."""


def rules_version(settings: Redact) -> str:
    """Equal for equal rules."""
    digest = blake2b(msgspec.json.encode(settings), digest_size=8)
    digest.update(_built_in())
    if settings.gitleaks:
        digest.update(_content(os.path.expanduser(settings.gitleaks)))
    return digest.hexdigest()


@cache
def _built_in() -> bytes:
    """The files of our own rules, which are those of this process from its start to its end."""
    names = sorted(os.listdir(_FOLDER))
    ours = (name for name in names if name.endswith("_rules.py") or name in _FILES)
    return b"".join(_content(os.path.join(_FOLDER, name)) for name in ours)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # the rules that can be read are in force


def note_first_rules(store: ForgetStore, rules: str) -> None:
    """Say of a store without any session that nothing in it is older than these rules."""
    if store.rescan_mark() is None and not store.last_session():
        store.mark_rescan(RescanMark(rules=rules, done=0, last=0, finished=True))


def is_rescan_due(store: ForgetStore, rules: str) -> bool:
    """Whether sessions were redacted by other rules than these."""
    mark = store.rescan_mark()
    return mark is None or mark.rules != rules or not mark.finished


def rescan_state(store: ForgetStore, rules: str) -> RescanState:
    """How far redacting again by these rules has come."""
    mark = store.rescan_mark()
    if mark is None or mark.rules != rules:
        mark = RescanMark(rules=rules, done=0, last=store.last_session())
    if mark.finished:
        return RescanState()
    waiting = [session.id for session in store.sessions(SessionQuery()) if session.id <= mark.last]
    done = sum(number <= mark.done for number in waiting)
    return RescanState(sessions=len(waiting), done=done, finished=False)
