"""One turn, from what was asked to the last word of the answer, and its summary."""

from __future__ import annotations

import msgspec

from session_memory.core.masks import excerpt
from session_memory.core.outcome import claims_completion
from session_memory.core.sameness import untagged
from session_memory.core.schema import Origin, SessionEvent
from session_memory.core.sentences import gist, sentences

_ASKED_CHARS = 110
_GIST_CHARS = 320
_ANSWER_CHARS = 6000
_CLAIM_CHARS = 240
_MAX_FILES = 3
_SHORT_ANSWER = 40
_CLAIM_ALONE = 25
_CLAIM_START = 60  # further in, "completed" and "fixed" are about something else
_DENIES = (" not ", "n't ", " no ", " without ", " once ", " already ", " if ", " when ", " after ")


class Ref(msgspec.Struct, frozen=True):
    """Where something was said, and by whom."""

    pos: int
    event: int
    origin: Origin
    at: int | None


class Turn:
    """What happened since the user last spoke; keeps excerpts only."""

    def __init__(self) -> None:
        self.asked = ""
        self.probe = False
        self.texts = self.calls = self.edits = 0
        self.last: Ref | None = None
        self._answer = ""
        self._calls_since = 0
        self._files: dict[str, None] = {}

    @property
    def active(self) -> bool:
        """Whether the agent did anything."""
        return self.last is not None

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
        if event.tool_class == "edit":
            self.edits += 1
            for path in event.files[:_MAX_FILES]:
                if len(self._files) <= _MAX_FILES * 4:
                    self._files[path] = None
        if self.last is None or not self._answer:
            self.last = ref

    def summary(self) -> str:
        """What was asked, what the answer was, which files changed."""
        if self._broken_off():
            told = f"broken off after {self.calls} tool calls"
        else:
            told = gist(untagged(self._answer), _GIST_CHARS)
        asked = excerpt(self.asked, _ASKED_CHARS)
        files = self._edited()
        return f"{asked} → {told}{files}" if asked else f"{told}{files}"

    def says_little(self) -> bool:
        """True for a turn nobody needs to read about: nothing changed, hardly a word said."""
        if self.edits:
            return False
        if self._broken_off():
            return True
        return len(self._answer.strip()) < _SHORT_ANSWER or (not self.asked and not self.calls)

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
                if len(sentence) < _CLAIM_ALONE:  # "Done." says nothing without what follows
                    after = next((more for more in said if not more.endswith(":")), "")
                    sentence = f"{sentence} {after}".strip()
                return excerpt(sentence, _CLAIM_CHARS)
        return ""

    def _broken_off(self) -> bool:
        """No answer: the last word came before the last act, or announces what never came."""
        return self._calls_since > 0 or self._answer.endswith(":")

    def _edited(self) -> str:
        if not self._files:
            return ""
        names = [path.replace("\\", "/").rsplit("/", 1)[-1] for path in self._files]
        shown = ", ".join(names[:_MAX_FILES])
        more = f" and {len(names) - _MAX_FILES} more" if len(names) > _MAX_FILES else ""
        return f" [edited {shown}{more}]"


def _denied(sentence: str) -> bool:
    lowered = f" {sentence.lower()} "
    return any(word in lowered for word in _DENIES) or sentence.endswith(("?", ":"))
