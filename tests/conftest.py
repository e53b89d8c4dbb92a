"""Fences every test off from the real home directory and offers the shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

AGENT_VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GROK_HOME",
    "GEMINI_CLI_HOME",
    "QWEN_HOME",
    "COPILOT_HOME",
    "OPENCODE_DATA_DIR",
    "PI_HOME",
    "SESSION_MEMORY_HOME",
    "SESSION_MEMORY_CONFIG",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
)
REAL_HOME = os.path.realpath(os.path.expanduser("~"))
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for every test; nothing may resolve to the developer's own."""
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name in AGENT_VARIABLES or name.startswith("SESSION_MEMORY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("SESSION_MEMORY_HOME", str(tmp_path / "memory"))
    assert os.path.realpath(os.path.expanduser("~")) != REAL_HOME
    return home


@pytest.fixture
def shared() -> Path:
    """The genuine logs beside the repository; absent on a user's machine."""
    if not SHARED.is_dir():
        pytest.skip("genuine logs (../shared) are not here")
    return SHARED
