"""The doctor's findings about store, agents, hooks and schedule, with fixes."""

from __future__ import annotations

from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest

_ORDER = {"fail": 0, "warn": 1, "pass": 2}


def health_page(web: WebContext, _page_request: PageRequest) -> Page:
    """The last check of this run, at once; without one, the page fetches it."""
    health = web.health
    return Page(
        "health.html", {"checks": health.findings, "problems": health.problems, "at": health.at}
    )


def checked_page(web: WebContext, page_request: PageRequest) -> Page:
    """The same, after a check if this run made none yet: that takes seconds."""
    _check_once(web)
    return health_page(web, page_request)


def brief_page(web: WebContext, _page_request: PageRequest) -> Page:
    """How many problems there are, for Home, which fetches this after it is shown."""
    _check_once(web)
    return Page("health_brief.html", {"problems": web.health.problems})


def check_again(web: WebContext, _page_request: PageRequest) -> GoTo:
    """Look at everything once more; nothing is changed."""
    with web.health.checking:
        _check(web)
    return GoTo("/health")


def _check_once(web: WebContext) -> None:
    with web.health.checking:
        if not web.health.at:
            _check(web)


def _check(web: WebContext) -> None:
    """The checks of `doctor --quick`, worst first."""
    findings = sorted(web.front_end.check(), key=lambda finding: _ORDER[finding.result])
    web.health.findings, web.health.at = findings, web.clock()
