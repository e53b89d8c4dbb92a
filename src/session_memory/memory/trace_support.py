"""A trace that a model wrote, without what its session does not support."""

from __future__ import annotations

import re

from session_memory.memory.support import Checked, Evidence, Unsupported, check, why_unsupported
from session_memory.memory.trace_text import FALLBACKS, NO_PREFERENCES, OUTCOMES, TASK_HEADINGS

_FORM = re.compile(r"(?P<label># |## Task: ?|Trace context: ?|Outcome: ?)(?P<words>.*)")
_NEUTRAL = {"#": "a session", "##": "work", "Trace": "not stated"}
"""What stands in the place of words that nothing supports."""
_NOTHING = {f"- {words}" for words in FALLBACKS}
_FORM_LINES = {NO_PREFERENCES, "User preferences:", "- none", *TASK_HEADINGS, *_NOTHING}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def check_trace(trace: str, evidence: Evidence) -> Checked:
    """A trace with its structure, and of its statements those that the session supports."""
    lines: list[str] = []
    dropped: list[Unsupported] = []
    for line in trace.splitlines():
        form = _FORM.fullmatch(line)
        if form is None or not form["words"].strip():
            lines.append(line)
            continue
        supported_line, reason = _form_line(form["label"], form["words"], evidence)
        lines.append(supported_line)
        dropped += [Unsupported(line, reason)] if reason else []
    checked = check("\n".join(lines), evidence, _is_form)
    return Checked(checked.text.strip(), (*dropped, *checked.dropped))


def check_summary(summary: str, evidence: Evidence) -> Checked:
    """The sentences of a summary that the session supports."""
    supported: list[str] = []
    dropped: list[Unsupported] = []
    for sentence in _SENTENCE.split(summary):
        reason = why_unsupported(sentence, evidence)
        if reason is None:
            supported.append(sentence)
        else:
            dropped.append(Unsupported(sentence, reason))
    return Checked(" ".join(supported), tuple(dropped))


def _form_line(label: str, words: str, evidence: Evidence) -> tuple[str, str | None]:
    """A line of the structure, with neutral words instead of unsupported ones, and why."""
    if label.startswith("Outcome"):
        outcome, _, grounds = words.partition(" ")
        reason = why_unsupported(grounds, evidence) if grounds.strip(" ()") else None
        return (f"{label}{words}" if reason is None else f"{label}{outcome}"), reason
    reason = why_unsupported(words, evidence)
    neutral = _NEUTRAL[label.split()[0]]
    return f"{label}{words if reason is None else neutral}", reason


def _is_form(block: str) -> bool:
    return block in _FORM_LINES or _FORM.match(block) is not None or _is_outcome(block)


def _is_outcome(block: str) -> bool:
    return block.strip(" *_-").partition(":")[2].strip(" *_`").lower() in OUTCOMES
