"""The application: addresses, and the pages behind them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NoReturn
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from session_memory.errors import (
    NotFound,
    Refused,
    SessionMemoryError,
    StoreMissing,
    UsageError,
    as_disk_trouble,
)
from session_memory.store.failures import as_store_error
from session_memory.web.access import Access
from session_memory.web.context import WebContext
from session_memory.web.guard import FORM_TOKEN, Guard, ServerAddress
from session_memory.web.html import environment, render
from session_memory.web.page import Download, GoTo, Handler, Made, Page, PageRequest
from session_memory.web.warm_up import WarmUp

PAGES: dict[str, str] = {
    "/": "home.home",
    "/sessions": "session_list.sessions_page",
    "/sessions/{session}.md": "session.session_markdown",
    "/sessions/{session}.jsonl": "session.session_lines",
    "/sessions/{session}": "session.session_page",
    "/sessions/{session}/diff": "session.diff_page",
    "/sessions/{session}/events/{event}.md": "session.event_markdown",
    "/sessions/{session}/events/{event}": "session.event_page",
    "/search": "search.search_page",
    "/rules": "rules.rules_page",
    "/rules/detected": "rules.detected_page",
    "/rules/{rule}": "rules.rule_page",
    "/memory": "memory.memory_list",
    "/memory/{project}": "memory.memory_page",
    "/memory/{project}/files": "native_memory.audit_page",
    "/privacy": "privacy.privacy_page",
    "/health": "health.health_page",
    "/health/check": "health.checked_page",
    "/health/brief": "health.brief_page",
    "/forget": "privacy.forget_preview",
    "/effect": "effect.effect_page",
    "/usage": "usage.usage_page",
    "/usage.csv": "usage.usage_csv",
}
"""What is shown: address to module and function of this package."""
DECISIONS: dict[str, str] = {
    "/forget": "privacy.forget_now",
    "/privacy/pause": "privacy.pause_capture",
    "/search/save": "search.keep_search",
    "/search/drop": "search.forget_search",
    "/rules/add": "rules.add_own_rule",
    "/health": "health.check_again",
    "/memory/{project}/line": "memory.decide_on_line",
    "/memory/{project}/fix": "native_memory.decide_on_fix",
    "/notes/{note}/decide": "notes.decide_on_note",
    "/rules/undo": "rules.undo_decision",
    "/rules/detect": "rules.detect_rules",
    "/rules/distribute": "rules.distribute_rules",
    "/rules/withdraw": "rules.withdraw_rules",
    "/rules/{rule}/decide": "rules.decide_on_rule",
}
"""What a form of a page may change."""
MENU = (
    ("/", "Home"),
    ("/sessions", "Sessions"),
    ("/search", "Search"),
    ("/rules", "Rules"),
    ("/effect", "Effect"),
    ("/memory", "Memory"),
    ("/usage", "Usage"),
    ("/privacy", "Privacy"),
)


def make_app(
    context: WebContext, access: Access, address: ServerAddress, note_use: Callable[[], None]
) -> ASGIApp:
    """Every page behind the guard."""
    templates = environment(context.paths.cache / "templates")
    warm_up = WarmUp([name.partition(".")[0] for name in PAGES.values()], templates)

    def endpoint(handler: Handler) -> Callable[[Request], Response]:
        answer = _endpoint(context, access, templates, handler)

        def answer_first(request: Request) -> Response:
            with warm_up.held():
                response = answer(request)
            if warm_up.is_due and response.status_code == 200:  # a redirect is not yet a page
                response.background = BackgroundTask(warm_up.run)
            return response

        return answer_first

    routes = [
        Route(path, endpoint(_handler(name)), methods=["GET"]) for path, name in PAGES.items()
    ]
    routes += [
        Route(path, endpoint(_refuse if context.is_hub else _handler(name)), methods=["POST"])
        for path, name in DECISIONS.items()
    ]
    static = StaticFiles(packages=[("session_memory.web", "static")])
    pages = Starlette(
        routes=[*routes, Mount("/static", static)],
        exception_handlers={
            404: lambda _request, _error: PlainTextResponse("There is no such page.\n", 404)
        },
    )
    return Guard(pages, access=access, address=address, note_use=note_use)


def _refuse(_context: WebContext, _request: PageRequest) -> NoReturn:
    """The answer to every form when the page shows a hub: nothing can be changed in a copy."""
    raise Refused(
        "this page shows a hub, where nothing can be decided",
        hint="open your own with `session-memory web`; what you push is what changes on the hub",
    )


def _handler(name: str) -> Handler:
    """The page's function; its module is imported when first opened, so that start is quick."""
    module, _, function = name.partition(".")

    def handle(context: WebContext, page_request: PageRequest) -> Made:
        return getattr(import_module(f"session_memory.web.{module}"), function)(
            context, page_request
        )

    return handle


def _endpoint(
    context: WebContext, access: Access, templates: Environment, handler: Handler
) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        page_request = PageRequest(
            request.path_params, dict(request.query_params), request.scope["form"]
        )
        page = _made(handler, context, page_request)
        if isinstance(page, GoTo):
            joint = "&" if "?" in page.path else "?"
            note = f"{joint}{urlencode({'note': page.note})}" if page.note else ""
            return RedirectResponse(page.path + note, 303)
        if isinstance(page, Download):
            attached = {"content-disposition": f'attachment; filename="{page.name}"'}
            return Response(page.text, media_type=page.type, headers=attached)
        shared = {
            "menu": MENU,
            "here": request.url.path,
            "part": request.headers.get("x-part") == "results",
            "token_name": FORM_TOKEN,
            "token": access.form_token,
        }
        return HTMLResponse(render(templates, page, shared), page.status)

    return answer


def _made(handler: Handler, context: WebContext, page_request: PageRequest) -> Made:
    """The page, or one that says what is wrong: never a traceback."""
    try:
        return handler(context, page_request)
    except StoreMissing:
        return Page("first_run.html", {"steps": context.front_end.plan_init()})
    except NotFound as error:
        return _trouble(404, error)
    except (UsageError, Refused) as error:
        return _trouble(400, error)
    except SessionMemoryError as error:
        return _trouble(500, error)
    except Exception as error:  # noqa: BLE001 - one page that fails leaves the others
        translated = as_store_error(error) or as_disk_trouble(error)
        return _trouble(500, translated or SessionMemoryError(f"unexpected {type(error).__name__}"))


def _trouble(status: int, error: SessionMemoryError) -> Page:
    return Page("trouble.html", {"message": error.message, "hint": error.hint or ""}, status)
