"""An observation leads to where it was said."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.recall.context import RecallContext
from session_memory.recall.open_work import open_work
from session_memory.recall.provenance import get, provenance
from session_memory.recall.requests import ObservationRequest, ScopeRequest
from session_memory.testing.workspace import Workspace


def test_an_observation_leads_to_where_it_was_said(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1, cwd=str(tmp_path))
    log.prompt("Please port the reader to the new format, with docs.")
    log.say("Pending: write the docs")
    space.write(log)
    space.sweep()
    with space.store() as store:
        recall = RecallContext(store, lambda: space.now)
        key = store.projects()[0].key
        (item,) = open_work(recall, ScopeRequest(key)).pending_items
        found = provenance(recall, ObservationRequest(item.observation_id))
        assert get(recall, ObservationRequest(item.observation_id)).text == "write the docs"
        assert found.source_session.external_session_id == log.session_id
        assert found.source_span == "Pending: write the docs"
        assert found.source_turn is not None
        assert found.source_turn.kind == "assistant_text"
