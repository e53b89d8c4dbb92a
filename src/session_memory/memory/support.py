"""Checks what a model wrote: a statement is kept only if the evidence it cites supports it.

A model may invent, repeat a request that stood in a web page, or cite what has nothing to do with
the line. So every name in a statement must occur in the cited text, and so must part of its words;
a command must have been run or typed; what is said to be the user's wish must be in their words;
and nothing may quote what a tool printed, unless it is an error. That does not prove a statement,
but it keeps out commands, paths and wishes that no session contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from session_memory.core.text.search_terms import terms_of

COMMON_WORDS = 3
"""One word in that many must occur in the evidence: the rest may be the model's own wording."""
_QUOTED = 5
"""This many words in a row are a quotation."""
_STEM = 5
"""Letters by which words are compared, so that `parses` and `parser` are the same word."""
_EVENT = re.compile(r"\s*\[e:(\d{1,18})\]")
_TRACE = re.compile(r"\s*\(traces?:?\s+([^()]*)\)", re.I)
_ID = re.compile(r"[\w.-]*\w")
_OWN_LINK = re.compile(r"\]\((?:\./)?(skills|trace_summaries|memory_summary\.md)([^)\s]*)\)")
_BARE_LINK = re.compile(r"[-*+] \[[^\]\n]*\]\((?:\./)?skills/[^)\s]*\)\s*")
"""A bullet that only links to a skill: such links are made again for the skills that are kept."""
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_CODE = re.compile(r"(`+)(.+?)\1")
_NAME = re.compile(
    r"https?://[^\s)>\]]+"  # an address
    r"|(?<![\w-])--?[A-Za-z][\w-]+"  # a flag
    r"|(?<!\w)(?:~|\.{1,2})?/[\w.@/-]+"  # a path from a root
    r"|[\w.@-]+/(?:[\w.@-]+/)+[\w.@-]*"  # a path of several parts
    r"|[\w.@/-]*\w{2}\.[A-Za-z]\w{0,5}\b"  # a file with its ending, a host
    r"|\b\w+_\w+\b"  # an identifier
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*"
    r"|\b\d{3,}\b"  # a port, a code
)
_ORDER = re.compile(
    r"\b(?:always|never|must|shall|forbid\w*|prefer\w*|insist\w*|do(?:es)? not want|wants?"
    r"|asks? (?:for|to|you|that)|likes?|expects?|from now on)\b",
    re.I,
)
"""Words with which a statement claims to be a person's wish."""
_USER = re.compile(r"\b(?:the )?user(?:'s|s)?\b", re.I)
_ADVICE = re.compile(
    r"\W*(?:add|avoid|call|change|commit|copy|delete|disable|download|edit|enable|execute|export"
    r"|fetch|ignore|install|open|post|push|read|remove|replace|run|send|set|skip|start|stop|try"
    r"|turn|update|upload|use|visit|write)\b",
    re.I,
)
"""How advice begins; a page can give it, too, so that it must rest on what was done or typed."""
_BULLET = re.compile(r"[-*+] |\d{1,3}[.)] ")
_STATEMENT = 99
"""The level of text below headings."""
_WORD = re.compile(r"[^\W_]+")
_FENCE = re.compile(r"\s*(```|~~~)")


class Source(msgspec.Struct, frozen=True):
    """A text, and who wrote it."""

    text: str
    by: Literal["user", "agent", "error", "tool"]
    """`error` is the output of a tool that failed, `tool` any other output: pages, files."""


