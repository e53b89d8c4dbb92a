"""`web` without its packages."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.test_terminal_small_answers import space

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_the_page_without_its_packages_says_how_to_install_them(space: Workspace) -> None:
    missing = space.root / "missing"
    missing.mkdir()
    (missing / "starlette.py").write_text("raise ImportError('gone', name='starlette')\n")
    line = [sys.executable, "-m", "session_memory", "web", "--no-browser"]
    environ = {**space.environ(), "PYTHONPATH": str(missing)}
    done = subprocess.run(line, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "pip install '.[web]'" in done.stderr and "make web" in done.stderr
