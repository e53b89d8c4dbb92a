"""Whether what agents were given helped: verdicts with intervals, and the trend of sessions."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import msgspec

from session_memory.clock import iso
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.trials import under_trial
from session_memory.curate.catalog import read_catalog
from session_memory.measure.report import GROUPS, change_sentence, verdict_sentence
from session_memory.store.trial_files import read_trials
from session_memory.store.values import SessionFigures
from session_memory.web.charts import forest, trend
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

_MONTHS = 12
_SINCE_MS = 370 * 86_400_000


class Month(msgspec.Struct, frozen=True):
    """The sessions that began in one month."""

    name: str
    sessions: int
    calls_before_edit: float | None
    """Median, of the sessions that edited something."""
    errors: float
    """Different errors for each session."""
    usd_for_success: float | None
    """Dollars of all sessions for each that succeeded."""


class Measured(msgspec.Struct, frozen=True):
    """An effect in words."""

    effect: Effect
    sentence: str
    changes: tuple[str, ...]


def effect_page(web: WebContext, _page_request: PageRequest) -> Page:
    """What was measured last, and how sessions changed over time."""
    with web.reading() as store:
        effects = store.effects.all()
        months = _months(store.session_figures(web.clock() - _SINCE_MS))
    texts = {
        name: pattern.current.text
        for name, pattern in read_catalog(web.paths.data).patterns.items()
    }
    trials = under_trial(read_trials(web.paths.data))
    return Page(
        "effect.html",
        {
            "measured": [_measured(effect) for effect in effects],
            "texts": texts,
            "group_names": GROUPS,
            "trials": {name: trial for name, trial in trials.items() if name in texts},
            "plot": forest([(texts.get(e.pattern_id, e.pattern_id), e) for e in effects]),
            "months": months,
            "trends": _trends(months[::-1]),
        },
    )


def _measured(effect: Effect) -> Measured:
    changes = tuple(change_sentence(change) for change in effect.changes)
    return Measured(effect, verdict_sentence(effect), changes)


def _trends(months: list[Month]) -> list[tuple[str, object]]:
    """A plot for each figure that can be compared over time, oldest month first."""
    plots = (
        ("Calls before the first edit", [(m.name, m.calls_before_edit) for m in months], ""),
        ("Errors a session", [(m.name, m.errors) for m in months], ""),
        ("Cost for each success", [(m.name, m.usd_for_success) for m in months], "$"),
    )
    return [(title, plot) for title, points, unit in plots if (plot := trend(points, title, unit))]


def _months(figures: list[SessionFigures]) -> list[Month]:
    by_month: dict[str, list[SessionFigures]] = defaultdict(list)
    for session in figures:
        if month := (iso(session.first_at) or "")[:7]:
            by_month[month].append(session)
    return [_month(name, by_month[name]) for name in sorted(by_month, reverse=True)[:_MONTHS]]


def _month(name: str, figures: list[SessionFigures]) -> Month:
    calls = [
        session.calls_before_edit for session in figures if session.calls_before_edit is not None
    ]
    spent = sum(session.usd or 0.0 for session in figures)
    succeeded = sum(session.outcome == "success" for session in figures)
    return Month(
        name=name,
        sessions=len(figures),
        calls_before_edit=median(calls) if calls else None,
        errors=sum(session.errors for session in figures) / len(figures),
        usd_for_success=spent / succeeded if succeeded else None,
    )
