"""What the doctor finds: whether store, agents, hooks and schedule are well, and what helps."""

from __future__ import annotations

from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest

_ORDER = {"fail": 0, "warn": 1, "pass": 2}


def health_page(web: WebContext, _page_request: PageRequest) -> Page:
    """The checks of `doctor --quick`, worst first; made once, and again when asked for."""
    if not web.health.at:
        _check(web)
    health = web.health
    return Page(
        "health.html", {"checks": health.findings, "problems": health.problems, "at": health.at}
    )


def check_again(web: WebContext, _page_request: PageRequest) -> GoTo:
    """Look at everything once more; nothing is changed."""
    _check(web)
    return GoTo("/health")


def _check(web: WebContext) -> None:
    found = sorted(web.front_end.check(), key=lambda check: _ORDER[check.result])
    web.health.findings, web.health.at = found, web.clock()
