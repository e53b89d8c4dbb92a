"""Whether a sentence of the user can be read aloud to someone who was not there.

A quote that is shown in another session has to name what to do, on what, and how or when. One that
points at the screen ("again", "option B"), asks for a thing at that moment ("give me the link") or
names a tool without saying what for ("use the X skill") does not.
"""

from __future__ import annotations

from session_memory.distil.lasting import is_meant_to_last, points_at_its_moment
from session_memory.distil.rule_terms import MATERIAL, names_a_kind, plain_form, terms_of
from session_memory.regex_cache import compiled

_POINTS = compiled(
    r"\b(?:here|there|again|above|below|them|they|he|she|too|as well|the (?:same|other|right))\b"
)
_IT = compiled(r"\b(?:it|its|it's)\b")
_NAMES_IT = 6
"""Terms in a sentence that says itself what "it" is."""
_SINGLE_THING = compiled(r"\b[A-Z][a-z]+ \d|#\d|://|\b\d{4}-\d\d|\b[0-9a-f]{7,}\b|\w\.\w{1,4}:\d")
_OF_THE_MOMENT = compiled(
    r"(?:let'?s (?!not\b|always\b|never\b|only\b)|(?:give|send|show|tell|link) me\b|let me know\b"
    r"|\w+ (?:me|us) (?:the|a) )"
)
_FOR_NOW = compiled(r"\b(?:yet|for now|right now|today|this time|at the moment|later)\b")
_CUT_SHORT = compiled(r"\b(?:to|to do|and|or|with|for|the|a)$")
_HERE = compiled(r"\b(?:in|for|across|of) this (?:repo\w*|project|code ?base)\b")
_OF_ANY_CODE = compiled(
    r" (?:to|in|into|of|from) (?:the|our) (?:code|repo\w*|project|tests|docs)\b"
)
_GATED = compiled(
    r"\b(?:before|after) (?:you |we |each |every |any )?(?:commit|push|merg|edit|chang|releas"
    r"|deploy|open|finish|install|creat|implement|writ|start)\w*"
    r"|\b(?:for|in|on|after|before|with) (?:all|every|each|any)\b|\bevery time\b"
    r"|\bunless (?:i|we)\b"
)
_WAYS = r"(?:we )?(?:always |only )?(?:use|prefer|run|write|keep|name|call|stick to)"
_CHOOSES = compiled(rf"{_WAYS} .{{2,40}}?,? (?:not|instead of|rather than|over) \w")
_SINGLED_OUT = compiled(r"\b(?:new|old|existing|previous|current|latest)\b")
_PREFERS = compiled(
    rf"{_WAYS} (?!(?:the|a|an|my|your)\b)[\w./@+-]+(?: [\w./@+-]+){{0,3}}?"
    r" (?:for|with|in|to) (?!(?:the|a|an|my|your)\b)\w"
)
_BY_TOOL = compiled(r"\b(?:with|using|use|via|according to) (?:the |our )?/[a-z][\w-]{3,}(?!/)")
_REFUSES = compiled(
    r"(?:you (?:should|must)n't|don't|never|avoid|stop|no|without|let'?s not"
    r"|(?:i|we) (?:really )?(?:don't|never) (?:want|use)(?: you)?(?: to)?)(?P<what> .+)$"
)
_SHOWN = compiled(
    r"(?<![\w-])(?:buttons?|screens?|pages?|colou?rs?|fonts?|labels?|titles?|icons?|images?|backgrounds?"
    r"|animations?|sounds?|levels?|players?|scores?|stor(?:y|ies)|characters?|menus?|modals?|headers?"
    r"|footers?|sidebars?|tooltips?|layout|padding|margins?|logos?|banners?)(?![\w-])"
)
"""What users of a product see and hear."""
_LEAST_TERMS = 2


def reads_aloud(text: str) -> bool:
    """Whether the sentence says by itself what it is about, and does not break off."""
    text = _HERE.sub("", text)
    plain = plain_form(text)
    terms = terms_of(text)
    if points_at_its_moment(text) or _POINTS.search(plain) or _SINGLE_THING.search(text):
        return False
    if _IT.search(plain) and len(terms) < _NAMES_IT:
        return False
    return len(terms) >= _LEAST_TERMS and _CUT_SHORT.search(plain) is None


def is_about_looks(text: str) -> bool:
    """Whether the sentence is about what the product shows, not about how to work on it."""
    return _SHOWN.search(plain_form(text)) is not None


def illustrates(text: str) -> bool:
    """Whether a quote may stand next to the name of its wish, which says what "it" is."""
    plain = plain_form(text)
    unclear = points_at_its_moment(text) or _FOR_NOW.search(plain) or _CUT_SHORT.search(plain)
    return not unclear and _SINGLE_THING.search(text) is None


def says_how_to_work(text: str) -> bool:
    """Whether the sentence says how all work is done, and is about work and its tools.

    "Don't amend commits" and "use pnpm, not npm" do. "Add tests for the parser" and "don't touch
    the auth code" name one thing, and what a feature shows or does is the matter of one task,
    however often it is said.
    """
    plain = plain_form(text)
    lasts = is_meant_to_last(text)
    passing = _OF_THE_MOMENT.match(plain) or _FOR_NOW.search(plain)
    if not reads_aloud(text) or (passing and not lasts):
        return False
    terms = terms_of(text)
    if not any(term.startswith("/") for term in terms) and MATERIAL.isdisjoint(terms):
        return False
    refused = _REFUSES.match(_OF_ANY_CODE.sub("", plain))
    if lasts or _GATED.search(plain):
        return True
    if refused is not None:
        return names_a_kind(refused["what"])
    chooses = _CHOOSES.match(plain) and not _SINGLED_OUT.search(plain)
    by_tool = _BY_TOOL.search(plain) and not plain.startswith("use ")
    return bool(chooses or by_tool or _PREFERS.match(plain))
