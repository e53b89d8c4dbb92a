"""One turn, from the request to the last word of the answer, and its summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from session_memory.core.schema import ObservationStatus, Origin, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.core.text.similarity import untagged
from session_memory.distil.conclusion import conclusion, shares_a_word
from session_memory.distil.outcome import claims_completion
from session_memory.distil.sentences import opening, sentences
from session_memory.distil.substance import (
    asks_for_fact,
    directs,
    has_own_words,
    is_draft,
    is_unspaced,
    names_code,
    names_something,
    telling_words,
)
from session_memory.regex_cache import compiled

BROKEN_OFF = "broken off after"
"""How the summary of a turn without an answer begins."""
_REQUEST_CHARS = 160
_GIST_CHARS = 320
_ANSWER_CHARS = 6000
_CLAIM_CHARS = 240
_MAX_FILES = 3
_SHORT_ANSWER = (40, 200)
_LEAST_ANSWER_WORDS = 3
_SHIPPED_CHARS = 600
_CLAIM_ALONE = 25
_CLAIM_START = 60  # further in, "completed" and "fixed" are about something else
_LEAST_CLAIM_WORDS = 3  # words that carry meaning
_COMPANIONS = 4  # sentences after a bare "Done." among which is the one that says what
_NO_COMPANION = compiled(
    r"[>“\"]|`[^`]+`(?::|\.?$)|.*[:?]$"
    r"|(?:you(?:'re| were| can)?|this is|that'?s|if|let me|want|should"
    r"|i (?:left|did not|didn't))\b",
    re.S | re.I,
)
# What was committed and pushed is in the history of the repository.
_SHIPPED = compiled(
    r"(?:\W*(?:yes|yep|done|ok|okay|perfect|great|all set|all done|success|and)\b\W*)*"
    r"(?:(?:it|this|that|everything|the changes?|`[^`\n]{1,80}`|(?:draft )?pr(?: #?\d+)?"
    r"|commit(?: `?\w{6,40}`?)?)(?:'s| is| are| (?:has|have) been)? (?:now )?)?"
    r"(?:successfully |squash[- ])?(?:committed|pushed|merged|amended|rebased|tagged|deployed"
    r"|pulled|posted|saved|resolved (?:the )?merge conflicts?|created successfully|succeeded"
    r"|(?:draft )?pr(?: created)?:? https?|(?:the )?working (?:tree|directory) (?:is )?clean)\b",
    re.I,
)
_SHIPS = compiled(
    r"g(?<!\w.)(?:it (?:commit|push|merge)|h (?:pr|issue|release) (?:create|merge|close|edit))\b"
)
_SHIPS_CUES = ("git ", "gh ")
# A menu, a plan or an attempt: the answer is still to come.
# This, boasts and style are looked for in lower case.
_OFFERS = compiled(
    r"\b(?:here are (?:\w+ )?(?:options|ideas|versions|variants)|would you like|want me to"
    r"|do you want|which (?:one|option)|let me know|i['’]?d (?:make|use|say|go|change|rewrite|keep)"
    r"|\brecommend(?:ed|ation|ing)?\b|i think so|best fit:|this should fix|should i\b"
    r"|reply with|what would you like|^good question)"
)
_OFFER_CUES = (
    *("here are ", "would you like", "want me to", "do you want", "which o", "let me know", "i'd "),
    *("id ", "i’d ", "recommend", "i think so", "best fit:", "should fix", "should i"),
    *("reply with", "good question"),
)
_BOASTS = compiled(
    r"\b(?:fully functional|comprehensive(?:ly)?|complete set"
    r"|successfully (?:created|implemented|completed))\b"
    r"|^\W*(?:spawned|launched|started|opened|restarted)\b"
    r"|^(?:done\W+)?created (?:the|an?) (?:draft )?(?:worktree|branch|pr|pull request|issue)\b"
)
_BOAST_CUES = (
    *("fully functional", "comprehensive", "complete set", "successfully ", "spawned", "launched"),
    *("started", "opened", "created "),
)
# "1. no 2. the second": each answers a question.
_ANSWERS = compiled(
    r"1[.):]? *(?:no|nope|yes|yep|yeah|ok|okay|sure|agreed|[a-d])\b.*\b2[.):]? ", re.I
)
# What the agent did to find out, without what it found.
_NARRATES = compiled(
    r"(?:as of [\d-]+, )?i(?:'ve| have)? (?:checked|looked|reviewed|read|went|confirmed)\b", re.I
)
_STYLE = compiled(
    r"\d(?:px|rem|em)\b|#[0-9a-f]{6}\b|\b(?:fonts?|padding|margins?|colou?rs?|borders?|aligned|centered|animation"
    r"|bigger|smaller|gradient|opacity|hover|spacing)\b"
)
_STYLE_CUES = (
    *("#", "font", "padding", "margin", "color", "colour", "border", "aligned", "centered"),
    *("animation", "bigger", "smaller", "gradient", "opacity", "hover", "spacing"),
)
_SIZE = compiled(r"\d(?:px|rem|em)\b")
_COSMETIC = 2
_CUT_QUOTE = compiled(r"\bI also\b|^[^“]*”|^[^\"]*\"[^\"]*$")
_LOOKS = compiled(r"\.(?:css|scss|less|html?|svg|png|gif)$|^/tmp/|[\\/]\.(?:claude|codex)[\\/]")
_DRAFT_CHARS = 800
_DENIES = (" not ", "n't ", " no ", " without ", " once ", " already ", " if ", " when ", " after ")


class Ref(msgspec.Struct, frozen=True):
    """Where something was said, and by whom."""

    pos: int
    event: int
    origin: Origin
    at: int | None


class Turn:
    """What happened since the user last spoke; keeps excerpts only."""

    def __init__(self, began: int = 0) -> None:
        self.began = began
        """The place in the log from which its calls are."""
        self.asked = self.hint = ""
        """The request; or words that say too little alone, but go with their answer."""
        self.probe = self._spoken = False
        self.texts = self.calls = self.edits = 0
        self.shipped = False
        self.last: Ref | None = None
        self._answer = ""
        self._calls_since = 0
        self._files: dict[str, None] = {}

    @property
    def active(self) -> bool:
        """Whether the agent did anything."""
        return self.last is not None

    def heard(self, probe: bool) -> bool:
        """A prompt came; returns whether it is to be read.

        A program's own prompt makes its turn a probe, but not a turn in which a person spoke too:
        where no answer stands between the two, the answer belongs to the person.
        """
        self._spoken |= not probe
        self.probe = not self._spoken
        return not probe

    def answered(self, text: str, ref: Ref) -> None:
        """The agent said something; what it says last is the answer."""
        self.texts += 1
        if self._answer and not self._calls_since and len(text) < len(self._answer):
            return  # a word after the answer, such as on a notice that came late, is no answer
        self._calls_since = 0
        self._answer = text.rstrip() if len(text) <= _ANSWER_CHARS else text[:_ANSWER_CHARS]
        self.last = ref

    def called(self, event: SessionEvent, ref: Ref) -> None:
        """The agent used a tool."""
        self.calls += 1
        self._calls_since += 1
        if event.command is not None and not self.shipped:
            may_ship = any(map(event.command.__contains__, _SHIPS_CUES))
            self.shipped = may_ship and _SHIPS.search(event.command) is not None
        if event.tool_class == "edit":
            self.edits += 1
            for path in event.files[:_MAX_FILES]:
                if len(self._files) <= _MAX_FILES * 4:
                    self._files[path] = None
        if self.last is None or not self._answer:
            self.last = ref

    def request(self) -> str:
        """The request, as a summary shows it."""
        request = self.asked or self.hint  # one line already
        if _ANSWERS.match(request):
            return ""  # replies to questions that a summary does not have
        return request if len(request) <= _REQUEST_CHARS else excerpt(request, _REQUEST_CHARS)

    def gist(self) -> str:
        """What the answer says."""
        if self._broken_off():
            return f"{BROKEN_OFF} {self.calls} tool calls"
        return conclusion(untagged(self._answer), self.asked or self.hint, _GIST_CHARS)

    def says_little(self, *, last: bool = False) -> bool:
        """True for a turn not worth a summary: nothing came of it that would be looked up later.

        A turn that was broken off gets a summary only if it was the `last`: otherwise what came
        next says more.
        """
        if self._broken_off():
            return not (last and self.edits and directs(self.asked)) or self.only_looks_changed()
        answer = self._answer.strip()
        shown = opening(untagged(answer), _GIST_CHARS)
        if is_draft(shown) or is_draft(answer[:_DRAFT_CHARS]) or shown.endswith((":", "?")):
            return True
        said = shown.lower()
        if _offers(said) or _boasts(said) or _is_about_looks(said):
            return True
        if self.edits:
            both = f"{self.asked or self.hint} {shown}"
            return self.only_looks_changed() or not has_own_words(both, _LEAST_ANSWER_WORDS)
        if _is_short(answer) or not self.asked:
            return True
        if len(answer) <= _SHIPPED_CHARS and _SHIPPED.match(answer) is not None:
            return True
        if _NARRATES.match(shown):
            return True
        if not shares_a_word(self._answer, self.asked) and not is_unspaced(self.asked):
            return True
        if self.shipped:
            return not names_something(shown)
        # A fact about the program is worth keeping; an opinion or a state of the moment is not.
        return not (directs(self.asked) or (asks_for_fact(self.asked) and names_code(shown)))

    def worth(self, request: str, *, little: bool, last: bool) -> ObservationStatus:
        """What a request counts: done where its summary gives it, together with its result.

        `little` is what `says_little` says of this turn.
        """
        if is_draft(request) or not directs(request):
            return "low_value"
        if little:
            return "active" if last else "done"  # the next turn shows what came of it
        is_in_summary = request == self.asked and len(request) <= _REQUEST_CHARS
        return "done" if is_in_summary else "active"

    def only_looks_changed(self) -> bool:
        """Colours, sizes and wordings are tried until they please; the last try is in the file."""
        return bool(self._files) and all(_LOOKS.search(path) for path in self._files)

    def claim(self) -> str:
        """The sentence in which the agent says that its work is done, or nothing."""
        if (
            not self.edits
            or self._broken_off()
            or not claims_completion(self._answer[:_ANSWER_CHARS])
        ):
            return ""
        said = sentences(untagged(self._answer))
        for sentence in said:
            if claims_completion(sentence[:_CLAIM_START]) and not _denied(sentence):
                if len(sentence) < _CLAIM_ALONE:
                    sentence = f"{sentence} {_companion(said)}".strip()
                return excerpt(sentence, _CLAIM_CHARS)
        return ""

    def _broken_off(self) -> bool:
        """No answer: the last word came before the last act, or announces what never came."""
        return self._calls_since > 0 or self._answer.endswith(":")

    def edited(self) -> str:
        """The names of the files it changed, as the end of a summary."""
        if not self._files:
            return ""
        names = [path.replace("\\", "/").rsplit("/", 1)[-1] for path in self._files]
        shown = ", ".join(names[:_MAX_FILES])
        more = f" and {len(names) - _MAX_FILES} more" if len(names) > _MAX_FILES else ""
        return f" [edited {shown}{more}]"


def _offers(lowered: str) -> bool:
    return any(map(lowered.__contains__, _OFFER_CUES)) and _OFFERS.search(lowered) is not None


def _is_about_looks(lowered: str) -> bool:
    if not any(map(lowered.__contains__, _STYLE_CUES)) and not _SIZE.search(lowered):
        return False
    return len(_STYLE.findall(lowered)) >= _COSMETIC


def _boasts(lowered: str) -> bool:
    return any(map(lowered.__contains__, _BOAST_CUES)) and _BOASTS.search(lowered) is not None


def _is_short(answer: str) -> bool:
    """Hardly a word, or a few that name nothing."""
    least, enough = _SHORT_ANSWER
    if len(answer) >= enough:
        return False
    return len(answer) < least or not has_own_words(answer, _LEAST_ANSWER_WORDS)


def claims_little(claim: str) -> bool:
    """True for "Done!", which does not say what, and for what git history shows anyway."""
    if not has_own_words(claim, _LEAST_CLAIM_WORDS) or _SHIPPED.match(claim) is not None:
        return True
    if is_draft(claim) or not names_code(claim) or _boasts(claim.lower()):
        return True
    return _CUT_QUOTE.search(claim) is not None


def _companion(after: Iterator[str]) -> str:
    """The sentence that says what a bare "Done." is about; lines of a list or quote do not."""
    for sentence in islice(after, _COMPANIONS):
        if not _NO_COMPANION.match(sentence) and len(telling_words(sentence)) >= _LEAST_CLAIM_WORDS:
            return sentence
    return ""


def _denied(sentence: str) -> bool:
    lowered = f" {sentence.lower()} "
    return any(map(lowered.__contains__, _DENIES)) or sentence.endswith(("?", ":"))
