"""A real browser on the page, with its errors and requests noted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.web.served import Served

QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def program() -> str:
    """Where Chromium is; the test is skipped where there is none, but not in CI."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    if os.environ.get("CI"):
        pytest.fail("CI needs a browser: run `make test-tools`")
    pytest.skip("no Chromium here: `make test-tools` installs it")


class Watched:
    """A page whose errors and requests are noted."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.base = f"http://{served.host}"
        self.errors: list[str] = []
        self.foreign: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("request", self._note)
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def _note(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith((f"{self.base}/", "data:")):
            self.foreign.append(url)

    def goto(self, path: str) -> None:
        """Open a screen, which must be there."""
        answer = self.page.goto(self.base + path)
        assert answer is not None and answer.status == 200, (path, answer and answer.status)


def watching(browser: Browser, served: Served, *, script: bool = True) -> Iterator[Watched]:
    """A fresh window that opened the printed link."""
    page = browser.new_page(viewport={"width": 1600, "height": 900}, java_script_enabled=script)
    watched = Watched(page, served)
    page.goto(served.link)
    yield watched
    page.close()
