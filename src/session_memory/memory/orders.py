"""Whether a text that no user typed reads as an order to an agent, or is obfuscated.

An agent repeats what it read in files and pages. What it decided is worth remembering; what tells
agents how to work is the user's to say, and must not reach them by way of a memory.
"""

from __future__ import annotations

import re
import unicodedata

from session_memory.redact.value_checks import is_spoken

_MODAL = re.compile(
    r"\b(?:always|never|from now on|without (?:ever )?asking|don'?t ask|ignore (?:all|any|previous"
    r"|earlier)|you (?:must|should|have to|need to)|has to be|for (?:all|every|any) (?:later"
    r"|future)|(?:every|each|any) (?:commit|branch|edit|session|test)|immer|niemals|nie|toujours"
    r"|jamais|siempre|nunca|sempre|всегда|никогда)\b|必ず|必须|务必|不要|ないで",
    re.I,
)
_WORK = re.compile(
    r"`[^`]*`|https?://|\b(?:you|user|agents?|assistant|sessions?|commits?|branch(?:es)?|push|edit"
    r"|instructions?|install|upload|send|approve|ask|run|call|use|frag|demander|preguntes"
    r"|коммит\w*|запускай)\b|提交|コミット|用户",
    re.I,
)
_ADDRESSED = re.compile(r"\b(?:note to|reminder (?:to|from)|todo\(|the user wants)", re.I)
_QUOTED_PART = re.compile(
    r"(?m)^[ \t]*>[^\n]*$|```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)|[\"“«][^\"”»]{30,}[\"”»]?", re.S
)
_BLOB = re.compile(r"[A-Za-z0-9+/=]{24,}")
_MIXED = re.compile(r"[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]")
_LATIN = re.compile(r"[A-Za-z]{4,}")
_FEW = 4
_NAME_WORDS = 6
"""A name with this many words is a sentence."""
_NAME_CHARS = 60


def is_order(text: str) -> bool:
    """Whether it tells an agent what to do, or cannot be read by a person as it stands."""
    if hides(text) or _ADDRESSED.search(text):
        return True
    return _MODAL.search(text) is not None and _WORK.search(text) is not None


def hides(text: str) -> bool:
    """Encoded, or written in look-alikes of the letters that it seems to hold."""
    if unicodedata.normalize("NFKC", text) != text and not text.isascii():
        wide = [letter for letter in text if "\uff01" <= letter <= "\uff5e"]
        if len(wide) >= _FEW:
            return True
    if _MIXED.search(text) or any(not is_spoken(blob.encode()) for blob in _BLOB.findall(text)):
        return True
    words = _LATIN.findall(text)
    unspoken = sum(not is_spoken(word.encode()) for word in words)
    return len(words) >= _FEW and 3 * unspoken > len(words)


def is_plain_name(path: str) -> bool:
    """Whether every part of a path is a name, and none a sentence or an encoded text."""
    for part in path.split("/"):
        words = re.findall(r"[^\W\d_]+", part)
        if len(part) > _NAME_CHARS or len(words) >= _NAME_WORDS or hides(part):
            return False
    return True


def own_words(text: str) -> str:
    """What a person wrote, without what they quote: lines behind `>`, code, comments, citations."""
    return _QUOTED_PART.sub(" ", text)
