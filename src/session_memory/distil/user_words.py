"""The words a person typed: what stands in the user's place of a log is mostly not the user.

Clients, templates, other agents and pasted documents all speak there. In doubt nobody spoke.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.core.schema import SessionEvent
from session_memory.core.text.own_text import without_own_text
from session_memory.distil.inputs import is_probe
from session_memory.distil.sentences import prose_lines, without_start
from session_memory.distil.substance import typed
from session_memory.regex_cache import compiled

MAX_CHARS = 4000
_PASTED_CHARS = 700  # a longer text may hold a pasted part,
_LONG_CHARS = 1300  # and one as long as this does: only its first paragraph was typed
_HEAD_CHARS = 400
_TYPED_ANSWER_WORDS = 6  # the labels of options are shorter

QUEUED = ("queued_prompt", "queued_command")  # typed while the agent was busy
# What the client writes when the user refuses a call and says why.
_REASON = compiled(
    r"(?:the user said|following reason for the rejection|(?:following|user) feedback):\s*", re.I
)
_REASON_ENDS = compiled(r"\n\s*Note: The user's next message")
_CLARIFIES = "The user wants to clarify"  # the questions that follow are the agent's
_ANSWERED = ("User has answered your questions: ", "Your questions have been answered: ")
_ANSWER = compiled(r'"="([^"\n]{1,1000})"(?! selected)')

# Texts that begin like this were written by a program, a template or another agent.
_NOT_TYPED = compiled(
    r"[<{]|\[(?:request interrupted|\[ ##|image)|# AGENTS\.md|# Files mentioned by the user"
    r"|(?:operation |execution )?(?:stopped|blocked) by (?:a )?(?:\w+ )?hook"
    r"|base directory for this skill|this session is being continued|caveat: the messages below"
    r"|(?:please )?implement (?:the following|this) plan|you are (?:an?|the) "
    r"|another (?:claude|codex|agent) (?:session|instance)|(?:message|task|report) from \S+ agent"
    r"|# (?:task|role|context|instructions|goal|objective|plan)\b|context: (?:you|this)\b",
    re.I,
)
_FLAGS = compiled(r"(?:--?[a-z][\w-]*(?:[ =](?:new|true|false|\d+))? +)+")
_SLASH_COMMAND = compiled(r"/[\w:.-]+\s*")
_DOCUMENT = compiled(
    r"^#{1,4} |\*\*[^*\n]+\*\*|^\s*(?:\d+[.)]|[-*•]) \S|—|→|^```|^\s*\|.*\|\s*$|[✅❌⚠]", re.M
)
_DOCUMENT_MARKS = 4
# Behind a colon at the end of a line stands what was pasted.
_INTRODUCES = compiled(r":[ \t]*\n")
# Where the line before the colon names whose words they are, so does a short one.
_SOURCE = compiled(
    r"([^\n]{0,120}\b(?:issues?|tickets?|readme|docs?|documentation|text|error|output|logs?"
    r"|comments?|page|article|message|e?mail|review|file|snippet|description|says?|said|wrote"
    r"|reads|reports?|got|pasted?|quote|meldung|fehler|ausgabe|texte|erreur|mensaje)\b"
    r"[^\n]{0,60}):[ \t]*\n(?:[ \t]*\n)?(?:[^\n]*\S[^\n]*(?:\n|$))+",
    re.I | re.M,
)
# Logs, diffs, stack traces, code: they hold marks that nobody types in a sentence.
_TERMINAL = compiled(r"[❯➜$%›>]|\s*at \S+ \(|\[[\w :.-]+\]|\S+:\d+|[+-] ?\d|\s*\d+[:|]")
# What a program says of itself begins with such a word.
_LABELLED = compiled(
    r"\s*(?:(?:npm|pnpm|yarn) )?(?:err!|(?:[\w.]*(?:error|exception|warning)|warn|fatal|remote|hint"
    r"|info|debug)(?:\[[\w-]+\])?:)",
    re.I,
)
_CODE = compiled(r"[{}<>=;\\]{2}|[│┃┌└╭╰├─]")
_WRAPPED_CHARS = 60  # a shorter line ended where its writer wanted it to
_END = compiled(r"[.!?…。！？]+[)\"'*]*|;(?=\s)")
_ABBREVIATION = compiled(r".*\b(?:e\.g|i\.e|etc|vs|cf)\.$", re.S)
_OWN_END = ("…", "。", "！", "？")  # these need no blank behind them


def user_words(event: SessionEvent) -> str:
    """What a person typed in this event: a prompt, a reason or an answer; "" where nobody spoke."""
    text = event.text or ""
    if event.inherited or not text:
        return ""
    if event.kind == "tool_result":
        if event.label == "denied":
            said = _reason(text)
        else:
            said = _answers(text) if text.startswith(_ANSWERED) else ""
    elif event.origin == "user" and (
        event.label in QUEUED or (event.kind == "user_prompt" and event.label is None)
    ):
        said = text
    else:
        return ""
    return _typed_part(said) if said else ""


def _reason(text: str) -> str:
    reason = _REASON.search(text, 0, 1000)
    if reason is None or text.startswith(_CLARIFIES, reason.end()):
        return ""
    ends = _REASON_ENDS.search(text, reason.end())
    return text[reason.end() : ends.start() if ends else None]


def _answers(text: str) -> str:
    """Answers in the user's own words; a chosen option is the agent's wording."""
    answers = (match[1].strip() for match in _ANSWER.finditer(text[:MAX_CHARS]))
    return "\n".join(
        answer
        for answer in answers
        if answer[:1].islower() or len(answer.split()) > _TYPED_ANSWER_WORDS
    )


def _typed_part(text: str) -> str:
    said = typed(without_own_text(text))
    said = without_start(_SLASH_COMMAND, without_start(_FLAGS, said))
    said = _without_sources(said)
    if not said or _NOT_TYPED.match(said) or is_probe(said):
        return ""
    if len(said) > _PASTED_CHARS:
        introduced = _INTRODUCES.search(said)
        if introduced is not None:
            said = said[: introduced.start()]
        elif len(said) > _LONG_CHARS:
            said = said.split("\n\n", 1)[0]
        if len(said) > _LONG_CHARS or _is_document(said):
            return ""
    return said.strip()


def _without_sources(text: str) -> str:
    """The text without what was pasted below a line that says whose words they are."""
    pieces: list[str] = []
    here = 0
    for colon in _INTRODUCES.finditer(text):
        start = text.rfind("\n", 0, colon.start()) + 1
        source = _SOURCE.match(text, start) if start >= here else None
        if source is not None:
            pieces += (text[here:start], source[1], "\n")
            here = source.end()
    return "".join((*pieces, text[here:])) if pieces else text


def _is_document(text: str) -> bool:
    marks = len(_DOCUMENT.findall(text[:MAX_CHARS]))
    return len(text) > _HEAD_CHARS and marks >= _DOCUMENT_MARKS


def spoken_sentences(words: str) -> Iterator[str]:
    """The sentences of what was typed, with their last mark; without code, logs and tables."""
    for line in prose_lines(_unwrapped(words) if "\n" in words else words):
        if _TERMINAL.match(line) or _LABELLED.match(line) or _CODE.search(line):
            continue
        start = 0
        for end in _END.finditer(line):
            if _ends(line, end):
                yield from _tidied(line[start : end.end()])
                start = end.end()
        yield from _tidied(line[start:])


def _unwrapped(text: str) -> str:
    """The text with lines joined where the next one goes on: indented, or after a long line."""
    lines: list[str] = []
    for line in text.split("\n"):
        before = lines[-1].rstrip() if lines else ""
        bare = line.lstrip()
        goes_on = before[-1:].isalnum() or before.endswith((",", ")"))
        indented = line != bare
        if goes_on and bare[:1].islower() and (indented or len(before) >= _WRAPPED_CHARS):
            lines[-1] = f"{before} {bare}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _ends(line: str, mark: re.Match[str]) -> bool:
    """Whether a mark ends a sentence: not inside `v1.2` or after "e.g."."""
    if mark[0].startswith(("..", *_OWN_END)):
        return True
    if mark.end() < len(line) and not line[mark.end()].isspace():
        return False
    return mark[0] != "." or _ABBREVIATION.match(line, max(0, mark.start() - 6), mark.end()) is None


def _tidied(sentence: str) -> Iterator[str]:
    flat = sentence.strip(" .;…-*\t")
    if "  " in flat or "\t" in flat:
        flat = " ".join(flat.split())
    if flat:
        yield flat
