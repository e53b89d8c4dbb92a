"""Makes the virtual environment of this repository from a hashed lock, with the package in it.

    python3 scripts/make_environment.py .venv requirements/run.txt

The pip of the Python that runs this installs into the environment where it can (22.3 or later):
putting a pip of its own into a new environment takes longer than all the rest.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

OLDEST = (3, 11)


def can_install_elsewhere() -> bool:
    """Whether the pip of this Python knows `--python`."""
    try:
        major, minor = metadata.version("pip").split(".")[:2]
        return (int(major), int(minor)) >= (22, 3)
    except (metadata.PackageNotFoundError, ValueError):
        return False


def main(folder: str, lock: str) -> int:
    """Make or update the environment; returns the exit code."""
    if sys.version_info < OLDEST:
        print("Python 3.11 or newer is needed: make PYTHON=python3.11", file=sys.stderr)
        return 1
    python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    outside = can_install_elsewhere()
    if not python.exists():
        venv.create(folder, with_pip=not outside, symlinks=sys.platform != "win32")
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    pip = [*(pip if outside else [str(python), "-m", "pip"]), "install"]
    pip += ["--quiet", "--disable-pip-version-check"]
    for what in (
        ["--require-hashes", "-r", lock],
        ["--no-deps", "--no-build-isolation", "-e", "."],
    ):
        done = subprocess.run([*pip, *what], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
