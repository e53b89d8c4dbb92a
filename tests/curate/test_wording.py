"""Words on their way into the catalog: secrets go, however they are hidden."""

from __future__ import annotations

import pytest
from tests.curate.proposals import proposal, seen

from session_memory.curate.wording import clean_proposal, make_clean
from session_memory.redact import Redactor
from session_memory.redact.rule import fake

CLEAN = make_clean(Redactor(b"key"))
TOKEN, AWS = fake("ghp_", 36), "AKIA" + "IOSFODNN7EXAMPLE"
JOINER = "\u200b"


@pytest.mark.parametrize(
    "text",
    [
        f"use {TOKEN}",
        f"use {TOKEN[:9]}{JOINER}{TOKEN[9:]}",  # stripping alone would put it together again
        f"use {AWS}{JOINER}word",  # stripping first would make it part of a longer word
    ],
)
def test_a_secret_is_found_before_and_after_invisible_characters_go(text: str) -> None:
    cleaned = CLEAN(text)
    assert cleaned.startswith("use [REDACTED_SECRET]")
    assert TOKEN not in cleaned and AWS not in cleaned and JOINER not in cleaned


def test_marks_lose_their_tags_and_cleaning_twice_changes_nothing() -> None:
    once = CLEAN(f" [REDACTED_SECRET:0123abcd] \x1b[1m{TOKEN}\n")
    assert once == "[REDACTED_SECRET] [REDACTED_SECRET]"
    assert CLEAN(once) == once


def test_every_field_of_a_proposal_is_cleaned() -> None:
    bad = f"x\x1b[2J {TOKEN}\ny"
    evidence = type(seen(1)[0])(session=bad, flavor=bad, repo=bad, at=1, quote=bad)
    cleaned = clean_proposal(
        proposal("p1", type=bad, locus=bad, text=bad, evidence=(evidence,)), CLEAN
    )
    shown = repr(cleaned)
    assert TOKEN not in shown and "[2J" not in shown and "\\x1b" not in shown
    lines = (cleaned.type, cleaned.locus, cleaned.evidence[0].repo, cleaned.evidence[0].session)
    assert set(lines) == {"x [REDACTED_SECRET] y"}
    assert cleaned.text == "x [REDACTED_SECRET]\ny"
