"""What a user's input is: a request, a rule for the work, a nod, or a probe of this program."""

from __future__ import annotations

import re

from session_memory.core.commands import words
from session_memory.core.text.masks import excerpt
from session_memory.distil.prompts import is_internal_prompt, is_request, objective_of, read_prompt
from session_memory.distil.sentences import prose_lines, sentences_of
from session_memory.distil.substance import SHORT_CHARS, is_question, stands_alone, telling_words

_HEAD_CHARS = 1500  # rules stand in what was typed; what follows is often a pasted document
_PASTE_CHARS = 4000
_PASTE_HEAD = 600
_RULE_CHARS = (12, 320)
_MAX_RULES = 4
_MAX_RULES_OF_PASTE = 2

# A test of our own tools, or a program asking for a title or summary: nothing to learn.
_PROBE = re.compile(
    r"\bmem_[a-z_]{3,40}\b|\brespond exactly as\b"
    r"|\b(?:reply|respond|answer) (?:only )?with"
    r" (?:exactly\b|the exact (?:marker|word|text|string)\b|\S{1,80} only\b)"
    r"|\b(?:return|output|print|with) only (?:one|the|an?|valid)\b[^.\n]{0,40}"
    r"\b(?:code block|json|word|number|letter)\b"
)
_PROBE_WORDS = ("mem_", "respond exactly", "with exactly", "the exact ", " only")
_PROBE_CHARS = 2000
# An input made of such words only says "go on": linear to check, unlike a pattern of them.
_NOD = words(
    "yes yep yeah ok okay sure please pls no nope great perfect thanks cool and then just so now"
    " let's lets sounds good go ahead for do it try run again retry continue proceed keep going on"
    " carry start next post git add commit push merge ship deploy status this that with the to main"
    " master fix plan all both implementation changes up how's how is done one option sorry make"
    " create open a b c d e new pr directly 1 2 3 4 5 6 7 8 9"
)
# Pasted from a shell, where what is asked is not said; what the user does; another's message.
_NOT_ASKED = re.compile(
    r"\A(?:[❯➜$%›] |[\w ]{1,24}\s[❯➜›] )"
    r"|\A(?:(?:ok|okay|hm+|wait|now|and|so|well|alright)[ ,.]+)*"
    r"(?:let me|i'?ll|i will|i'?m going to) (?:just )?(?:try|test|check|see|look|have a|play)\b"
    r"|\b(?:ignore|disregard) (?:that|the|my|this|last|previous)(?: last| previous)?"
    r" (?:message|prompt)|\bwrong (?:chat|session|window|terminal|tab)\b",
    re.I,
)
_NOT_ASKED_CHARS = 120
_NOD_CHARS = 60
_MARKS = " .,;:!?+&-…()\"'"
_THANKS_CHARS = 30
_FEW_WORDS = 3
_SHORT_QUESTION = 5
_ENOUGH = 100

_START = r"(?:^|[,;:–—]\s+|\b(?:and|but|please|just|also|so|then|you|we|it|they)\s+)"
_RULE = re.compile(
    rf"{_START}(?:do not|don'?t|never|always|avoid|make sure|ensure|be sure to|prefer|refrain from"
    r"|only use|stick to|keep (?:it|the|this|that|all|in mind)|remember (?:that|to)|respect"
    r"|leave (?:the|all))\b(?!-)"
    r"|\b(?:must(?:n't| not)?|should(?:n't| not| never| always| only)|has to|have to"
    r"|needs? to (?:be|stay|remain)|no (?:code changes|breaking changes|new dependenc\w+|commits?)"
    r"|(?:i|we)(?:'d| would)? (?:explicitly |really )?(?:prefer|want to keep"
    r"|(?:don'?t|do not) (?:want|need))|(?:i'd|we'd|would) rather)\b"
    r"|^(?:\w+\.? ){0,3}?(?:use|let's|lets|go with|switch to|keep|do)\b.{2,120}\b(?:instead of"
    r"|rather than)\b",
    re.I,
)
_RULE_WORDS = (
    *("not", "n't", "dont", "never", "always", "avoid", "sure", "prefer", "refrain", "only use"),
    *("stick to", "keep", "remember", "respect", "leave", "must", "should", "has to", "have to"),
    *("need", "no ", "rather", "instead of"),
)
_NO_RULE = re.compile(
    r"(?:i|we|you|it|they|that|this|there|what|how) (?:do not|don'?t|never|always|have to|must)"
    r" (?:know|think|see|understand|believe|remember|care|get|have|work\w*|seem|be|mean|mind)\b"
    r"|\bdon'?t (?:know|worry|think)\b"
    r"|^(?:why|what|how|is|are|does|do you|did|can|could|would you|my assumption)\b|\?$"
    r"|\bwhat i don'?t\b|\bdoes it have to\b|https?://\S+$"
    # Who thinks aloud gives no rule, and what begins with "to" is the end of another sentence.
    r"|\b(?:perhaps|maybe|i wonder|i'?m (?:just )?thinking|(?:doesn'?t|does not|don'?t) have to"
    r"|no need)\b"
    r"|\bright[.!]?$|^to\b",
    re.I,
)
_FORBIDS = re.compile(r"\b(?:never|always|not|don'?t|dont|mustn't|shouldn't|no)\b", re.I)
_RULING = words(
    "make sure ensure avoid prefer keep stick leave remember respect refrain always never"
)
_TOLD, _TOLD_BY_NEVER = 3, 2
_WHOLE_WISH = re.compile(r"(?:and |also |please |then |so )*(?:make sure|ensure|be sure)\b", re.I)
# "No, that is not it" says only that something is wrong; a rule says what is right.
_ANOTHER_WAY = re.compile(
    r"^(?:stop|never|don'?t)\b|\b(?:instead|i (?:said|told you)|not what i|should|must|use"
    r"|stattdessen|plutôt)\b",
    re.I,
)
_SHIP = words("commit push merge ship deploy rebase")
_FEW_SHIPPED = 6
_WRAPPED = re.compile(r"(?<=[\w,)`'\"])[ \t]*\n(?=[a-z(`])")  # a line that the next one goes on
_CODE = re.compile(r"[{}<>|=\\]|^\s*[\w./-]+:\d+|^\[|^\d+[:.]\d+|\(\)|^\W")


