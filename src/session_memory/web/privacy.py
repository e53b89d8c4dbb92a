"""What is kept and what leaves it: forgetting with a preview and a proof, pauses, damage, files."""

from __future__ import annotations

from collections.abc import Mapping

from session_memory import audit
from session_memory.core.jobs import state_of
from session_memory.core.pauses import begin, end, is_paused
from session_memory.core.retention.explain import explain_pass
from session_memory.core.schema import Session
from session_memory.errors import Refused
from session_memory.forget.copies import own_copies
from session_memory.forget.plan import ForgetPlan, ForgetRequest, plan_forget
from session_memory.forget.report import ForgetContext
from session_memory.ingest.last_sweep import (
    keep_only_numbers,
    read_last_sweep,
    redacted_so_far,
)
from session_memory.ingest.missing import missing_parts
from session_memory.ingest.pauses import read_pauses, write_pauses
from session_memory.ingest.retention import expected_plan
from session_memory.store.lock import exclusive
from session_memory.store.port import Store
from session_memory.store.unfinished import marked
from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest

_LATEST = 30
_PAUSES = 5
_LEAST_TEXT = 3


def privacy_page(web: WebContext, page_request: PageRequest) -> Page:
    """The store at a glance, and what may be done about it."""
    data = str(web.paths.data)
    with web.reading() as store:
        info, usage = store.info(), store.raw_usage()
        damaged = store.quarantined()
        jobs = [(job, state_of(job, web.clock())) for job in store.jobs.all()]
        missing = missing_parts(store)
        plan = expected_plan(store, web.config.retention, web.clock())
        projects = [project.key for project in store.projects()]
    last = read_last_sweep(web.paths.last_sweep)
    return Page(
        "privacy.html",
        {
            "info": info,
            "usage": usage,
            "retention": web.config.retention,
            "plan": plan,
            "passes": [
                (explain_pass(reason, plan.policy), plan.counts[reason], size)
                for reason, size in plan.sizes.items()
            ],
            "pauses": read_pauses(data)[-_PAUSES:][::-1],
            "damaged": damaged[:_LATEST],
            "damaged_count": len(damaged),
            "paused": is_paused(read_pauses(data), web.clock()),
            "excluded": web.config.sources.exclude_paths,
            "last": last,
            "redactions": redacted_so_far(web.paths.last_sweep),
            "jobs": [(job, state) for job, state in jobs if state != "done"][:_LATEST],
            "missing": missing[:_LATEST],
            "written": audit.read(web.paths.data)[-_LATEST:][::-1],
            "projects": projects,
            "note": page_request.query.get("note", ""),
        },
    )


def pause_capture(web: WebContext, page_request: PageRequest) -> GoTo:
    """Stop capturing, or go on."""
    data = str(web.paths.data)
    pauses, now = read_pauses(data), web.clock()
    stops = page_request.form.get("action") == "pause"
    write_pauses(data, begin(pauses, now) if stops else end(pauses, now))
    return GoTo("/privacy", "Nothing is captured from now on." if stops else "Capture goes on.")


def forget_preview(web: WebContext, page_request: PageRequest) -> Page:
    """What would go; nothing is changed."""
    request = _request(page_request.query)
    with web.reading() as store:
        plan, sessions = _plan(store, request)
    return Page(
        "forget.html",
        {"request": request, "plan": plan, "sessions": sessions[:_LATEST], "count": len(sessions)},
    )


def forget_now(web: WebContext, page_request: PageRequest) -> Page:
    """Forget for good, and prove it."""
    from session_memory.forget import features  # slow to import, and not needed to show the page

    request = _request(page_request.form)
    data = str(web.paths.data)
    with exclusive(f"{data}/sweep.lock", "a sweep"), web.changing() as store:
        plan, sessions = _plan(store, request)
        context = ForgetContext(store, web.paths, web.config.journal.vault, web.clock())
        with marked(data):
            report = features.forget(context, plan, request)
        keep_only_numbers(web.paths.last_sweep)
        left = store.traces(request.text) if request.text else []
        whole = [] if plan.hits else sessions
        remaining = {session.external_id for session in _still_there(store, whole)}
    return Page(
        "forgotten.html",
        {
            "count": len(sessions),
            "events": plan.events,
            "left": [*left, *sorted(remaining)],
            "report": report,
            "copies": own_copies(web.paths.data),
        },
    )


def _request(form: Mapping[str, str]) -> ForgetRequest:
    text = form.get("text", "").strip() or None
    session = form.get("session", "").strip()
    project = form.get("project", "").strip() or None
    if text is None and not session and project is None:
        raise Refused("Say what to forget: a text, a session or a project")
    if text is not None and len(text) < _LEAST_TEXT:
        raise Refused(f"A text needs at least {_LEAST_TEXT} characters")
    return ForgetRequest(sessions=(session,) if session else (), project=project, text=text)


def _plan(store: Store, request: ForgetRequest) -> tuple[ForgetPlan, list[Session]]:
    plan = plan_forget(store, request)
    numbers = sorted({*plan.sessions, *(hit.session_id for hit in plan.hits)})
    return plan, [store.session(number) for number in numbers]


def _still_there(store: Store, sessions: list[Session]) -> list[Session]:
    """Sessions that were to go as a whole and are still found by their own id."""
    return [
        session
        for session in sessions
        if store.own_session(session.external_id, session.flavor) is not None
    ]
