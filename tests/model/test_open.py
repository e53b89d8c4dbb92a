"""From the configuration to a model: none by default, and clear words for what is missing."""

from __future__ import annotations

import sys

import pytest
from tests.model.meters import NOW

from session_memory import settings
from session_memory.errors import ModelUnavailable
from session_memory.model.open import caps_of, open_model
from session_memory.store.port import Store


def test_no_model_is_turned_on_by_default(store: Store) -> None:
    assert open_model(settings.Model(), {}, store.spend, lambda: NOW, "run") is None


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        (settings.Model(provider="anthropic"), "ANTHROPIC_API_KEY is not set", "export ANTHROPIC"),
        (settings.Model(provider="openai"), "OPENAI_API_KEY is not set", "export OPENAI"),
        (settings.Model(provider="openai", key_variable="MY_KEY"), "MY_KEY is not set", "MY_KEY"),
        (settings.Model(provider="openai", base_url="http://x/v1"), "which model", "model.name"),
        (settings.Model(provider="claude_cli"), "claude is not on the PATH", "install claude"),
        (settings.Model(provider="codex_cli"), "codex is not on the PATH", "install codex"),
        (settings.Model(provider="agent_sdk"), "claude-agent-sdk", "session-memory[agent-sdk]"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    store: Store, config: settings.Model, message: str, hint: str
) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        open_model(config, {"PATH": ""}, store.spend, lambda: NOW, "run")

    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("package", ["anthropic", "openai"])
def test_a_missing_package_names_its_extra(
    store: Store, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ModelUnavailable) as caught:
        open_model(settings.Model(provider=package), {}, store.spend, lambda: NOW, "run")
    assert f"session-memory[{package}]" in (caught.value.hint or "")


def test_a_local_server_needs_no_key(store: Store) -> None:
    config = settings.Model(provider="openai", base_url="http://127.0.0.1:9/v1", name="llama")

    model = open_model(config, {}, store.spend, lambda: NOW, "run")

    assert model is not None
    assert (model.provider, model.name, model.works_in_folders) == ("openai", "llama", False)


def test_the_caps_are_those_of_the_configuration() -> None:
    caps = caps_of(settings.Model(run_max_minutes=2, run_max_calls=3, day_max_usd=4.5))

    assert (caps.run_ms, caps.run_calls, caps.day_usd) == (120_000, 3, 4.5)
