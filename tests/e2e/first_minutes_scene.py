"""A desk with two agents and three projects, for the first five minutes of a new user."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.claude.log_builder import tokens as claude_tokens
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.codex.log_builder import tokens as codex_tokens

DAY = 24 * 3_600_000
NOW = START + 9 * DAY + 8 * 3_600_000
NO_MODULE = (
    "ImportError while loading conftest 'tests/conftest.py'.\n"
    "E   ModuleNotFoundError: No module named 'shop'"
)
TASKS = (
    (
        "The discount is taken off twice in the cart. Find out why and fix it.",
        "Fix double discount in cart total",
    ),
    (
        "Move price formatting out of the templates into one function.",
        "Move price formatting out of the templates and into one function of money.py",
    ),
    (
        "Orders placed at midnight land on the wrong day.",
        "Orders at midnight are booked on the wrong day",
    ),
    ("Make the import of supplier lists resumable.", "Resumable import of supplier lists"),
    (
        "The receipt shows 0.30000000000000004.",
        "Receipt totals are rounded with Decimal, not with float, and say so in the test",
    ),
)
CLOCK = """
import os, time
if os.environ.get("FIXED_CLOCK_MS"):
    now = int(os.environ["FIXED_CLOCK_MS"]) * 1_000_000
    time.time_ns = lambda: now
    time.time = lambda: now / 1e9
"""


class Desk:
    """Everything below one folder whose path is always equally long, so that screens are alike."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.shop, self.site = self.home / "shop", self.home / "site"
        self.program = root / "venv/bin/session-memory"
        for place in (self.shop, self.site):
            (place / ".git").mkdir(parents=True)
        (self.home / ".claude").mkdir()
        (self.home / ".codex").mkdir()
        _make_environment(root / "venv", self.program)
        self._write_logs()

    def environ(self) -> dict[str, str]:
        """No variable of the machine that runs the test, and no agent that is installed there."""
        return {
            "PATH": f"{self.program.parent}:/usr/bin:/bin",
            "HOME": str(self.home),
            "USER": "ada",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PAGER": "cat",
            "SESSION_MEMORY_HOME": str(self.root / "mem"),
            "FIXED_CLOCK_MS": str(NOW),
        }

    def _write_logs(self) -> None:
        for number, (asked, title) in enumerate(TASKS):
            self._claude(number, asked, title)
        for number in range(2):
            self._codex(number)
        log = ClaudeLog(60, cwd=str(self.site), start=NOW - 3 * 3_600_000)
        log.prompt("Which pages still use the old checkout script?")
        log.run("grep -rln checkout-v1.js pages", "pages/gift.html\npages/basket.html")
        log.say("pages/gift.html and pages/basket.html.", claude_tokens(20, 90, read=8_000))
        log.title("Find pages with the old checkout script")
        log.write(self.home / ".claude")
        for path in self.home.rglob("*.jsonl"):
            os.utime(path, (NOW / 1000, NOW / 1000))

    def _claude(self, number: int, asked: str, title: str) -> None:
        log = ClaudeLog(50 + number, cwd=str(self.shop), start=START + number * DAY)
        log.prompt(asked)
        log.run("pytest -q", NO_MODULE, exit_code=4)
        log.run("PYTHONPATH=src pytest -q", "48 passed in 2.10s")
        log.edit(f"{self.shop}/src/shop/money.py", "", "def total(prices): ...")
        if number % 2 == 0:
            log.prompt("Never push by yourself, I review first.")
        log.run("PYTHONPATH=src pytest -q", "49 passed in 2.13s")
        log.say("Done, and all tests pass.", claude_tokens(400, 2_100, read=90_000 * (number + 1)))
        log.title(title)
        log.write(self.home / ".claude")

    def _codex(self, number: int) -> None:
        log = CodexLog(70 + number, cwd=str(self.shop), at=START + (6 + number) * DAY)
        log.header().turn().prompt("Add a test for the empty cart." if number else "Tidy the cart.")
        log.run("pytest -q", NO_MODULE, 4).run("PYTHONPATH=src pytest -q", "50 passed in 2.2s")
        log.answer("All tests pass.").spend(codex_tokens(30_000, 12_000, 800))
        log.write(self.home / ".codex")


def _make_environment(folder: Path, program: Path) -> None:
    """A Python of its own whose path is short, with the packages of the one that runs the test."""
    packages = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    packages.mkdir(parents=True)
    program.parent.mkdir()
    python = program.with_name("python")
    python.symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(
        f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n"
    )
    theirs = sysconfig.get_paths()["purelib"]
    (packages / "all.pth").write_text(f"import site; site.addsitedir({theirs!r})\n")
    (packages / "sitecustomize.py").write_text(CLOCK)
    program.write_text(
        f"#!{python}\nimport sys\nfrom session_memory.__main__ import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
