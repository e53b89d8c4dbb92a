"""One sweep over the agent logs of this machine, or over samples where there are none."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from session_memory.adapters.registry import adapters
from session_memory.cli.app import App
from session_memory.errors import EXIT_OK, EXIT_WARNINGS
from session_memory.ingest.discover import discover, log_folders
from session_memory.testing.samples import write_samples

SHOWN = 8


def find_logs(app: App) -> tuple[bool, list[str]]:
    """Whether any agent left logs here, and where was looked."""
    sources = app.config.sources
    looked = log_folders(adapters(), sources, app.environ, str(Path.home()))
    found = any(True for folders in looked for _ in discover(folders, sources.exclude_paths))
    return found, [path for place in looked for path in place.looked_in]


def sweep_and_show(environ: Mapping[str, str]) -> int:
    """Run `sweep`, then `status`; warnings of the sweep are shown and do not fail the run."""
    program = [sys.executable, "-m", "session_memory"]
    for verb in ("sweep", "status"):
        print(f"\n$ session-memory {verb}", flush=True)
        code = subprocess.run([*program, verb], env=environ, check=False).returncode
        if code not in (EXIT_OK, EXIT_WARNINGS):
            return code
    return EXIT_OK


def on_samples(environ: Mapping[str, str]) -> int:
    """The same on sample sessions, in a home and a store that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="session-memory-") as folder:
        root = Path(folder)
        write_samples(root / "claude")
        (root / "home").mkdir()
        # Neither this machine's settings nor its agents' homes have a say about the samples.
        homes = {adapter.env for adapter in adapters().values()}
        clean = {
            name: value
            for name, value in environ.items()
            if name not in homes and not name.startswith("SESSION_MEMORY_")
        }
        return sweep_and_show(
            {
                **clean,
                "HOME": str(root / "home"),
                "USERPROFILE": str(root / "home"),
                "CLAUDE_CONFIG_DIR": str(root / "claude"),
                "SESSION_MEMORY_HOME": str(root / "memory"),
            }
        )


def main() -> int:
    """Sweep what is here; where nothing is, say so and show the samples."""
    app = App()
    found, looked_in = find_logs(app)
    if found:
        return sweep_and_show(app.environ)
    print("No agent logs found. Looked in:")
    print("\n".join(f"  {path}" for path in looked_in[:SHOWN]))
    if len(looked_in) > SHOWN:
        print(f"  and {len(looked_in) - SHOWN} more: `session-memory config agents --json`")
    print("Showing sample sessions instead, in a store that is thrown away afterwards.")
    return on_samples(app.environ)


if __name__ == "__main__":
    sys.exit(main())
