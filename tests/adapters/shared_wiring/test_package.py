"""A package of an agent has the hooks that `init` writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.packages.test_build import WITH_HOOKS, hooks_of

from session_memory.adapters.registry import built_in
from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks


@pytest.mark.rows("PKG-01")
@pytest.mark.parametrize("agent", WITH_HOOKS)
def test_a_package_has_the_hooks_that_init_writes(agent: str) -> None:
    client = built_in()[agent].load_wiring()
    assert client is not None
    nowhere = Path("/nowhere")
    files = client.files(InstallContext("/nowhere"), Launchers("", "-I", nowhere, nowhere, nowhere))
    events = {
        handler.event
        for parts in files.values()
        for part in parts
        if isinstance(part, JsonHooks)
        for handler in part.handlers
    }
    assert set(hooks_of(agent)) == events
