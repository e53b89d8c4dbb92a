"""Prose is told from code, tables and headings, and split into sentences."""

from __future__ import annotations

from session_memory.distil.sentences import first_sentence, plain, prose_lines, sentences

REPLY = """# Result

All tests pass. The [parser](https://example.org) is **fixed**.

```python
print("no prose. none at all.")
```

- First point without a full stop
| a | table |
"""


def test_only_lines_that_speak_are_prose() -> None:
    assert list(prose_lines(REPLY)) == [
        "All tests pass. The parser is fixed.",
        "First point without a full stop",
    ]


def test_sentences_end_at_their_mark_or_with_their_line() -> None:
    assert list(sentences(REPLY)) == [
        "All tests pass.",
        "The parser is fixed.",
        "First point without a full stop",
    ]
    assert first_sentence("Done. More follows.") == "Done."


def test_names_with_underscores_are_not_taken_for_bold() -> None:
    assert plain("see `__init__` and **this**") == "see `__init__` and this"
