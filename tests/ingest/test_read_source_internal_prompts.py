"""A program that asks for a title is no user: it labels nothing and is worth nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.clock import iso
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import ContextPack, context_pack
from session_memory.recall.open_work import open_work
from session_memory.recall.requests import PackRequest, ScopeRequest, SessionListRequest
from session_memory.recall.session_list import session_list
from session_memory.store.port import ObservationQuery
from session_memory.testing.workspace import Workspace

TITLE_PROMPT = "Generate a concise title for this conversation: fix the login page"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.rows("SES-03")
def test_a_title_prompt_makes_a_session_of_low_value_without_label(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(TITLE_PROMPT)
    log.say("Fix login page")
    space.write(log)
    space.sweep()
    session = space.session(log.session_id)
    assert session.low_value == "internal_title_generation_prompt"
    assert "operational_label" not in session.metadata


@pytest.mark.rows("SES-04")
def test_a_later_request_labels_the_session(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(TITLE_PROMPT)
    log.prompt("Please add a retry to the upload client")
    space.write(log)
    space.sweep()
    session = space.session(log.session_id)
    assert session.low_value is None
    assert session.metadata["operational_label"] == "Please add a retry to the upload client"
    assert session.metadata["internal_prompt_suppressed"] is True


REQUEST = "Please add a retry to the upload client"
ORDERS = (
    (TITLE_PROMPT, REQUEST),
    (REQUEST, TITLE_PROMPT),
    (TITLE_PROMPT, TITLE_PROMPT, REQUEST),
)


@pytest.mark.rows("SES-04", "SES-07")
@pytest.mark.parametrize("prompts", ORDERS, ids=("before", "behind", "twice"))
def test_an_internal_prompt_beside_a_request_takes_nothing_from_it(
    space: Workspace, prompts: tuple[str, ...]
) -> None:
    log = ClaudeLog(1)
    for prompt in prompts:
        log.prompt(prompt)
    log.say("I added it.\n\nPending: write a test for the retry")
    answered = log.now
    log.wait(3600)
    log.prompt(TITLE_PROMPT)  # the last that was captured, and not operational
    log.say("Retries for uploads")
    space.write(log)
    space.sweep()
    session = space.session(log.session_id)
    with space.store() as store:
        recall = RecallContext(store, lambda: space.now)
        scope = ScopeRequest(session.project_key)
        assert [one.text for one in open_work(recall, scope).pending_items] == [
            "write a test for the retry"
        ]
        texts = [one.text for one in store.observations(ObservationQuery(excluded=True))]
        pack = context_pack(recall, PackRequest(session.project_key))
        (listed,) = session_list(recall, SessionListRequest(session.project_key or "")).items
    assert any(REQUEST in text for text in texts)
    assert not any("concise title" in text or "Retries for uploads" in text for text in texts)
    assert isinstance(pack, ContextPack)
    assert pack.stats.last_operational_capture_at == iso(answered)
    assert pack.stats.last_captured_turn_at == iso(log.now)
    assert REQUEST in listed.display_label and "concise title" not in listed.display_label
    assert (listed.internal_prompt_suppressed, listed.low_value_session) == (True, False)


@pytest.mark.rows("SES-03")
def test_a_session_of_internal_prompts_alone_is_flagged_in_the_list(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(TITLE_PROMPT)
    log.say("Pending: fix login page")
    space.write(log)
    space.sweep()
    key = space.session(log.session_id).project_key or ""
    with space.store() as store:
        recall = RecallContext(store, lambda: space.now)
        (listed,) = session_list(recall, SessionListRequest(key)).items
        pack = context_pack(recall, PackRequest(key))
        assert store.observations(ObservationQuery(excluded=True)) == []
    assert listed.low_value_session is True
    assert listed.low_value_reason == "internal_title_generation_prompt"
    assert listed.internal_prompt_suppressed is True
    assert "concise title" not in listed.display_label and "login page" not in listed.display_label
    assert listed.first_operational_input_preview is None
    assert isinstance(pack, ContextPack) and "login page" not in pack.text
    assert pack.stats.last_operational_capture_at is None


def test_a_request_about_titles_is_a_request(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt("write a short summary of the parser module")
    space.write(log)
    space.sweep()
    assert space.session(log.session_id).low_value is None
