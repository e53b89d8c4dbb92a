"""What goes into the journal is redacted once more and shows no tags, as people read it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.redact import Redactor, drop_private, load_user_rules, render
from session_memory.settings import Redact

Clean = Callable[[str], str]


def make_redactor(key: bytes, added: Redact) -> Redactor:
    """The store's table with the user's own rules; warnings about those are the sweep's to tell."""
    extra, _ = load_user_rules(msgspec.to_builtins(added.rules), added.gitleaks)
    return Redactor(key, extra=extra)


def cleaner(redactor: Redactor) -> Clean:
    """Text without what the user called private and without secrets."""
    return lambda text: render(redactor.redact_text(drop_private(text)[0]))