class Basis:
    """Texts prepared for comparison with a statement."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.everything = _normal("\n".join(source.text for source in sources))
        self.done = _normal("\n".join(source.text for source in sources if source.by != "tool"))
        self.by_user = _normal("\n".join(source.text for source in sources if source.by == "user"))
        self.printed = _runs("\n".join(source.text for source in sources if source.by == "tool"))


class Evidence(msgspec.Struct, frozen=True):
    """The texts that statements may cite."""

    traces: Mapping[str, Sequence[Source]]
    """What each trace says, by its id."""
    events: Mapping[int, Sequence[Source]]
    """Each event that may be cited, with the result of a call."""
    uncited: Basis | None = None
    """What supports a statement that cites nothing; None if every statement has to cite."""


class Unsupported(msgspec.Struct, frozen=True):
    """A statement that was left out, and why."""

    text: str
    reason: str


class Checked(msgspec.Struct, frozen=True):
    """A text without its unsupported statements."""

    text: str
    dropped: tuple[Unsupported, ...] = ()


def check(text: str, evidence: Evidence, is_exempt: Callable[[str], bool] | None = None) -> Checked:
    """The text with the statements that their evidence supports, and the headings above them.

    `is_exempt` is true for lines that belong to the form of a text and state nothing.
    """
    supported: list[str] = []
    dropped: list[Unsupported] = []
    for block in _blocks(text, is_exempt):
        if _BARE_LINK.fullmatch(_TRACE.sub("", block)):
            continue
        if _is_heading(block) or not block.strip() or (is_exempt is not None and is_exempt(block)):
            supported.append(block)
            continue
        reason = why_unsupported(block, evidence)
        if reason is None:
            supported.append(block)
        else:
            dropped.append(Unsupported(" ".join(block.split()), reason))
    return Checked("\n".join(_without_empty_headings(supported)) + "\n", tuple(dropped))


def has_statements(text: str) -> bool:
    """Whether a text has anything but headings."""
    return any(block.strip() and not _is_heading(block) for block in _blocks(text))


def why_unsupported(statement: str, evidence: Evidence) -> str | None:
    """Why a statement may not be kept, or None."""
    cited = _cited(statement, evidence)
    if cited is None:
        return "it cites a session or event that is not one of this project's"
    basis = Basis(cited) if cited else evidence.uncited
    if basis is None:
        return "it cites nothing"
    claim = _OWN_LINK.sub("]", without_citations(statement))
    claim = claim.replace("[REDACTED_SECRET]", "")
    for name in map(_normal, _names(claim)):
        if name not in (basis.done if " " in name else basis.everything):
            return f"what it cites does not contain {name!r}"
    if not _shares_words(claim, basis):
        return "what it cites is about something else"
    if _runs(claim) & basis.printed:
        return "it repeats what a tool printed"
    return None


def _cited(statement: str, evidence: Evidence) -> list[Source] | None:
    """The texts a statement cites; None if one of them is unknown."""
    sources: list[Source] = []
    for number in events_in(statement):
        if number not in evidence.events:
            return None
        sources += evidence.events[number]
    for names in _TRACE.findall(statement):
        for name in _ID.findall(names):
            if name not in evidence.traces:
                return None
            sources += evidence.traces[name]
    return sources


def events_in(text: str) -> list[int]:
    """The events that a text cites."""
    return [int(number) for number in _EVENT.findall(text)]


def without_citations(text: str) -> str:
    """A statement without the traces and events it cites."""
    return _TRACE.sub("", _EVENT.sub("", text)).strip()


def _shares_words(claim: str, basis: Basis) -> bool:
    """Whether enough words of a statement occur where they have to."""
    if _ORDER.search(claim):
        claim, text = _USER.sub("", _ORDER.sub("", claim)), basis.by_user
    else:
        text = basis.done if _ADVICE.match(claim) else basis.everything
    words = {word[:_STEM] for word in terms_of(claim).words}
    common = sum(word in text for word in words)
    return common * COMMON_WORDS >= len(words)


def _runs(text: str) -> set[tuple[str, ...]]:
    """Every run of words that is long enough to be a quotation."""
    words = _WORD.findall(text.casefold())
    return {tuple(words[at : at + _QUOTED]) for at in range(len(words) - _QUOTED + 1)}


def _names(claim: str) -> list[str]:
    """What must occur to the letter: code, commands, paths, flags, identifiers, numbers."""
    names: list[str] = []
    prose: list[str] = []
    in_code = False
    for line in claim.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        elif in_code:
            names += [line] if line.strip() else []
        else:
            prose.append(line)
    plain = "\n".join(prose)
    names += [match[1] for match in _CODE.findall(plain)]
    return names + _NAME.findall(_DATE.sub(" ", _CODE.sub(" ", plain)))


def _normal(text: str) -> str:
    """A text for comparison: lower case, single blanks, no quotes of Markdown."""
    return " ".join(text.replace("`", "").casefold().split())


def _blocks(text: str, stands_alone: Callable[[str], bool] | None = None) -> list[str]:
    """Headings, blank lines and statements; what is indented or fenced belongs to its bullet."""
    blocks: list[str] = []
    in_code = False
    for line in text.splitlines():
        fenced = _FENCE.match(line) is not None
        alone = not line.strip() or _is_heading(line) or bool(_BULLET.match(line))
        alone = alone or (stands_alone is not None and stands_alone(line))
        if blocks and (in_code or (not alone and _continues(blocks[-1], line, fenced=fenced))):
            blocks[-1] += f"\n{line}"
        else:
            blocks.append(line)
        in_code ^= fenced
    return blocks


def _continues(block: str, line: str, *, fenced: bool) -> bool:
    """Whether a line belongs to the block above it: indented or fenced code, or a paragraph."""
    if not block.strip() or _is_heading(block):
        return False
    return fenced or line[:1].isspace() or not _BULLET.match(block)


def _is_heading(block: str) -> bool:
    return re.match(r"#{1,6} \S|---\s*$", block) is not None


def _without_empty_headings(blocks: list[str]) -> list[str]:
    """The blocks without sections that have nothing left in them; the title stays."""
    remaining: list[str] = []
    below = 0  # the level of what follows; 0 is the end of the text
    for block in reversed(blocks):
        level = len(block) - len(block.lstrip("#")) if _is_heading(block) else _STATEMENT
        if 1 < level < _STATEMENT and below <= level:
            continue
        if block.strip():
            below = level
        remaining.append(block)
    return remaining[::-1]
