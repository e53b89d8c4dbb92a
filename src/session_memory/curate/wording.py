"""Cleaning of texts before they are kept: no secrets, no escapes, no invisible characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from session_memory.core.loop.catalog import Evidence, Proposal
from session_memory.core.text.safe_text import stripped

if TYPE_CHECKING:
    from session_memory.redact import Redactor

Clean = Callable[[str], str]

QUOTE_LIMIT = 400
TEXT_LIMIT = 4000
"""Longer texts are documents, not patterns."""


def make_clean(redactor: Redactor) -> Clean:
    """A function that takes secrets, escapes and invisible characters out of a text."""
    from session_memory.redact.placeholder import render  # with all rules, which a count needs not

    def clean(text: str) -> str:
        # Stripping may join the halves of a secret, or a secret with the word next to it, so the
        # text is redacted before and after.
        plain = stripped(render(redactor.redact_text(text)))
        return stripped(render(redactor.redact_text(plain))).strip()

    return clean


def clean_proposal(proposal: Proposal, clean: Clean) -> Proposal:
    """The proposal as it may be kept and shown."""
    return replace(
        proposal,
        type=_line(clean(proposal.type)),
        locus=_line(clean(proposal.locus)),
        text=clean(proposal.text)[:TEXT_LIMIT],
        evidence=tuple(_clean_evidence(item, clean) for item in proposal.evidence),
    )


def _clean_evidence(item: Evidence, clean: Clean) -> Evidence:
    return replace(
        item,
        session=_line(clean(item.session)),
        flavor=_line(clean(item.flavor)),
        repo=None if item.repo is None else _line(clean(item.repo)),
        quote=clean(item.quote)[:QUOTE_LIMIT],
    )


def _line(text: str) -> str:
    return " ".join(text.split())
