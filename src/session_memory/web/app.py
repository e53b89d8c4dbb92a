"""The application: addresses, and the pages behind them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from session_memory.errors import NotFound, SessionMemoryError, StoreMissing, as_disk_trouble
from session_memory.store.failures import as_store_error
from session_memory.web.access import Access
from session_memory.web.context import WebContext
from session_memory.web.effect import effect_page
from session_memory.web.guard import FORM_TOKEN, Guard, Place
from session_memory.web.home import home
from session_memory.web.html import environment, render
from session_memory.web.memory import memory_list, memory_page
from session_memory.web.page import Asked, Download, GoTo, Handler, Made, Page
from session_memory.web.privacy import (
    forget_now,
    forget_preview,
    pause_capture,
    privacy_page,
)
from session_memory.web.rules import (
    add_own_rule,
    decide_on_rule,
    distribute_rules,
    rule_page,
    rules_page,
    undo_decision,
    withdraw_rules,
)
from session_memory.web.search import search_page
from session_memory.web.session import diff_page, event_page, session_markdown, session_page
from session_memory.web.session_list import sessions_page
from session_memory.web.usage import usage_csv, usage_page

PAGES: dict[str, Handler] = {
    "/": home,
    "/sessions": sessions_page,
    "/sessions/{session}.md": session_markdown,
    "/sessions/{session}": session_page,
    "/sessions/{session}/diff": diff_page,
    "/sessions/{session}/events/{event}": event_page,
    "/search": search_page,
    "/rules": rules_page,
    "/rules/{rule}": rule_page,
    "/memory": memory_list,
    "/memory/{project}": memory_page,
    "/privacy": privacy_page,
    "/forget": forget_preview,
    "/effect": effect_page,
    "/usage": usage_page,
    "/usage.csv": usage_csv,
}
"""What is shown."""
DECISIONS: dict[str, Handler] = {
    "/forget": forget_now,
    "/privacy/pause": pause_capture,
    "/rules/add": add_own_rule,
    "/rules/undo": undo_decision,
    "/rules/distribute": distribute_rules,
    "/rules/withdraw": withdraw_rules,
    "/rules/{rule}/decide": decide_on_rule,
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
    context: WebContext, access: Access, place: Place, note_use: Callable[[], None]
) -> ASGIApp:
    """Every page behind the guard."""
    templates = environment()
    routes = [
        Route(path, _endpoint(context, access, templates, handler), methods=["GET"])
        for path, handler in PAGES.items()
    ]
    routes += [
        Route(path, _endpoint(context, access, templates, handler), methods=["POST"])
        for path, handler in DECISIONS.items()
    ]
    static = StaticFiles(packages=[("session_memory.web", "static")])
    pages = Starlette(
        routes=[*routes, Mount("/static", static)],
        exception_handlers={404: lambda _request, _error: _plain(404, "There is no such page.\n")},
    )
    return Guard(pages, access=access, place=place, note_use=note_use)


def _endpoint(
    context: WebContext, access: Access, templates: Environment, handler: Handler
) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        asked = Asked(request.path_params, dict(request.query_params), request.scope["form"])
        page = _made(handler, context, asked)
        if isinstance(page, GoTo):
            note = f"?{urlencode({'note': page.note})}" if page.note else ""
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


def _made(handler: Handler, context: WebContext, asked: Asked) -> Made:
    """The page, or one that says what is wrong: never a traceback."""
    try:
        return handler(context, asked)
    except StoreMissing:
        return Page("first_run.html")
    except NotFound as error:
        return _trouble(404, error)
    except SessionMemoryError as error:
        return _trouble(500, error)
    except Exception as error:  # noqa: BLE001 - one page that fails leaves the others
        known = as_store_error(error) or as_disk_trouble(error)
        return _trouble(500, known or SessionMemoryError(f"unexpected {type(error).__name__}"))


def _trouble(status: int, error: SessionMemoryError) -> Page:
    return Page("trouble.html", {"message": error.message, "hint": error.hint or ""}, status)


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(text, status)