def is_probe(text: str) -> bool:
    """Whether a turn is a test of our tools, or an internal prompt of some program."""
    head = text[:_PROBE_CHARS].lower()
    if any(word in head for word in _PROBE_WORDS) and _PROBE.search(head):
        return True
    return is_internal_prompt(text)


def asks_little(typed: str) -> bool:
    """True for inputs that only nod, ship, paste or point: "yes", "commit and push", "not that"."""
    if nods(typed):
        return True
    own = typed.strip()
    return not stands_alone(_unshipped(own))


def nods(typed: str) -> bool:
    """True for inputs without a word about the work itself."""
    own = typed.strip()
    if not is_request(own) or _NOT_ASKED.search(own[:_NOT_ASKED_CHARS]):
        return True
    if len(own) > _NOD_CHARS:
        return False
    count = len(own.split()) + (0 if own.isascii() else _FEW_WORDS)  # not all use blanks
    if count < _FEW_WORDS or (count <= _SHORT_QUESTION and own.endswith("?")):
        return True
    said = [word.strip(_MARKS) for word in own.lower().split() if word.strip(_MARKS)]
    strange = sum(word not in _NOD for word in said)
    if strange == 0:
        return True
    # A slip of the finger does not make a request of "commit and hpush".
    if len(said) <= _FEW_SHIPPED and strange <= len(said) // 2 and not _SHIP.isdisjoint(said):
        return True
    return len(own) <= _THANKS_CHARS and read_prompt(own).approval is not None


def _unshipped(typed: str) -> str:
    """A short input without the sentences that only send off what was done."""
    if len(typed) > SHORT_CHARS:
        return typed
    said = list(sentences_of(typed))
    if len(said) == 1:
        return typed
    return " ".join(each for each in said if read_prompt(each).approval is None)


def request_of(text: str, limit: int) -> str:
    """What an input asks: its first paragraph, or more where that alone says little."""
    shown = objective_of(text, limit)
    enough = len(shown) >= min(_ENOUGH, len(text))
    return shown if enough else excerpt(text, limit)


def is_typed_command(text: str) -> bool:
    """Whether a slash command carries words of the user's own, not only flags and paths."""
    own = [word for word in text.split()[1:] if word[:1].isalpha()]
    return len(own) > 1 and is_request(text)


def rules_in(text: str, *, after_work: bool) -> list[str]:
    """Sentences of an input that limit how the work is to be done.

    `after_work` says that there is something to correct: a short input that does so is a rule.
    """
    pasted = len(text) > _PASTE_CHARS
    head = text[: _PASTE_HEAD if pasted else _HEAD_CHARS].replace("’", "'")
    if "\n" in head:
        head = _WRAPPED.sub(" ", head)
    found = [
        sentence
        for line in prose_lines(head)
        if _may_rule(line.lower())
        for sentence in sentences_of(line)
        if _is_rule(sentence)
    ]
    if len(found) == 1 and _WHOLE_WISH.match(found[0]) and len(found[0]) >= len(head.strip()) - 1:
        return []  # an input that says nothing else asks for work
    if not found and after_work and _RULE_CHARS[0] <= len(head.strip()) <= _RULE_CHARS[1]:
        one = " ".join(head.split())
        if _ANOTHER_WAY.search(one) and not _NO_RULE.search(one) and stands_alone(one):
            reading = read_prompt(head)
            found = [one] if reading.corrects and not reading.rejects else []
    return list(dict.fromkeys(found))[: _MAX_RULES_OF_PASTE if pasted else _MAX_RULES]


def _may_rule(line: str) -> bool:
    """A cheap look before sentences are taken apart."""
    return any(word in line for word in _RULE_WORDS)


def _is_rule(sentence: str) -> bool:
    least, most = _RULE_CHARS
    if not least <= len(sentence) <= most or sentence.endswith(("?", ":")):
        return False
    return (
        _RULE.search(sentence) is not None
        and not is_question(sentence)
        and _NO_RULE.search(sentence) is None
        and _CODE.search(sentence) is None
        and _limits_something(sentence)
    )


def _limits_something(sentence: str) -> bool:
    """A rule names what it is about: "avoid inventing our own" does not."""
    told = sum(word.lower() not in _RULING for word in telling_words(sentence))
    return told >= (_TOLD_BY_NEVER if _FORBIDS.search(sentence) else _TOLD)
