"""The audit of a project's native memories, with this machine's agents and rules of redaction."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from session_memory.adapters.registry import agents
from session_memory.core.schema import Project
from session_memory.memory.native.audit import Audit, audit_of
from session_memory.memory.native.files import Places
from session_memory.redact import make_redactor, render
from session_memory.settings import Config
from session_memory.store.port import Store


def audit_project(
    store: Store, project: Project, config: Config, environ: Mapping[str, str], home: str
) -> Audit:
    """What the agents of a project have been told; the command line and the page show it."""
    warnings: list[str] = []
    redactor = make_redactor(store.tag_key, config.redact, warnings.append)
    places = Places(project.root or "", home, environ)
    native_agents = [
        agent for agent in agents().values() if agent.native.project or agent.native.home
    ]
    audit = audit_of(
        store, project, native_agents, places, lambda text: render(redactor.redact_text(text))
    )
    return msgspec.structs.replace(audit, warnings=tuple(warnings))
