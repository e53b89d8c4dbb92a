"""Whether what agents were given helped: verdicts with intervals, and the trend of sessions."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from session_memory.clock import iso
from session_memory.core.loop.effects import Effect
from session_memory.core.schema import Digest
from session_memory.curate.catalog import read_catalog
from session_memory.measure.report import verdict_sentence
from session_memory.store.values import SessionQuery
from session_memory.web.charts import forest
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

_MONTHS = 12


class Month(msgspec.Struct, frozen=True):
    """The sessions that began in one month."""

    name: str
    sessions: int
    calls_before_edit: float | None
    """Median, of the sessions that edited something."""
    errors: float
    """Errors for each session."""
    usd_for_success: float | None
    """Dollars of all sessions for each that succeeded."""


def effect_page(web: WebContext, _page_request: PageRequest) -> Page:
    """What was measured last, and how sessions changed over time."""
    with web.reading() as store:
        effects = store.effects.all()
        digests = [
            digest
            for session in store.sessions(SessionQuery(include_subagents=False))
            if (digest := store.digest(session.id)) is not None
        ]
    texts = {
        name: pattern.current.text
        for name, pattern in read_catalog(web.paths.data).patterns.items()
    }
    return Page(
        "effect.html",
        {
            "effects": [(effect, verdict_sentence(effect)) for effect in effects],
            "texts": texts,
            "plot": forest([(texts.get(e.pattern_id, e.pattern_id), e) for e in _decided(effects)]),
            "months": _months(digests),
        },
    )


def _decided(effects: list[Effect]) -> list[Effect]:
    return [effect for effect in effects if effect.difference is not None]


def _months(digests: list[Digest]) -> list[Month]:
    by_month: dict[str, list[Digest]] = defaultdict(list)
    for digest in digests:
        if month := (iso(digest.first_at) or "")[:7]:
            by_month[month].append(digest)
    return [_month(name, by_month[name]) for name in sorted(by_month, reverse=True)[:_MONTHS]]


def _month(name: str, digests: list[Digest]) -> Month:
    calls = sorted(d.calls_before_edit for d in digests if d.calls_before_edit is not None)
    spent = sum(digest.cost.usd or 0.0 for digest in digests)
    succeeded = sum(digest.outcome == "success" for digest in digests)
    return Month(
        name=name,
        sessions=len(digests),
        calls_before_edit=calls[len(calls) // 2] if calls else None,
        errors=sum(error.count for digest in digests for error in digest.errors) / len(digests),
        usd_for_success=spent / succeeded if succeeded else None,
    )
