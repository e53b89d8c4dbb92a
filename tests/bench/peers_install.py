"""The two programs we compare with, pinned, in a private place: nothing global is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bench.child import REPOSITORY

PLACE = REPOSITORY / ".cache" / "peers"
CCUSAGE_VERSION = "20.0.24"
AGENTSVIEW_VERSION = "0.46.1"
INSTALL_SECONDS = 300
BIN = "Scripts" if os.name == "nt" else "bin"

CCUSAGE = PLACE / "npm" / "node_modules" / ".bin" / "ccusage"
AGENTSVIEW = PLACE / "venv" / BIN / "agentsview"


def ccusage() -> Path:
    """The ccusage command, installed at the first use."""
    arguments = ["--cache", str(PLACE / "npm-cache"), "--no-audit", "--no-fund"]
    package = f"ccusage@{CCUSAGE_VERSION}"
    install = ["npm", "install", "--prefix", str(PLACE / "npm"), *arguments, package]
    return _made(CCUSAGE, CCUSAGE_VERSION, [install])


def agentsview() -> Path:
    """The agentsview command, installed at the first use."""
    venv = PLACE / "venv"
    make = [sys.executable, "-m", "venv", str(venv)]
    pip = [str(venv / BIN / "python"), "-m", "pip", "install", "--quiet"]
    package = f"agentsview=={AGENTSVIEW_VERSION}"
    return _made(AGENTSVIEW, AGENTSVIEW_VERSION, [make, [*pip, package]])


def _made(command: Path, version: str, steps: list[list[str]]) -> Path:
    """Run the steps once a version; a step that fails says why and leaves no mark."""
    mark = PLACE / f"{command.name}-{version}"
    if mark.exists() and command.exists():
        return command
    home = PLACE / "home"
    home.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "USERPROFILE": str(home)}
    for step in steps:
        try:
            subprocess.run(
                step, env=environment, capture_output=True, check=True, timeout=INSTALL_SECONDS
            )
        except subprocess.CalledProcessError as error:
            complaint = error.stderr.decode("utf-8", "replace")[-800:]
            raise OSError(f"{' '.join(step[:3])}: {error.returncode}: {complaint}") from error
    mark.touch()
    return command
