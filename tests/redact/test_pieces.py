"""Where secrets stand: positions in the text as it was, and messages that came in parts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.redact import RULES, Hit, Redactor, render
from session_memory.redact.rule import fake

KEY = b"a key of the tests"
REDACTOR = Redactor(KEY)
TOKEN = fake("ghp_", 36)
FRAGMENTS = st.sampled_from(
    [sample for rule in RULES for sample in rule.must_match if len(sample) < 200]
    + [" ", "\n", "é", '"', "token=", "bearer  ", "[REDACTED_SECRET]", "[REDACTED_SECRET:ab12cd34]"]
)
TEXTS = st.lists(FRAGMENTS, max_size=6).map("".join).map(str.encode)


def test_hits_are_places_in_the_text_as_it_was() -> None:
    text = f"é {TOKEN} and bearer   {TOKEN[4:30]} [REDACTED_SECRET] password=hunter2hunter2"
    data = text.encode()
    hits = REDACTOR.find(data)
    assert [(data[hit.start : hit.end].decode(), hit.rule) for hit in hits] == [
        (TOKEN, "github"),
        (TOKEN[4:30], "bearer"),
        ("hunter2hunter2", "assignment"),
    ]
    assert REDACTOR.find(b"nothing here") == []


@settings(max_examples=150)
@given(TEXTS)
def test_what_lies_between_hits_is_what_redaction_leaves(data: bytes) -> None:
    redacted = render(REDACTOR.redact(data).decode()).encode()
    hits = REDACTOR.find(data)
    assert hits == sorted(hits)
    assert all(one.end <= other.start for one, other in pairwise(hits))
    position, pieces = 0, list[bytes]()
    for hit in hits:
        pieces += (data[position : hit.start], b"[REDACTED_SECRET]")
        position = hit.end
    expected = render(b"".join([*pieces, data[position:]]).decode()).encode()
    # `bearer` is written one way, with one space
    assert spelled(expected) == spelled(redacted)


def spelled(data: bytes) -> bytes:
    return b" ".join(data.lower().replace(b"bearer[", b"bearer [").split())


def test_a_hit_names_no_value() -> None:
    assert Hit._fields == ("start", "end", "rule")


def test_a_secret_that_spans_parts_leaves_its_mark_where_it_began() -> None:
    parts = [b"use ", b"gh", b"p_" + TOKEN[4:20].encode(), TOKEN[20:].encode() + b" now", b""]
    redacted = REDACTOR.redact_joined(parts)
    assert [render(part.decode()) for part in redacted] == [
        "use ",
        "[REDACTED_SECRET]",
        "",
        " now",
        "",
    ]
    assert b"".join(redacted) == REDACTOR.redact(b"".join(parts))


def test_parts_without_a_secret_stay_as_they_are() -> None:
    parts = [b"nothing ", b"", b"here"]
    assert REDACTOR.redact_joined(parts) == parts
    assert REDACTOR.redact_joined([]) == []


@settings(max_examples=150)
@given(TEXTS, st.lists(st.integers(0, 300), max_size=5))
def test_parts_together_are_the_redacted_whole(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = [data[first:last] for first, last in pairwise(places)]
    redacted = REDACTOR.redact_joined(parts)
    assert len(redacted) == len(parts)
    assert b"".join(redacted) == REDACTOR.redact(data)
