"""Writes the hashed lock files in requirements/ from what pyproject.toml asks for."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
PIP_TOOLS = "pip-tools>=7.5"
HEADER = (
    "# Made by `make lock` from pyproject.toml; do not edit.\n"
    "# Resolved on Python 3.11, the oldest supported one, for 3.11 to 3.14.\n"
)
# A lock is read on other machines: it names no index, no folder and no path of this one.
QUIET = (
    "--generate-hashes",
    "--allow-unsafe",
    "--strip-extras",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--no-emit-trusted-host",
    "--no-emit-find-links",
    "--no-emit-options",
    "--quiet",
)


def wanted() -> dict[str, list[str]]:
    """Requirements per lock file; each lock holds everything the one before it holds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    base: list[str] = project["project"]["dependencies"]
    groups: dict[str, list[str]] = project["dependency-groups"]
    run = [*base, *groups["build"]]
    return {"base": base, "run": run, "dev": [*run, *groups["dev"]]}


def make_tool(folder: Path) -> Path:
    """pip-compile in an environment of its own, so that it never shows up in a lock."""
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = (scripts / "python", "-m", "pip", "install", "--quiet", PIP_TOOLS)
    subprocess.run([str(part) for part in pip], check=True)
    return scripts / "pip-compile"


def compile_lock(tool: Path, name: str, requirements: list[str], upgrade: bool) -> None:
    """Resolve one lock next to its predecessor, keeping today's pins unless asked to upgrade."""
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch) / f"{name}.in", Path(scratch) / f"{name}.txt"
        lines = list(requirements)
        if name != "base":  # the two locks may not disagree about a version
            shutil.copy(LOCKS / "base.txt", scratch)
            lines.append("-c base.txt")
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        target = LOCKS / f"{name}.txt"
        if target.exists():
            shutil.copy(target, result)
        options = [*QUIET, "--output-file", result.name, *(["--upgrade"] if upgrade else [])]
        subprocess.run([str(tool), *options, source.name], cwd=scratch, check=True)
        body = result.read_text(encoding="utf-8").removeprefix(HEADER)
        target.write_text(HEADER + body, encoding="utf-8")


def main() -> int:
    """Make every lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    options = parser.parse_args()
    if sys.version_info[:2] != (3, 11):
        print("lock with Python 3.11: newer ones leave out what 3.11 needs", file=sys.stderr)
        return 2
    LOCKS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tool = make_tool(Path(scratch) / "venv")
        for name, requirements in wanted().items():
            compile_lock(tool, name, requirements, options.upgrade)
            print(f"wrote requirements/{name}.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
