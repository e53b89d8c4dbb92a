"""Exports and imports as a user makes them, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from session_memory.__main__ import main
from session_memory.testing.workspace import Workspace


def run(space: Workspace, *arguments: str) -> tuple[int, str, str]:
    """One command on a workspace's store: exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--config", str(space.write_config()), *arguments])
    sys.stdout.flush()
    return code, out.getvalue(), err.getvalue()


def told(space: Workspace, *arguments: str) -> dict[str, Any]:
    """What a command that must succeed says as JSON."""
    code, out, err = run(space, *arguments, "--json")
    assert (err, code) == ("", 0)
    return json.loads(out)


def export(space: Workspace, name: str = "export", *options: str) -> Path:
    """Export everything of a workspace's store."""
    target = space.root / name
    told(space, "store", "export", str(target), *options)
    return target


def bring(space: Workspace, source: Path) -> dict[str, Any]:
    """Import into a workspace's store."""
    return told(space, "store", "import", str(source))
