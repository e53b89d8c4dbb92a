"""What a sentence of the user is about: stems of its meaningful words, synonyms under one stem."""

from __future__ import annotations

from functools import lru_cache

from session_memory.core.commands import words
from session_memory.regex_cache import compiled

_TOKEN = compiled(r"[a-z][a-z0-9_.'/]*[a-z0-9]")
_SHORT_FORMS = compiled(
    r"\b(do|did|does|should|is|are|was|were|would|could|has|have|must|need)(?:nt| not)\b"
)
_SHORT_CUES = (" not", "dont", "dnt", "snt", "arent", "erent", "avent", "ustnt")
_LEAD = compiled(
    r"(?:(?:ok|okay|k|please|pls|also|and|but|so|no+(?=[,.!])|noo+|nope|nah|yes|yeah|yep|oh|ah|well"
    r"|hey|wait|whoa|hm+|actually|just|btw|then|now|again|dude|man|my dude|omfg|omg|wtf|ugh|ew|cool"
    r"|great|nice|perfect|sure|alright|first|second|finally|lastly|one (?:more )?thing"
    r"|another thing|important|note|reminder|claude|codex|fucking|in general|generally|i think"
    r"|i feel like|i guess|i mean|like|because|idk+|however|(?:can|could|would) (?:you|we))"
    r"(?:[ ,.!:–—-]+|$))+"
)
_COLOURS = compiled(r"\b(?:really|very|literally|explicitly|fucking?|(?:god)?damn) ")
_SMALL = words(
    "a an the this that these those it its it's is are was were be been being am i i'm im i've i'd"
    " i'll you your you're yours we we're we've we'll our us they them their he she me my mine to"
    " of in on at for with from by as and or but so if then than just also too very really please"
    " pls can could would should shouldn't will shall may might must do does did done don't didn't"
    " doesn't isn't aren't wasn't have has had haven't not no yes ok okay let let's lets there"
    " here what which who when where how why like get gets got getting go goes going make makes"
    " made making one ones thing things something anything everything some any all more most other"
    " others another into out up down about again still now maybe kind sort lot want wants wanted"
    " need needs needed think know say says said see look looks right well oh hey sure actually"
    " already always never ever from onwards only even yet such same own put try trying way ways"
    " stuff etc because since while until unless before after first next time every each whenever"
    " good great better best bad nice much many few bit little give gives tell tells told instead"
    " rather prefer ensure avoid stop keep remember note idea feel seems seem whole that's there's"
    " what's heres here's however explicitly cuz gonna wanna able u new old correctly properly"
    " over both either forward without"
)
# "use the /tidy-up skill": who names the same tool means the same, whatever else is said.
_NAMED_TOOL = compiled(
    r"\b(?:use|using|run|with|according to) (?:the |our )?"
    r"(?:/([a-z][\w-]{3,})(?!/)|([\w-]{4,}) skill\b)"
)
_SUFFIXES = ("ically", "ations", "ation", "ingly", "edly", "ings", "ing", "ies", "ied", "ed", "es")


def plain_form(sentence: str) -> str:
    """Lower case, one spelling of negations, without the words that only open a sentence."""
    text = sentence.replace("’", "'").lower()
    if any(map(text.__contains__, _SHORT_CUES)):
        text = _SHORT_FORMS.sub(r"\1n't", text)
    if " u " in text:
        text = text.replace(" u ", " you ")
    opening = _LEAD.match(text)
    text = text[opening.end() :] if opening else text
    if "ly " in text or "very" in text or "fuck" in text or "damn" in text:
        text = _COLOURS.sub("", text)
    return text.strip(" .,!*-")


def without_opening(sentence: str) -> str:
    """The sentence as it was typed, without "okay", "oh wait" and the like before it."""
    opening = _LEAD.match(sentence.lower())
    return sentence[opening.end() :] if opening and opening.end() < len(sentence) else sentence


def terms_of(sentence: str) -> tuple[str, ...]:
    """What a sentence is about, sorted; a tool that is to be used stands there as `/name`."""
    text = plain_form(sentence)
    named = {f"/{match[1] or match[2]}" for match in _NAMED_TOOL.finditer(text)}
    words = (word for word in _TOKEN.findall(text) if word not in _SMALL)
    return tuple(sorted(named.union(map(stem, words))))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A word without its ending; what means the same has the same stem."""
    bare = _bare(word)
    return _SAME.get(bare, bare)


def _bare(word: str) -> str:
    if not word.isalpha():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    else:
        if word.endswith("s") and len(word) > 3 and not word.endswith("ss"):
            word = word[:-1]
        if word.endswith("e") and len(word) > 3:
            word = word[:-1]
    if len(word) > 6 and word.endswith("at"):
        word = word[:-2]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word


_SAME: dict[str, str] = {
    _bare(name): kind
    for kind, names in {
        "edit": "edit change modify modified rewrite rewrote alter touch",
        "discuss": "discuss talk ask chat consult agree",
        "visual": "visual visually screenshot browser chrome playwright",
        "short": "short shorter concise concisely brief briefly terse succinct",
        "simple": "simple simpler simplify simplified plain plainer minimal",
        "link": "link url",
        "remove": "remove delete",
        "docs": "docs document documentation readme",
        "test": "test verify verified",
        "write": "write wrote written wording writing",
        "connect": "connect connected attach",
        "compat": "compat compatibility compatible backward backwards",
        "author": "author coauthor attribution",
        "dash": "dash dashes emdash emdashes",
    }.items()
    for name in names.split()
}


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


PROCESS = _stems(
    "tests lint linter formatter format commit docs changelog pr review skill subagent agent"
    " branch worktree comments link ci build plan investigate analysis message coverage"
    " typecheck tool command script version release migration spec push staging screenshot"
    " author dash emoji mock logs"
)
"""What every task has to do with: wishes about these concern more than one task."""
MATERIAL = PROCESS | _stems(
    "files markdown hooks dependency dependencies packages libraries imports types variables todos"
    " placeholders stubs fallbacks hacks workarounds warnings credentials secrets console prints"
    " summary generated code force tabs spaces main master prod database npm pnpm yarn bun pip uv"
    " docker sed awk python node git gh issues fixtures snapshots hardcoded repo project compat"
    " standard interfaces classes"
)
"""What work is done on and with, as opposed to what one feature shows or does."""
GENERIC = _stems("use creating add edit write run start fix work set have coming back take")
"""Words that say little about what a sentence means."""


_ARTICLE = compiled(r" (?:a|an|my|your|our|his|her|their|any of|all|some|one|anything)\b|.*\bthe\b")
_PLURAL = compiled(r"\b[a-z][a-z-]{2,}(?<!s)(?<!u)(?<!i)s\b")
_NO_PLURAL = words("does has was always perhaps")


def names_a_kind(what: str) -> bool:
    """Whether words name a kind of thing (" commits") and not one thing (" the commit")."""
    if _ARTICLE.match(what):
        return False
    return any(match[0] not in _NO_PLURAL for match in _PLURAL.finditer(what))
