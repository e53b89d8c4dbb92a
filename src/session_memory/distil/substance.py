"""How much a short text says without the session it was written in."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from session_memory.core.commands import words
from session_memory.core.text.ascii_words import with_ascii_words
from session_memory.regex_cache import compiled

SHORT_CHARS = 120  # a longer text says something, whatever its words
_SAYS = 4
_SAYS_BY_VERB = 3  # "rename the line reader" needs no more words than it has
_LEADING = 60  # characters before which the verb stands that asks for work

# Words that point at what is on the screen, link, colour or curse: none of them names a thing.
_SMALL = words(
    "a an the and or but if so as at by for from in into of on onto out over to up via with"
    " without whenever actually than then too also just only even still yet very really quite"
    " maybe perhaps again already now here there this that these those it its it's i i'm im i've"
    " i'd i'll me my mine you your you're u ur he she they them their we we're we've we'll us our"
    " let's lets is isn't are aren't am was wasn't were be been being do does did doesn't don't"
    " dont didn't done has have had having will would can can't could should shall might may must"
    " not no nope yes yeah yep ok okay please pls well oh ah hm hmm hey hi hello sorry thanks"
    " thank cool nice good great perfect right wrong sure what what's whats which who where when"
    " why how any some all every everything something anything nothing one ones thing things"
    " stuff way bit lot kind type types like same other another more most much many few less such"
    " own etc get gets got getting go goes going gonna come want wants wanna need needs try"
    " trying know think thinks believe mean means meant say says said tell told see seem seems"
    " look looks looking sounds feel feels guess wish ask asked dude man bro wtf wth omg omfg lol"
    " fuck fucking fucked shit crap damn hell stupid idk aha ahh"
)
# A request made of these and small words could stand in any session.
_ANYWHERE = words(
    "change changes changed issue issues problem problems work works working worked potential"
    " review check ensure make find read start run continue proceed current latest last next"
    " previous first ready message chat context file files code update updates finish finished"
    " complete agent task step steps part option session correct correctly minor big old new"
    " successfully implementation completed fixed resolved updated added tests test pass passes"
    " passing commit commits push merge rebase amend squash fixup force lease pr prs branch main"
    " master once checkout clean cleanup help proper feature features pushed committed merged"
    " squashed explicit comprehensive essential information"
)
_VERBS = words(
    "add adjust align allow apply archive benchmark bring build bump cache catch center clean"
    " close collapse compare compress configure convert copy cover create cut debug decouple"
    " define delete deprecate design detect disable document drop duplicate emit enable encrypt"
    " escape exclude explain expose extend extract fetch filter finish fix fold format gate"
    " generate group handle hide highlight host ignore implement import improve include increase"
    " index inline install integrate introduce invert investigate isolate keep limit link lint"
    " load localize lock log make map mention merge migrate mock move normalize optimize parse"
    " pin polish port prefer prevent print profile publish redesign reduce refactor release"
    " reload remove rename reorder replace report research resize restore restrict restructure"
    " retry return reuse revert revise rewrite scan send set shorten show simplify skip sort"
    " spawn split stop store strip support switch sync tag test throttle track translate trim"
    " tune turn unify update upgrade use validate verify wire wrap write"
)
_COMMON = _SMALL | _ANYWHERE
_TOKEN = compiled(r"[^\W_]\w*(?:['./:#@+-]+\w+)*")
_ASCII_TOKEN = compiled(_TOKEN.pattern, re.A)
"""Finds the same in a text that is ASCII, in two thirds of the time."""
_NAME = compiled(r"\w[./#:@-]\w|\d")
_IDENTIFIER = compiled(r"\w_\w|[a-z][A-Z]")
_HEAD_CHARS = 600  # marks further in are part of what was pasted
_CLIENT_CHARS = 4000
_PICTURE = compiled(r"\.(?:png|jpe?g|gif|webp|heic)\b", re.I)
# What a client or a script sets before or between the words that were typed.
_MARK = compiled(
    r"\[\[[^\]\n]{0,300}\]\]|\[(?:image|pasted text|screenshot)[^\]\n]{0,80}\]"
    r"|(?:'[^'\n]{0,300}|\"[^\"\n]{0,300}|(?<!\S)[/~][^\s'\"]{0,300})"
    r"\.(?:png|jpe?g|gif|webp|heic)['\"]?(?!\S)",
    re.I,
)
_REQUEST = compiled(r"\n## My request[^\n]{0,40}:[ \t]*\n")
_QUESTION = compiled(
    r"[+>\- ]*(?:(?:and|but|so|ok|okay|hm+|wait|also|then)[ ,.]+)*(?:what|whats|why|how|where|when"
    r"|who|which|is|are|was|were|does|do|did|has|have|had|isn'?t|aren'?t|don'?t|should|would|will)\b"
    r"(?! not\b)(?! (?:use|add|change|touch|remove|create|write|commit|push)\b)",
    re.I,
)


@lru_cache(maxsize=4)  # digest, observations and rules look at the same prompts
def typed(text: str) -> str:
    """The words a person typed: without pictures' names, directives and the client's notes."""
    if text.startswith("#") and (request := _REQUEST.search(text, 0, _CLIENT_CHARS)):
        text = text[request.end() :]
    head = text[:_HEAD_CHARS]
    if "[" in head or _PICTURE.search(head):
        text = _MARK.sub(" ", head) + text[_HEAD_CHARS:]
    return text.strip(" \t\r\n\"'")


def telling_words(text: str) -> list[str]:
    """The words of a text that carry meaning, as they are written."""
    return _words_but(_SMALL, text)


@lru_cache(maxsize=16)  # several questions about one request follow each other
def own_words(text: str) -> tuple[str, ...]:
    """Its meaningful words without those that could occur in any session."""
    return tuple(_words_but(_COMMON, text))


def has_own_words(text: str, least: int) -> bool:
    """Whether it has so many of them; most texts show that with their first sentence."""
    text = text.replace("’", "'")
    tokens = (_ASCII_TOKEN if text.isascii() else _TOKEN).finditer(text)
    own = (token for token in tokens if len(token[0]) > 1 and token[0].lower() not in _COMMON)
    return len(tuple(islice(own, least))) == least


def own_terms(text: str) -> set[str]:
    """Its own words in lower case, each once."""
    terms = set(_tokens(text.lower())) - _COMMON
    return {word for word in terms if len(word) > 1}


def _words_but(left_out: frozenset[str], text: str) -> list[str]:
    return [word for word in _tokens(text) if len(word) > 1 and word.lower() not in left_out]


def _tokens(text: str) -> list[str]:
    text = text.replace("’", "'")
    plain = with_ascii_words(text)
    return _TOKEN.findall(text) if plain is None else _ASCII_TOKEN.findall(plain)


def is_unspaced(text: str) -> bool:
    """Is part of it in a script that sets no blanks between words, so that none are counted?"""
    # As a regular expression such wide ranges take 5 ms to compile, in each process.
    return not text.isascii() and any(
        "\u2e80" <= sign <= "\ud7ff" or "\u0e00" <= sign <= "\u0e7f" for sign in set(text)
    )


def stands_alone(text: str) -> bool:
    """Whether a request can be understood on its own."""
    if len(text) > SHORT_CHARS or is_unspaced(text):
        return True
    own = own_words(text)
    weight = sum(_weight(word) for word in own)
    # A verb further in asks too: "but first rename the line reader".
    asks = asks_for_work(text) or any(word.lower() in _VERBS for word in own)
    return weight >= (_SAYS_BY_VERB if asks else _SAYS)


def _weight(word: str) -> int:
    """A name can be looked up, and a link leads to all there is to know."""
    if "://" in word:
        return _SAYS
    if _IDENTIFIER.search(word):
        return _SAYS - 1
    return 2 if _NAME.search(word) else 1


def is_question(text: str) -> bool:
    """Whether an input asks a question, rather than for work."""
    if _QUESTION.match(text) is not None:
        return True
    return text.endswith("?") and not asks_for_work(text)


def is_verb(word: str) -> bool:
    """Whether a word asks for work."""
    return word in _VERBS


def asks_for_work(text: str) -> bool:
    """The first word that is not small is a verb that asks for work."""
    return _first_word(text[:_LEADING]) in _VERBS


@lru_cache(maxsize=16)  # several questions about one request follow each other
def _first_word(text: str) -> str:
    """The first word that is not small, in lower case; "" where there is none."""
    for match in _TOKEN.finditer(text.replace("’", "'")):
        word = match[0].lower()
        if word not in _SMALL:
            return word
    return ""


# The deciding sign comes first, and what stands before it is looked at behind it: so most places
# of a text are passed over at once.
_CODE = compiled(
    r"[-_/.`#:A-Z](?:(?<=\w[_/])\w|(?<=\w\.)\w{2,4}\b|(?<=\w-)\w+-\w|(?<=[a-z][A-Z])"
    r"|(?<=`)[^`\n]+`|(?<=--)\w|(?<=#)\d|(?<=http:)//|(?<=https:)//)"
)
_IN_QUOTES = r"[“\"`](?:(?<=[“\"])[^“”\"\n]{15,}+[”\"]|(?<=`)[^`\n]{16,}+(?<=[.!?…])`)"
_QUOTED = compiled(_IN_QUOTES)
_QUOTED_OR_CITED = compiled(_IN_QUOTES + r"|^\s*>.*$", re.M)
_QUOTE_SIGNS = ('"', "“", ".`", "!`", "?`", "…`")  # what is set as code is a sentence in few texts
_WORDING = compiled(
    r"\b(?:now (?:reads?|says?)|reads like|(?:final|new|your) (?:wording|copy|prose)|tagline"
    r"|(?:re-?wrote|reworded|rephrased)\b[^.]{0,60}\b(?:prose|copy|story|wording|sentences?))\b",
    re.I,
)
_WORDING_CUES = (
    *("now read", "now say", "reads like", "wording", "copy", "prose", "tagline"),
    *("rewrote", "re-wrote", "reworded", "rephrased"),
)
_POINTS = compiled(
    r"\b(?:this|that|these|those) (?:issue|pr|page|file|one|thing|screen|button|error|message|test"
    r"|bug|skill|trail|part)s?\b",
    re.I,
)
_DRAFT_SHARE = 0.3
_ASKS = compiled(
    r"\b(?:should(?:n'?t)?|needs? to|must|i(?: would|'d)? (?:want|like|prefer)|we want|let'?s|lets"
    r"|can (?:you|we)|could (?:you|we)|please|pls|instead of|make sure|don'?t)\b",
    re.I,
)
_INVESTIGATES = compiled(
    r"\b(?:investigate|research|find out|figure out|look into|debug|find the|analy[sz]e|why)\b",
    re.I,
)
_OPINION = compiled(
    r"\b(?:you (?:think|believe|recommend|suggest)|your (?:take|opinion|thoughts?)|thoughts\?"
    r"|confident|where (?:we|are we|did we)|(?:is|are) (?:it|this|that|we|you|there) (?:\w+ )?"
    r"(?:done|ready|running|finished|outstanding|merged|pushed)|learn about|left off"
    r"|did (?:you|we|it)|have (?:you|we)|any ideas?|what(?:'s| is) (?:next|left))\b",
    re.I,
)
_OPERATIONS = words(
    "run start restart kill stop open close launch serve reload refresh show give link tell push"
    " pull commit merge checkout switch rebase stash fetch clean remember save list print try"
    " pick continue explain summarize check take work review"
)
_TO_HAND_ON = compiled(
    r"(?:\w+ ){0,3}(?:create|open|make) (?:an? |the )?(?:draft )?"
    r"(?:pr|pull request|branch|worktree|issue)\b",
    re.I,
)
_NAMES_BY_COUNT = 5
# In lower case, as the text then is.
_HEDGES = compiled(
    r"^i mean\b|\b(?:idk+"
    r"|i hate|i feel like|lol|maybe we|kinda|not really|or something|you know)\b"
)
_HEDGE_CUES = (
    *("i mean", "idk", "i hate", "i feel like", "lol", "maybe we", "kinda", "not really"),
    *("or something", "you know"),
)
_DENSE = 0.36  # share of words that name something
_FEW = 12


def names_code(text: str) -> bool:
    """Whether a text names something of a program: a file, a symbol, a command, a link."""
    return _CODE.search(text) is not None


def names_something(text: str) -> bool:
    """Whether a reader in three months knows what the text is about."""
    return names_code(text) or len(set(own_words(text))) >= _NAMES_BY_COUNT


def is_draft(text: str) -> bool:
    """Whether it is about the wording of a text: much of it is a quotation."""
    if any(map(text.lower().__contains__, _WORDING_CUES)) and _WORDING.search(text):
        return True
    cites = ">" in text
    if not cites and not any(map(text.__contains__, _QUOTE_SIGNS)):
        return False
    quotes = _QUOTED_OR_CITED if cites else _QUOTED
    quoted = sum(len(match[0]) for match in quotes.finditer(text))
    return quoted > _DRAFT_SHARE * len(text)


def asks_for_fact(text: str) -> bool:
    """Whether it asks how something is, not what the agent thinks or what is going on."""
    return (is_question(text) or _INVESTIGATES.search(text) is not None) and (
        _OPINION.search(text) is None
    )


@lru_cache(maxsize=16)  # a turn and its request are both judged by it
def directs(text: str) -> bool:
    """Whether an input asks for work, and says on what."""
    if is_question(text) or is_operation(text):
        return False
    if not names_something(text) and not (asks_for_work(text) and stands_alone(text)):
        return False
    said = len(f"a{text.replace('..', ' ')}z".split())
    if said > _FEW and not is_unspaced(text) and len(own_words(text)) < _DENSE * said:
        return False  # thinking aloud
    if _hedges(text) or (_POINTS.search(text) and not names_code(text)):
        return False
    return asks_for_work(text) or _ASKS.search(text) is not None


def _hedges(text: str) -> bool:
    lowered = text.lower()
    return any(map(lowered.__contains__, _HEDGE_CUES)) and _HEDGES.search(lowered) is not None


def is_operation(text: str) -> bool:
    """Whether it asks only for something of the moment: "kill the server", "push it"."""
    if _TO_HAND_ON.match(text):
        return True
    return _first_word(text[:_LEADING]) in _OPERATIONS
