"""Pictures of the local page, made from our own sample sessions: `make screenshots`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.web.served import serving  # noqa: E402

from session_memory.testing.samples import bug_fix, write_samples  # noqa: E402
from session_memory.testing.workspace import Workspace  # noqa: E402

IMAGES = ROOT / "docs" / "images"
OTHERS = ROOT / ".cache" / "screenshots"
IN_DOCS = ("search", "session", "rules")
SCREENS = {
    "home": "/",
    "sessions": "/sessions",
    "session": "/sessions/{fix}",
    "edits": "/sessions/{fix}/diff",
    "search": "/search?q=ModuleNotFoundError%3A+No+module+named+%27shop%27",
    "rules": "/rules",
    "effect": "/effect",
    "memory": "/memory/shop",
    "usage": "/usage?days=",
    "privacy": "/privacy",
    "health": "/health/check",
}


def folder_of(name: str) -> Path:
    """What documents show is kept; the rest is for looking at."""
    return IMAGES if name in IN_DOCS else OTHERS


def main() -> int:
    """Take every screen, light and dark."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("no Chromium here: `make test-tools` installs it")
    IMAGES.mkdir(exist_ok=True)
    OTHERS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        space = Workspace(Path(folder))
        write_samples(space.claude)
        space.run("--config", str(space.write_config()), "sweep")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with space.store() as store:
            shown = store.own_session(bug_fix().session_id)
            fix = shown.id if shown else 1
        with serving(space) as served:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(served.link)
            for name, path in SCREENS.items():
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    page.goto(f"http://{served.host}{path.format(fix=fix)}")
                    page.screenshot(path=folder_of(name) / f"{name}-{scheme}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
