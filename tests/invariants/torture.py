"""Runs this folder at its large size, unattended, and reports what was tried and what failed.

    python -m tests.invariants.torture [pytest arguments]

The report goes to the terminal and to .cache/torture/last.json. With `--lf` only what failed last
time is tried again, and the figures of the rest stay.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.invariants.sizes import LARGE

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache" / "torture"
MEMORY_DISK = Path("/dev/shm")
"""Kills and injected faults do not need a disk to be slow; the full disks bring their own."""


def run(arguments: list[str], parts: Path) -> tuple[int, str]:
    """All tests, two at a time; returns pytest's exit code and its last lines."""
    base = tempfile.mkdtemp(prefix="torture-", dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None)
    variables = {"SESSION_MEMORY_TORTURE": "large", "SESSION_MEMORY_TORTURE_REPORT": str(parts)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 2)]
    command += ["--dist", "worksteal", "--basetemp", f"{base}/t", str(Path(__file__).parent)]
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=REPOSITORY,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return done.returncode, done.stdout


def line(part: dict[str, Any]) -> str:
    figures = ", ".join(f"{name} {value}" for name, value in part.items() if name != "name")
    return f"{part['name']}: {figures}"


def main(arguments: list[str]) -> int:
    parts = CACHE / "parts"
    if "--lf" not in arguments:
        shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True, exist_ok=True)
    started = time.time()
    code, output = run(arguments, parts)
    found = [json.loads(path.read_text()) for path in sorted(parts.glob("*.json"))]
    report = {
        "exit_code": code,
        "minutes": round((time.time() - started) / 60, 1),
        "python": sys.version.split()[0],
        "seed": int(os.environ.get("SESSION_MEMORY_SEED", LARGE.seed)),
        "kills": sum(part.get("kills", 0) for part in found),
        "mutants": sum(part.get("mutants", 0) for part in found),
        "disk_faults": sum(part.get("faults", 0) for part in found),
        "damaged_pages": sum(part.get("pages", 0) for part in found),
        "power_cuts": sum(part.get("power_cuts", 0) for part in found),
        "full_disks": sum(part.get("disks", 0) for part in found),
        "problems": sum(part.get("problems", 0) for part in found),
        "parts": found,
    }
    (CACHE / "last.json").write_text(json.dumps(report, indent=2) + "\n")
    print("\n".join(line(part) for part in found))
    print(output[-6000:] if code else output.strip().splitlines()[-1])
    print(line({"name": "torture", **{k: v for k, v in report.items() if k != "parts"}}))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
