"""What a draft holds besides its bytes is what those bytes say."""

from __future__ import annotations

import pytest

from session_memory.adapters.common import RawEvent, SessionPart
from session_memory.core.pricing import load_table
from session_memory.ingest.normalize import Drafter
from session_memory.redact import Redactor
from session_memory.store.values import EventDraft

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def drafted(*texts: str, overflow: str | None = None) -> list[EventDraft]:
    redactor = Redactor(b"k" * 32)
    events = [
        RawEvent(place, "assistant_text", "agent", text, at=place, overflow=overflow)
        for place, text in enumerate(texts)
    ]
    drafter = Drafter(b"f" * 32, redactor, load_table())
    return drafter.events("claude", SessionPart("one", events=events), [], lambda _, name: name)


@pytest.mark.parametrize(
    "text", ["plain", "żółw 🐢", f"the token is {TOKEN}", "a <private>b</private> c", ""]
)
@pytest.mark.parametrize("overflow", [None, "the rest"])
def test_the_text_of_a_draft_is_that_of_its_body(text: str, overflow: str | None) -> None:
    (draft,) = drafted(text, overflow=overflow)
    assert draft.text == draft.body.decode()
    assert TOKEN.encode() not in draft.body


def test_a_text_that_no_bytes_can_hold_is_read_from_the_body() -> None:
    (draft,) = drafted("half \ud83d a pair")
    assert (draft.text, draft.body) == (None, b"half ? a pair")
