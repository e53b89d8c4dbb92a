"""Whether the text of a pattern is in a tool's words: then no agent may be given it.

An error message is written by whoever made the program, the web page or the repository. Masked and
counted it shows what recurs, but it must not become a rule by itself: a person says it in other
words first.
"""

from __future__ import annotations

import re

from session_memory.core.loop.catalog import Pattern, Proposal
from session_memory.regex_cache import compiled

_WORD = compiled(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_RUN = 5
"""So many words in a row are a quotation, fewer may be chance or the name of the error."""
_LONG_WORD = 16
"""A word as long as this is an encoded text, or a sentence in a script without blanks."""
_ERROR_NAME = compiled(r"(?:error|exception|warning|failure)s?$")
_LEAST = 3
"""Shorter texts are too vague to be instructions."""
_AFTER = compiled(r"\(after (?P<problem>.*)\)\s*$", re.DOTALL)
_COMMAND_WORDS = 3
"""A program, what it is to do, and with what; arguments are masked."""


def in_foreign_words(pattern: Pattern | Proposal, text: str) -> bool:
    """Whether a text for the pattern quotes what a tool, a web page or a repository said."""
    said = _words(text)
    return any(_quotes(said, _words(source)) for source in _foreign(pattern))


def _foreign(pattern: Pattern | Proposal) -> list[str]:
    """The words of the evidence that no person and no agent wrote."""
    shown = pattern.versions if isinstance(pattern, Pattern) else (pattern,)
    quotes = {item.quote for version in shown for item in version.evidence}
    match pattern.type:
        case "recurring_error" | "missing_tool" | "wrong_directory":
            return [pattern.locus, *quotes]
        case "cure" if cure := _AFTER.search(pattern.locus):
            # What was cured is a command, with its arguments masked, or the template of an error.
            return [] if _is_command(cure["problem"]) else [cure["problem"]]
        case _:
            return []


def _is_command(locus: str) -> bool:
    steps = [step.removesuffix("<args>").split() for step in locus.split(" && ")]
    return all(len(step) <= _COMMAND_WORDS for step in steps)


def _quotes(said: list[str], source: list[str]) -> bool:
    if any(
        len(word) >= _LONG_WORD and not _ERROR_NAME.search(word) for word in {*said} & {*source}
    ):
        return True
    run = min(_RUN, len(source))
    if run < _LEAST:
        return False
    runs = {tuple(source[at : at + run]) for at in range(len(source) - run + 1)}
    return any(tuple(said[at : at + run]) in runs for at in range(len(said) - run + 1))


def _words(text: str) -> list[str]:
    """Words in small letters; in scripts without blanks each sign is one."""
    return [word.casefold() for word in _WORD.findall(text)]
