"""The genuine clients: npm packages, installed once into a cache folder, and their versions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "clients"
NODE = "node22"
PACKAGES = {
    NODE: "node@22",
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "grok": "@xai-official/grok",
    "gemini": "@google/gemini-cli",
    "qwen": "@qwen-code/qwen-code",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
    "pi": "@mariozechner/pi-coding-agent",
}
"""One prefix for each: their dependencies must not meet."""


def programs(cache: Path, name: str) -> Path:
    """Where npm puts the executables of one package."""
    return cache / name / "node_modules" / ".bin"


def search_path(cache: Path) -> str:
    """A PATH with node 22 first: under an older node npm silently takes older releases."""
    return os.pathsep.join((str(programs(cache, NODE)), "/usr/local/bin", "/usr/bin", "/bin"))


def install(cache: Path, names: tuple[str, ...]) -> None:
    """Install what is not there yet; the only step that needs a network."""
    for name in (NODE, *names):
        if programs(cache, name).is_dir():
            continue
        package = PACKAGES[name]
        wanted = package if name == NODE else f"{package}@latest"
        path = os.pathsep.join((str(programs(cache, NODE)), os.environ.get("PATH", "")))
        environ = {**os.environ, "PATH": path, "npm_config_cache": str(cache / "npm")}
        flags = ["--no-audit", "--no-fund", "--prefix", str(cache / name)]
        subprocess.run(["npm", "install", *flags, wanted], env=environ, check=True)


def version(cache: Path, name: str) -> str:
    """The version that is installed."""
    manifest = cache / name / "node_modules" / PACKAGES[name] / "package.json"
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
