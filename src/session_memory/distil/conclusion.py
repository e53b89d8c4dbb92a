"""What an answer says was done: the sentences about the request, without what leads up to them.

Answers begin with "All tests pass. Here's a summary:", and then list things in any order. A later
reader wants what changed in what and why, so those sentences are chosen, in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.distil.sentences import (
    plain,
    sentences_of,
    without_bullet,
    without_cheers,
    without_start,
)
from session_memory.distil.substance import names_code, own_terms
from session_memory.regex_cache import compiled

_READ_CHARS = 6000
_LETTERS = compiled(r"[a-z]+|[^\W\d_]{2,}")
_STEM = 5
_LEAST_WORD = 3
_LEAST_HEADING = 3
_MOST_SHARED = 4
_FIRST = 2
"""What the first sentence counts more: it mostly says what was done."""
_ROOM = 100
"""Characters below which what is left of the limit is not filled with half a sentence."""
_HEADING = compiled(r"#{1,6}[ \t]+(?P<marked>.+)|\*\*(?P<bold>[^*]+?):?\*\*:?$")
_NO_PROSE = compiled(r"\||[-=*_]{3,}$|[^\w\s]*$|</?\w+[^>]*>$")
_CHECKS = (
    r"(?:(?:all|both|the|full|every|existing|unit|integration|\d[\d,]*|e2e)[ /+&]*)*"
    r"(?:tests?|checks?|lint(?:ing|er)?|builds?|type-?check\w*|suites?|test suite|everything|it)"
)
# In lower case, as the text then is.
_LEADS_UP = compiled(
    r"(?:done|fixed|perfect|great|added|yes|yep|all (?:set|done|clean|green|good|passing)(?: now)?"
    r"|(?:now|also|so now|final state|summary|changes(?: made)?|you can now use))[.!:,]*$"
    rf"|{_CHECKS}(?:,? (?:and|\+|&) {_CHECKS})* (?:all |now |still |is |are )*"
    r"(?:pass(?:es|ing|ed)?|clean(?:ly)?|green|work(?:s|ing)?|succeed(?:s|ed)?|compiles?)\b[^:;]*[.!:]?$"
    r"|(?:all )?\d+ \w+ (?:are )?(?:complete|done|updated)\b[^:;]*[.!]?$"
    r"|(?:all )?(?:the )?work [^.]{0,40}\b(?:complete|done)[.!]?$"
    r"|(?:(?:now )?let me|i'?ll|i will) .{0,80}$"
    r"|(?:here(?:'s| is| are)|below is|this is) [^.]{0,90}:$"
    r"|(?:a )?(?:\w+ )?(?:summary|overview|recap|changes|fixes)\b[^.]{0,60}:$"
    r"|`[^`]+`\.?$|(?:commit(?:ted)?|pushed) .*$"
    r"|i (?:also )?(?:started|restarted|opened|ran) .*$"
    r"|(?:verified|verification|validated|build|`[^`]+` (?:passes|is clean|succeeds))\b.*$"
    r"|(?:local |dev |the )*(?:app|server|site) is running\b.*$"
    r"|(?:yep|yes|ok|updated and pushed|committed)\b[^`]{0,50}[.!]$"
    r"|(?:you can|to (?:try|test|use)|try it)\b.*$",
    re.S,
)
# What leads up to something begins like this or with no letter, or ends with a colon.
_LEADING = (
    *("the", "all", "both", "full", "every", "existing", "unit", "integration", "e2e", "it"),
    *("test", "check", "lint", "build", "type", "suite", "work ", "local ", "dev ", "app "),
    *("server ", "site ", "i ", "i'll ", "ill ", "let me ", "now", "also", "so now", "you can"),
    *("to ", "try it", "done", "fixed", "perfect", "great", "added", "ye", "ok", "final state"),
    *("summary", "changes", "updated and", "commit", "pushed", "verif", "validated"),
)
# What leads up to something, as its end shows.
_ENDS_AS_STATE = compiled(
    r".{0,60}\b(?:is|are) (?:closed|ready (?:for|to) \w+|untouched|pushed)[.!]?$"
    r"|.*\bexisting\b.{0,40}\bwarnings?\.$",
    re.S,
)
_STATES = ("closed", "ready", "untouched", "pushed", "existing")
# Under such headings stands what was wrong, how it was tested or how it is used.
_ASIDE = compiled(
    r"(?:\W|\d)*(?:the )?(?:issues?|problems?|bugs?|findings|before|previously|tests?|testing"
    r"|verif\w+|usage|navigation|keys?|key ?bindings|controls|shortcuts|examples?"
    r"|how to|next|remaining|notes?|observations|results?|\w+ results|output"
    r"|numbers|files?|visual)\b(?!.*\b(?:fix|solution))",
    re.I,
)
_KEY = (
    r"(?:\S|up|down|left|right|enter|return|esc|escape|tab|space|home|end"
    r"|(?:ctrl|alt|shift|cmd)[+-]\S+)"
)
_BINDING = compiled(rf"(?:`{_KEY}(?:/{_KEY})?`(?:, ?| / ?| or )?)+ *(?:[-–—=:]|\()", re.I)
_COUNTS = compiled(r"[A-Z][\w ]{2,30}: \d[\d.,%]*(?:$|\s)|\d+(?:\.\d+)?(?:ms|%| ms)\b.*=")
_GOES_ON = compiled(r"(?:,|\b(?:or|and|OR|AND))$")
_GOES_ON_CHARS = 4
_MAY_GO_ON = (",", "or", "and", "OR", "AND")
_SUMMARY = compiled(r"(?:summary|overview|changes)\s*[:–—-]\s*", re.I)


class _Part(msgspec.Struct, frozen=True):
    """A sentence, or an item of a list with the line that introduces it."""

    text: str
    is_item: bool = False


def conclusion(answer: str, request: str, limit: int) -> str:
    """The sentences of an answer that say what was done about a request."""
    parts = list(_parts(answer[:_READ_CHARS]))
    lowered = [part.text.lower() for part in parts]
    said = " ".join(lowered)
    # Most words of a request are not in its answer: no part needs to be searched for those.
    about = frozenset([stem for stem in _about(request) if stem in said])
    shared = [_shared(text, about) for text in lowered]
    ranked = sorted(range(len(parts)), key=lambda at: (-_worth(parts, at, shared[at]), at))
    taken: list[int] = []
    room = limit
    for at in ranked:
        length = len(parts[at].text) + 2
        if length > room and not (room >= _ROOM and shared[at]):
            continue
        taken.append(at)
        room -= length
        if room < 0:  # the last is cut where it is about the request
            parts[at] = _Part(excerpt(parts[at].text, length + room), parts[at].is_item)
            break
    if not taken and parts:
        return excerpt(parts[ranked[0]].text, limit)
    return _joined([parts[at] for at in sorted(taken)])


def _joined(parts: list[_Part]) -> str:
    """The parts as one text; items of lists seldom end with a mark."""
    return " ".join(
        f"{part.text};" if part.is_item and not part.text.endswith((".", ";", "…")) else part.text
        for part in parts
    ).rstrip(";")


def shares_a_word(answer: str, request: str) -> bool:
    """Whether an answer is about what was asked, as far as its words show."""
    about = _about(request)
    return any(_shared(line.lower(), about) for line in answer.splitlines())


def _worth(parts: list[_Part], at: int, shared: int) -> int:
    part = parts[at]
    first = _FIRST if at == 0 and not part.is_item else 0
    return min(_MOST_SHARED, shared) + names_code(part.text) + first


def _shared(lowered: str, about: frozenset[str]) -> int:
    """How many words of the request a part takes up."""
    seen = [stem for stem in about if stem in lowered]
    if not seen:
        return 0  # as in most parts
    near = {word for word in lowered.split() for stem in seen if stem in word}
    return len(about & _stems(" ".join(near)))


@lru_cache(maxsize=2)  # an answer is compared with its request twice
def _about(request: str) -> frozenset[str]:
    return _stems(request)


def _stems(text: str) -> frozenset[str]:
    """The beginnings of its own words, so that "commit" is found in "committing"."""
    terms = own_terms(text)
    plain = {term for term in terms if term.isascii() and term.isalpha()}
    plain.update(_LETTERS.findall(" ".join(terms - plain)))
    return frozenset([word[:_STEM] for word in plain if len(word) > _LEAST_WORD])


def _parts(text: str) -> Iterator[_Part]:
    """The parts that say something, in order."""
    lead = ""  # a line that ends with a colon goes with the line that it introduces
    aside = fenced = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            if names_code(lead):  # what it introduces is code, which is left out
                yield _Part(lead.rstrip(":") + ".")
            lead = ""
        if fenced or not line:
            continue
        marked = not line[0].isalpha()  # most lines begin with a letter, and need no closer look
        if marked and _NO_PROSE.match(line):
            continue
        heading = _HEADING.match(line) if marked else None
        if heading is not None:
            title = without_start(_SUMMARY, heading["marked"] or heading["bold"]).strip("* ")
            lead, aside = "", _ASIDE.match(title) is not None
            if heading["marked"] and not aside and _is_telling(title):
                yield _Part(title.rstrip(".:") + ".")
            continue
        words = without_bullet(line) if marked else line
        is_item = words != line
        aside &= is_item  # prose below the list is about the whole again
        if aside:
            continue
        for sentence in sentences_of(without_cheers(plain(words))):
            said = without_start(_SUMMARY, sentence)
            if aside or not said or _says_nothing(said):
                continue
            if said.endswith(_MAY_GO_ON) and _GOES_ON.search(said, len(said) - _GOES_ON_CHARS):
                lead = f"{lead} {said}".strip()
                continue
            if said.endswith(":"):
                lead = said if not _ASIDE.match(said) else ""
                aside = aside or not lead
                continue
            yield _Part(f"{lead} {said}".strip(), is_item)
            lead = ""


def _says_nothing(said: str) -> bool:
    lowered = said.lower()
    if said.endswith(("?", "—", "–")) or _leads_up(lowered):
        return True
    if (": " in said or said[:1].isdigit()) and _COUNTS.match(said):
        return True
    if any(map(lowered.__contains__, _STATES)) and _ENDS_AS_STATE.match(lowered):
        return True
    binding = _BINDING.match(said) if said.startswith("`") else None
    return binding is not None and not names_code(_BINDING.sub("", said))


def _leads_up(lowered: str) -> bool:
    if lowered[0].isalpha() and not (lowered.endswith(":") or lowered.startswith(_LEADING)):
        return False
    return _LEADS_UP.match(lowered) is not None


def _is_telling(title: str) -> bool:
    return names_code(title) and len(title.split()) >= _LEAST_HEADING
