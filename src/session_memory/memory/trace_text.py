"""Puts the two texts of a trace into final form: trimmed, redacted, structured, cut.

Redaction comes before any cut, since half a secret is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from session_memory.clock import iso
from session_memory.core.schema import Outcome, Session
from session_memory.core.text.safe_text import safe, stripped
from session_memory.errors import ModelFailed
from session_memory.model.cut import prefix, suffix

MAX_TRACE_BYTES = 300_000
MAX_SUMMARY_BYTES = 1_200
SUMMARY_WORDS = 120
TRACE_CUT = "\n\n[... TRACE MEMORY TRUNCATED ...]\n\n"
SUMMARY_CUT = " [...summary truncated...]"
SLUG_CHARS = 64
OUTCOMES: dict[str, Outcome] = {
    "success": "success",
    "partial": "partial",
    "fail": "fail",
    "uncertain": "uncertain",
}
NO_PREFERENCES = "User preferences: none observed"
TASK_HEADINGS = (
    "Key steps:",
    "Things that did not work / things that can be improved:",
    "Reusable knowledge:",
    "Pointers and references (annotate why each item matters):",
)
FALLBACKS = (
    "See the raw notes at the end.",
    "The notes do not list this on its own.",
    "Check a claim against the session before relying on it.",
    "The raw notes name what there is.",
)
"""The text under each of those headings if a model gave only loose notes."""

Redact = Callable[[str], str]

_OUTCOME = re.compile(r"^[ \t*_-]*Outcome:[ \t*_`]*([^\s*_`.,;:()]*)", re.M)
_REQUIRED = ("Trace context:", "User preferences:", "## Task:", "Outcome:")
_PREFERENCES = re.compile(r"(?m)^User preferences:(?: none observed$|\s*\n[-*] )")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def final_trace(text: str, redact: Redact) -> str:
    """The trace to save; raises ModelFailed if it is empty."""
    redacted = redact(_trimmed(text, "traceMemory"))
    structured = redacted if is_structured(redacted) else wrapped(redacted)
    return shortened(structured, MAX_TRACE_BYTES, TRACE_CUT)


def final_summary(text: str, redact: Redact) -> str:
    """The summary to save, on one line; raises ModelFailed if it is empty."""
    redacted = redact(" ".join(_trimmed(text, "summary").split()))
    return shortened(redacted, MAX_SUMMARY_BYTES, SUMMARY_CUT)


def _trimmed(text: str, field: str) -> str:
    trimmed = text.strip()
    if not trimmed:
        raise ModelFailed(f"the model gave an empty {field}")
    return trimmed


def shortened(text: str, limit: int, marker: str) -> str:
    """A text within `limit` bytes: half from its beginning and half from its end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    room = limit - len(marker.encode())
    cut = prefix(data, room // 2) + marker.encode() + suffix(data, room - room // 2)
    return cut.decode("utf-8")


def is_wordy(summary: str) -> bool:
    """Whether a summary has more words than requested; it is saved all the same."""
    return len(summary.split()) >= SUMMARY_WORDS


def outcomes_in(trace: str) -> list[Outcome] | None:
    """The outcome of each task; None if one of them is not one of the four labels."""
    labels = [match[1].lower() for match in _OUTCOME.finditer(trace)]
    outcomes: list[Outcome] = [OUTCOMES[label] for label in labels if label in OUTCOMES]
    return outcomes if len(outcomes) == len(labels) else None


def is_structured(trace: str) -> bool:
    """Whether a trace has the parts that its readers rely on."""
    if not trace.startswith("#") or not all(part in trace for part in _REQUIRED):
        return False
    return bool(outcomes_in(trace))


def missing_parts(trace: str) -> list[str]:
    """The parts of the requested structure that a trace lacks.

    Only for a warning: readers cope without these parts, and no trace is rejected for them.
    """
    head, *tasks = re.split(r"(?m)^## Task:", trace)
    missing = [] if re.match(r"# \S", head) else ["# summary"]
    missing += [part for part in ("Trace context:", "User preferences:") if not _has(head, part)]
    if _has(head, "User preferences:") and not _PREFERENCES.search(head):
        missing.append(NO_PREFERENCES)
    if not tasks:
        missing.append("## Task:")
    for task in tasks:
        missing += [heading for heading in TASK_HEADINGS if not _has(task, heading)]
        if not outcomes_in(task):
            missing.append("Outcome:")
    return missing


def _has(text: str, heading: str) -> bool:
    return re.search(rf"(?m)^{re.escape(heading)}", text) is not None


def wrapped(notes: str) -> str:
    """Loose notes inside the required structure, with an uncertain outcome."""
    empty = "\n".join(
        f"{heading}\n- {words}" for heading, words in zip(TASK_HEADINGS, FALLBACKS, strict=True)
    )
    return (
        "# Trace Summary\n\n"
        "Trace context: extracted from rollout (normalized fallback structure).\n\n"
        f"{NO_PREFERENCES}\n\n"
        "## Task: Extracted Memory\n"
        "Outcome: uncertain\n"
        f"{empty}\n\n"
        "### Raw trace notes\n"
        f"{notes}\n"
    )


def slug(title: str) -> str:
    """A title for a file name: ASCII letters and digits, and `_` for everything else."""
    letters = "".join(c if c.isascii() else " " for c in title).lower()
    return _NOT_SLUG.sub("_", letters).strip("_")[:SLUG_CHARS].strip("_") or "trace"


def title_of(trace: str) -> str:
    """The first heading of a trace, without its outcome."""
    heading = trace.lstrip().partition("\n")[0].lstrip("# ")
    return re.sub(r"\s*\((?:success|partial|fail|uncertain)\)$", "", heading)


def trace_page(session: Session, thread_id: str, path: str, body: str) -> str:
    """The file of a trace: a few lines about its origin, then the text."""
    when = iso(session.ended_at)
    head = [f"thread_id: {thread_id}", f"cwd: {_on_one_line(session.cwd or '')}"]
    head.append(f"rollout_path: {_on_one_line(path)}")
    if when is not None:
        head.append(f"updated_at: {when}")
    return "\n".join(head) + f"\n\n{stripped(body).strip()}\n"


def _on_one_line(path: str) -> str:
    """A path on one line, since its name may contain line breaks."""
    return safe(" ".join(path.splitlines()))
