"""One sweep over the agent logs of this machine, or over samples where there are none."""

from __future__ import annotations

import shlex
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
    print("\nThe local page in your browser: make web")
    return EXIT_OK


def on_samples(environ: Mapping[str, str]) -> int:
    """The same on sample sessions, in a home and a store that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="session-memory-") as folder:
        return sweep_and_show(sample_environment(Path(folder), environ))


def on_kept_samples(root: Path, environ: Mapping[str, str]) -> int:
    """The same in a folder that stays, and how to go on in it."""
    code = sweep_and_show(sample_environment(root, environ))
    program = Path(sys.executable).with_name("session-memory")
    places = {"SESSION_MEMORY_HOME": root / "memory", "CLAUDE_CONFIG_DIR": root / "claude"}
    print("\nThe samples are kept. To type along, set these first:")
    for name, place in places.items():
        print(f"  export {name}={shlex.quote(str(place))}")
    print(f"  alias session-memory={shlex.quote(str(program))}")
    return code


def sample_environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Write the samples into a folder; the environment in which only they are found."""
    write_samples(root / "claude")
    (root / "home").mkdir(exist_ok=True)
    # Neither this machine's settings nor its agents' homes have a say about the samples.
    homes = {adapter.env for adapter in adapters().values()}
    clean = {
        name: value
        for name, value in environ.items()
        if name not in homes and not name.startswith("SESSION_MEMORY_")
    }
    return {
        **clean,
        "HOME": str(root / "home"),
        "USERPROFILE": str(root / "home"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"),
        "SESSION_MEMORY_HOME": str(root / "memory"),
    }


def main(keep: str | None = None) -> int:
    """Sweep what is here, or samples: where nothing is, and in `keep`, a folder that stays."""
    app = App()
    if keep:
        return on_kept_samples(Path(keep).absolute(), app.environ)
    found, looked_in = find_logs(app)
    if found:
        return sweep_and_show(app.environ)
    print("No agent logs found. Looked in:")
    print("\n".join(f"  {path}" for path in looked_in[:SHOWN]))
    if len(looked_in) > SHOWN:
        print(f"  and {len(looked_in) - SHOWN} more: `session-memory config agents --json`")
    print("Showing sample sessions instead, in a store that is thrown away afterwards")
    print("(`make run KEEP=DIR` keeps them in DIR, to type along).")
    return on_samples(app.environ)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
