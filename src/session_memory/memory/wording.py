"""Text for traces: whole sentences on one line, code marked as code, events cited."""

from __future__ import annotations

import re
from collections.abc import Iterable

from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.similarity import untagged
from session_memory.distil.sentences import plain, sentences_of

_PLEASANTRY = re.compile(
    r"(?:done|thanks?(?: you)?|everything (?:is |now )?work\w*.*"
    r"|it (?:builds|works|compiles)\b.{0,20}"
    r"|all (?:clean|set|done|good|green)|great|perfect|good (?:question|catch|news)\b.*|sure"
    r"|yes|no|ok(?:ay)?|here(?:'s| is| are)\b.*|now\b.*(?:let me|let'?s|i'?ll)\b.*|let me\b.*"
    r"|hi\b.*|summary|report|understood|fixed|got it|makes sense|i'?ll\b.*|want me to\b.*"
    r"|(?:oh,? |ok(?:ay)?,? |yes,? )?(?:you'?re (?:absolutely |largely |totally )?right"
    r"|now i'?m excited).*|would you like\b.*|should i\b.*|let'?s\b.*"
    r"|(?:commit|changes?) (?:created|committed|pushed)\b.{0,20}"
    r"|all (?:of )?(?:the )?(?:\d+ )?(?:tasks?|items?|todos?|checks|changes)\b.{0,40})[.!:?]*$",
    re.I,
)
_EDITED = re.compile(r" \[edited [^\]]*\]$")
_MARKUP = re.compile(r"^[#>*\-\s]+|(?<=\s)[#>*]{1,6}(?=\s)")
_LEAST_CHARS = 15
_REQUEST_CHARS = 112
_HEADLINE_CHARS = 25  # a shorter first sentence does not say what a request is about


def cite(*events: int) -> str:
    """The events a line is based on, in the form that `project memory why` resolves."""
    marks = [f"[e:{event}]" for event in dict.fromkeys(events) if event]
    return " " + " ".join(marks) if marks else ""


def code(text: str) -> str:
    """A command or path as code, even if it contains backticks."""
    shown = one_line(text)
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def gist(text: str, limit: int, *, questions: bool = True) -> str:
    """A text cut to whole sentences if possible, without pleasantries.

    Without `questions` they are left out: an agent's questions at the end of its answer say
    nothing.
    """
    sentences: list[str] = []
    used = 0
    for sentence in _sentences(text):
        if not questions and sentence.endswith("?"):
            continue
        if used and used + len(sentence) > limit:
            break
        sentences.append(sentence)
        used += len(sentence) + 1
    return one_line(excerpt(" ".join(sentences), limit))


def _sentences(text: str) -> Iterable[str]:
    flat = " ".join(plain(untagged(_MARKUP.sub("", text))).split())
    whole = [sentence for sentence in sentences_of(flat) if sentence and sentence[-1] != "…"]
    for sentence in whole or [flat]:
        if not _PLEASANTRY.match(sentence) and not sentence.endswith(":"):
            yield sentence


_URL = re.compile(r"https?://\S+")
_PROMPT = re.compile(r"^[➜❯$%›][^\n]{0,60}?(?:✗|\$|%|❯)\s+|^[➜❯$%›]\s+")
_PLAN = re.compile(
    r"^(?:please )?implement (?:the following|this) plan:?\s*|^#*\s*plan\s?:\s*|^#+\s*task:?\s*",
    re.I,
)
_NEXT_HEADING = re.compile(r"\s#{1,4}\s.*$|\s*[│┃┌└╭╰├].*$", re.S)


def headline(text: str, limit: int) -> str:
    """What a request is about, without URLs, terminal prompts and the rest of a plan."""
    flat = " ".join(untagged(text).split())
    bare = " ".join(_URL.sub("", flat).split()) or flat
    bare = _PROMPT.sub("", bare)
    while (shorter := _PLAN.sub("", bare, count=1)) != bare:
        bare = shorter
    short = _NEXT_HEADING.sub("", bare)
    sentences: list[str] = []
    for sentence in _sentences(short):
        sentences.append(sentence)
        if sum(map(len, sentences)) >= _HEADLINE_CHARS:
            break
    return one_line(excerpt(" ".join(sentences), limit)) or one_line(excerpt(short, limit)).rstrip(
        " :"
    )


def answer_of(summary: str) -> str:
    """The answer in a turn's summary, which has the form `request → answer [edited files]`."""
    request, arrow, answer = summary.partition(" → ")
    # A later arrow is part of the answer: the summary has no request then.
    return _EDITED.sub("", answer if arrow and len(request) <= _REQUEST_CHARS else summary)


def says_something(text: str) -> bool:
    """Whether a text is long enough to be worth a line."""
    return len(text) >= _LEAST_CHARS and any(letter.isalpha() for letter in text)
