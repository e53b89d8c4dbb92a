"""What every part of forgetting is given, and what it reports."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from session_memory.core.forget import FORGOTTEN, Remains
from session_memory.core.text.safe_text import stripped
from session_memory.curate.wording import make_clean
from session_memory.paths import Paths
from session_memory.redact import Redactor
from session_memory.store.port import Store

Rewrite = Callable[[str], str]
"""From a text to the same text without the words that must go."""


class ForgetContext(msgspec.Struct, frozen=True):
    """Where everything is kept."""

    store: Store
    paths: Paths
    vault: str
    """The folder of journals that the configuration names, or ''."""
    now: int


class ForgetReport(msgspec.Struct, frozen=True):
    """What forgetting did to files of the user, and what may still hold what was forgotten."""

    taken_out: tuple[str, ...] = ()
    """Files that agents read, from which something of ours was removed."""
    remains: tuple[Remains, ...] = ()

    def __or__(self, other: ForgetReport) -> ForgetReport:
        return ForgetReport(
            tuple(dict.fromkeys((*self.taken_out, *other.taken_out))),
            tuple(dict.fromkeys((*self.remains, *other.remains))),
        )


def without_text(text: str, *, ignore_case: bool = False) -> Rewrite:
    """Replaces a text by our placeholder."""
    pattern = re.compile(re.escape(text), re.IGNORECASE if ignore_case else 0)
    return lambda content: pattern.sub(FORGOTTEN, content)


def without_secrets(redactor: Redactor) -> Rewrite:
    """Redacts; a text without a secret stays as it is, and so do blank lines at both ends.

    The end of an entry in a file is found by the line break behind it.
    """
    clean = make_clean(redactor)

    def rewrite(text: str) -> str:
        if redactor.redact_text(text) == text:
            return text
        before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{stripped(before)}{clean(text)}{stripped(after)}"

    return rewrite


def would_change(content: bytes, rewrite: Rewrite) -> bool:
    """Whether a file holds words that `rewrite` replaces."""
    text = content.decode("utf-8", "replace")
    return rewrite(text) != text
