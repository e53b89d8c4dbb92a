"""The redactor of a store: the table every store has, and what the user added to it."""

from __future__ import annotations

import msgspec

from session_memory.redact import Redactor, load_user_rules
from session_memory.settings import Redact


def make_redactor(key: bytes, added: Redact) -> tuple[Redactor, list[str]]:
    """The redactor, and a warning for each added rule that cannot be used."""
    tables = msgspec.to_builtins(added.rules)
    extra, warnings = load_user_rules(tables, added.gitleaks)
    return Redactor(key, extra=extra), warnings
