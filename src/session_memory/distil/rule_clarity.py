"""Whether a sentence of the user can be read aloud to someone who was not there.

A quote that is told in another session has to name what to do, on what, and how or when. One that
points at the screen ("again", "option B"), asks for a thing at that moment ("give me the link") or
names a tool without saying what for ("use the X skill") does not.
"""

from __future__ import annotations

import re

from session_memory.distil.lasting import is_meant_to_last, points_at_its_moment
from session_memory.distil.rule_terms import MATERIAL, plain_form, terms_of

_POINTS = re.compile(
    r"\b(?:here|there|again|above|below|them|they|he|she|too|as well|the (?:same|other|right))\b"
)
_IT = re.compile(r"\b(?:it|its|it's)\b")
_NAMES_IT = 6
"""Terms in a sentence that says itself what "it" is."""
_ONE_THING = re.compile(r"\b[A-Z][a-z]+ \d|#\d|://|\b\d{4}-\d\d|\b[0-9a-f]{7,}\b|\w\.\w{1,4}:\d")
_OF_THE_MOMENT = re.compile(
    r"(?:let'?s (?!not\b|always\b|never\b|only\b)|(?:give|send|show|tell|link) me\b|let me know\b"
    r"|\w+ (?:me|us) (?:the|a) )"
)
_FOR_NOW = re.compile(r"\b(?:yet|for now|right now|today|this time|at the moment|later)\b")
_CUT_SHORT = re.compile(r"\b(?:to|to do|and|or|with|for|the|a)$")
_HOW_OR_WHEN = re.compile(
    r"\b(?:with|using|via|when|whenever|before|after|instead|rather|without|only|unless|until|for"
    r"|not|no|never|always|don't|avoid|stop|must|mustn't|shouldn't|every|each|if|in|on|prefer)\b"
)
_LEAST_TERMS = 2


def reads_aloud(text: str) -> bool:
    """Whether the sentence says by itself what it is about, and does not break off."""
    plain = plain_form(text)
    terms = terms_of(text)
    if points_at_its_moment(text) or _POINTS.search(plain) or _ONE_THING.search(text):
        return False
    if _IT.search(plain) and len(terms) < _NAMES_IT:
        return False
    return len(terms) >= _LEAST_TERMS and _CUT_SHORT.search(plain) is None


def illustrates(text: str) -> bool:
    """Whether a quote may stand beside the name of its wish, which says what "it" is."""
    plain = plain_form(text)
    unclear = points_at_its_moment(text) or _FOR_NOW.search(plain) or _CUT_SHORT.search(plain)
    return not unclear and _ONE_THING.search(text) is None


def says_how_to_work(text: str) -> bool:
    """Whether the sentence says how or when to do something, and is about work and its tools.

    What a feature shows or does is the matter of one task, however often it is said.
    """
    plain = plain_form(text)
    passing = _OF_THE_MOMENT.match(plain) or _FOR_NOW.search(plain)
    if not reads_aloud(text) or (passing and not is_meant_to_last(text)):
        return False
    terms = terms_of(text)
    tool = any(term.startswith("/") for term in terms)
    return _HOW_OR_WHEN.search(plain) is not None and (tool or not MATERIAL.isdisjoint(terms))
