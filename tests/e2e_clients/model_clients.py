"""`make model-clients`: genuine `claude -p` and `codex exec` as providers, with loopback only.

The clients are installed by npm into .cache/clients (with node 22), then run in a network namespace
that holds nothing but loopback, against the scripted model of the shared clients folder, with a
temporary home and dummy keys. Prints one JSON line for each call; exit 1 when a promise is broken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from session_memory import settings
from session_memory.model.cli_agent import open_agent
from session_memory.model.port import Request

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "clients"
CLIENTS = ROOT / ".cache" / "clients"
PACKAGES = {
    "node22": "node@22",
    "claude": "@anthropic-ai/claude-code@latest",
    "codex": "@openai/codex@latest",
}
CODEX_CONFIG = """
model = "gpt-5.1-codex"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{base}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
supports_websockets = false
"""
HARMLESS = {"request_user_input"}
"""Codex offers this one always; without a terminal it can do nothing."""


def install() -> str:
    """Put the clients into the cache, once; returns the PATH that finds them."""
    folders = [str(CLIENTS / name / "node_modules" / ".bin") for name in PACKAGES]
    path = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    for name, package in PACKAGES.items():
        if not (CLIENTS / name / "node_modules" / ".bin").is_dir():
            env = {**os.environ, "PATH": path, "npm_config_cache": str(CLIENTS / "npm")}
            command = ["npm", "install", "--prefix", str(CLIENTS / name), package]
            subprocess.run(command, env=env, check=True)
    return path


def try_provider(provider: str, environ: dict[str, str], log: Path, folder: str | None) -> bool:
    """One call; says what came back and what the client sent, and whether that is as promised."""
    before = len(log.read_text().splitlines()) if log.exists() else 0
    model = open_agent(settings.Model(provider=provider), environ)
    user = f"[[fake:hello cwd={folder}]] hello"
    answer = model.ask(Request("e2e", "Be terse.", user, folder=folder, timeout_s=120))
    sent = [json.loads(line) for line in log.read_text().splitlines()[before:]]
    tools = {_name(tool) for request in sent for tool in _body(request).get("tools") or ()}
    home = Path(environ["HOME"])
    kept = [str(path.relative_to(home)) for path in home.rglob("*.jsonl")]
    good = "scripted model" in answer.text and answer.usage.output_tokens > 0 and not kept
    good = good and (folder is not None or tools <= HARMLESS)
    told: dict[str, Any] = {
        "provider": provider,
        "folder": folder is not None,
        "ok": good,
        "text": answer.text,
        "model": answer.model,
        "requests": len(sent),
        "tools": sorted(tools),
        "sessions_kept": kept,
    }
    print(json.dumps(told), flush=True)
    return good


def _body(request: dict[str, Any]) -> dict[str, Any]:
    return request.get("body") or {}


def _name(tool: dict[str, Any]) -> str:
    return str(tool.get("name") or tool.get("type"))


def inside(path: str) -> int:
    """Everything that runs without a network."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    sys.path.insert(0, str(SHARED))
    sys.dont_write_bytecode = True
    import fake_model  # pyright: ignore

    # Not under the system's temporary folder: Codex declines to put its helpers there.
    with tempfile.TemporaryDirectory(dir=ROOT / ".cache") as root:
        log = Path(root) / "model.jsonl"
        server, port = fake_model.serve(0, str(log))  # pyright: ignore
        base = f"http://127.0.0.1:{port}"
        home, work = Path(root) / "home", Path(root) / "work"
        (home / ".codex").mkdir(parents=True)
        work.mkdir()
        (home / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(base=base))
        environ = {"PATH": path, "HOME": str(home), "FAKE_KEY": "dummy"}
        environ |= {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "dummy"}
        results = [
            try_provider(provider, environ, log, folder)
            for provider in ("claude_cli", "codex_cli")
            for folder in (None, str(work))
        ]
        server.shutdown()  # pyright: ignore
    return 0 if all(results) else 1


def main() -> int:
    """Install with the network, then run without it."""
    if not SHARED.is_dir():
        print("the scripted model of the shared clients folder is not here", file=sys.stderr)
        return 1
    if "--inside" in sys.argv:
        return inside(os.environ["PATH"])
    environ = {**os.environ, "PATH": install()}
    flags = ["-n"] if os.geteuid() == 0 else ["-r", "-n"]
    command = ["unshare", *flags, sys.executable, "-m", "tests.e2e_clients.model_clients"]
    return subprocess.run([*command, "--inside"], cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
