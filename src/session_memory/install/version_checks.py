"""Whether agents are new enough for the hooks we wire, by the version in their latest log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from session_memory.adapters.shared_wiring.client import Client
from session_memory.install.checks import Check


def check_versions(clients: Iterable[Client], used: Mapping[str, str]) -> Iterator[Check]:
    """`used` has the version of each agent's latest session, where its log names one."""
    for client in clients:
        version = used.get(client.name)
        if version is None or client.oldest is None:
            continue
        have, needed = _numbers(version), _numbers(client.oldest)
        if have is not None and needed is not None and have < needed:
            detail = f"its last session ran {version}; every hook of ours needs {client.oldest}"
            fix = client.update or f"update {client.name}"
            yield Check(f"{client.name} age", "warn", detail, fix)


def _numbers(version: str) -> tuple[int, ...] | None:
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else None
