"""Which redaction rules are in force: a hash of their files and of the user's own rules.

A hash, so that nobody has to raise a number. The rules themselves are not imported: an idle sweep
asks this, and they take longer to load than it runs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.rescan import RescanMark, RescanState
from session_memory.settings import Redact
from session_memory.store.port import ForgetStore, SessionQuery

_FILES = (
    *("*_rules.py", "value_checks.py", "well_known.py", "surroundings.py", "secret_names.py"),
    "json_fields.py",
)
"""What decides whether something is a secret; the engine only makes it fast."""


def rules_version(settings: Redact) -> str:
    """Equal for equal rules."""
    digest = blake2b(msgspec.json.encode(settings), digest_size=8)
    spec = find_spec("session_memory.redact")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    for folder in folders:
        for file in sorted(found for name in _FILES for found in folder.glob(name)):
            digest.update(_content(file))
    if settings.gitleaks:
        digest.update(_content(Path(settings.gitleaks).expanduser()))
    return digest.hexdigest()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
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
