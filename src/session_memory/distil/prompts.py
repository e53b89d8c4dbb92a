"""What a user's prompt says: approval, rejection or correction of the work, or a request."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.regex_cache import compiled

Approval = Literal["explicit", "implied"]


class Reading(msgspec.Struct, frozen=True):
    """What one prompt says about the work before it."""

    approval: Approval | None
    rejects: bool
    """The work is wrong or does not work."""
    corrects: bool
    """The agent did not do what it should, or is to do it another way; every rejection corrects."""


_HEAD_CHARS = 400  # a verdict stands at the start of a prompt; what follows is often a pasted log
_CLAUSE = compiled(r"([^.!?;,:\n。！？，、…—–]+)([.!?;,:\n。！？，、…—–]*)")
_FILLER = compiled(
    r"^(?:(?:ok|okay|yes|yep|yeah|ah|oh|cool|wow|hey|and|so|now|alright|great|nice|perfect|sure"
    r"|i think|i guess|hmm|ja|oui|sí|да)\s+)+"
)

_PRAISE = r"perfect|great|excellent|awesome|amazing|brilliant|fantastic|wonderful|nice|lovely|sweet"
_EXPLICIT = compiled(
    r"(?:many )?(?:thanks|thank you|thx|tysm|cheers)(?: (?:so much|a lot|very much|again|man|mate"
    r"|claude|codex|all|for (?!any|your help in)\w.*))?"
    rf"|(?:{_PRAISE})(?: (?:work|job|stuff|one|thanks|thank you|now|catch|fix))?"
    r"|(?:this|that|it|everything|all|the \w+)(?:'s| is| are| looks?| seems?)? ?"
    rf"(?:(?:now|all|just|really|very|pretty|so|much|finally) )*(?:{_PRAISE}|good|fixed|solved"
    rf"|resolved"
    r"|done|working|better)(?: (?:now|to me|thanks|again|well|fine))*"
    r"|(?:looks?|seems?) (?:(?:really|very|pretty|all) )?(?:good|great|perfect|nice|right"
    r"|correct|fine"
    r"|ok|okay)(?: (?:to me|now))?"
    r"|lgtm|looks good to me"
    r"|(?:(?:it|that|this|everything|all|the \w+) )?(?:(?:now|all|finally) )?"
    r"(?:works|worked|(?:seems|appears) to (?:be )?work(?:ing)?)"
    r"(?: (?:now|fine|great|well|perfectly|for me|as expected|like a charm|again|correctly"
    r"|nicely))*"
    r"|(?:that|this|it)(?:'s| has)? (?:did it|did the trick|does the trick|fixed it|solved it"
    r"|fixed)"
    r"|well done|good (?:job|work)|nailed it|much better|all good|approved|problem solved"
    r"|issue (?:is )?(?:fixed|resolved|solved)|(?:i )?(?:like|love) (?:it|this|that)"
    r"|exactly(?: what i wanted)?|all (?:tests|checks) (?:are )?(?:pass|passing|green)(?: now)?"
    r"|(?:(?:i|we)(?:'ve| have)? )?merged(?: (?:it|this|that|the pr|that pr))?"
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Swedish, Russian, Ukrainian
    r"|(?:vielen )?dank(?:e(?: schön| dir| sehr)?)?|perfekt|passt(?: so)?|klappt(?: jetzt)?"
    r"|(?:es |das )?funktioniert(?: jetzt| gut| super)?|sieht gut aus|super|läuft(?: jetzt)?"
    r"|merci(?: beaucoup)?|parfait|(?:ça|ca) (?:marche|fonctionne)|nickel|impeccable"
    r"|(?:muchas )?gracias|perfecto|(?:ya )?funciona(?: bien)?|genial|obrigad[oa]|perfeito"
    r"|funcionou"
    r"|grazie(?: mille)?|perfetto|funziona|bedankt|dank je(?: wel)?|(?:het )?werkt(?: nu)?"
    r"|dzięki|działa|tack|спасибо|отлично|(?:всё )?работает|дякую"
)
_EXPLICIT_CJK = compiled(
    r"(?:ありがとう|完璧|動きました|素晴らしい|いい感じ|谢谢|謝謝|完美|可以了|搞定|太好了|감사|고마|완벽)"
)
_SHIP = r"(?:commit|push|ship|merge|deploy|release|publish|submit|land|post)"
_IMPLIED = compiled(
    r"(?:(?:please|can you|let's|lets|go ahead and|then|just) )*"
    rf"{_SHIP}(?: (?:and|then|&|\+) {_SHIP})*"
    r"(?: (?:it|this|that|these|them|your|the|changes?|to|main|master|remote|pr|origin|up"
    r"|directly|all"
    r"|everything|now|branch|in|please))*"
)

# What begins with a word stands in one group: it is tried at words only.
_REJECTS = compiled(
    r"\b(?:(?:does|do|did|is|are|was|has|have|can|could|will|would)(?:n't|nt| not)\b(?: \w+){0,2} "
    r"(?:work(?:ing|ed)?|fix(?:ed)?|solve[ds]?|help(?:ed)?|right|correct|compile|build|run"
    r"|pass|start|render|load|what i)\b"
    r"|not (?:working|fixed|correct|what i|good enough|right(?! now| away))\b"
    r"|(?:is|was) not (?:right|correct|it|what|how|good)\b(?! now)"
    r"|never work(?:s|ed)\b"
    r"|still (?:not|fail\w*|broken|wrong|an issue|crash\w*|the same|doesn'?t|does not|isn'?t"
    r"|happen\w*|hang\w*|error\w*|red)\b"
    r"|still (?:get(?:ting)?|see(?:ing)?|ha(?:ve|ving|s)|there'?s?) (?:\w+ ){0,3}"
    r"(?:errors?|issues?|problems?|bugs?|failures?|warnings?)\b"
    r"|(?:this|that|it|you|which)(?:'s| is| are|'re| was|'s all)? (?:(?:completely|totally"
    r"|just|all|so|still|now|even) )*(?:wrong|incorrect|broken|useless|terrible|worse|broke)\b"
    r"|(?:something|you) broke\b|made (?:it|things) worse\b|broke (?:it|everything)\b)"
    r"|'s not (?:right|correct|it|what|how|good)\b(?! now)"
    r"|^(?:(?:please |just )?(?:revert|undo|roll ?back|discard)(?:$| (?:it|this|that|these|those"
    r"|your|all|everything|the (?:last )?changes?))|(?:wrong|broken|incorrect)$)"
    r"|(?:funktioniert|geht|klappt|läuft) (?:\w+ )?nicht|das ist falsch|marche (?:toujours )?pas"
    r"|fonctionne pas|c'est faux|no funciona|está mal|não funciona|non funziona|sbagliato"
    r"|werkt (?:\w+ )?niet|klopt niet|nie działa|не работает|неправильно|не працює"
    r"|動かない|動きません|違います|不对|不行|错了|没用|还是不|不工作|안 ?돼|안 ?됩니다|틀렸"
)
# Each rejection in plain letters has one of these; few prompts have any.
_REJECT_CUES = (
    *("n't ", "dont ", "dnt ", "snt ", "rent ", "vent ", "cant ", "lnt ", "not ", "never work"),
    *("still ", "wrong", "incorrect", "broke"),
    *("useless", "terrible", "worse", "revert", "undo", "roll", "discard", "nicht", "falsch"),
    *("marche", "fonctionne", "faux", "funciona", "sbagliato", "funziona", "niet"),
)
_CORRECTS_FIRST = compiled(
    r"(?:no|nope|nah)\b(?! (?:problem|worries|need|rush|thanks|thank|idea|changes?|code))"
    r"|(?:wait|stop|hold on|whoa|actually)\b|(?:don't|do not|dont|never)\b"
    r"|(?:nein|non|nee|нет|ні)\b|不是|違う"
)
_CORRECTS = compiled(
    r"\b(?:i (?:said|meant|told you|asked (?:you )?(?:for|to)|already (?:said|told)"
    r"|did(?:n't|nt| not) (?:ask|want|mean|say))\b"
    r"|(?:that's|thats|that is|this is|it's) (?:not|wrong)\b"
    r"|(?:is|are|was|it's|got|the) wrong\b(?! with)"
    r"|you (?:forgot|missed|should(?:n't| not| have)|were supposed|misunderstood|ignored|keep"
    r"|broke|(?:did(?:n't|nt| not)|have(?:n't|nt| not)) (?!mention|say|have to)\w+)\b"
    r"|why (?:did|are|aren't|didn't|would|have) ?you\b|not what i\b"
    r"|(?:don't|do not|dont) (?:use|do|add|change|touch|remove|create|write|need|want|commit"
    r"|push)\b|stattdessen\b|plutôt\b)|^wrong\b"
)
# Each correction has one of these.
_CORRECT_CUES = (
    *("i said", "i meant", "i told", "i asked", "i already", "i did", "not", "wrong", "why "),
    *("you forgot", "you missed", "you should", "you were", "you mis", "you ignored", "you keep"),
    *("you broke", "you did", "you have", "don't ", "dont ", "stattdessen", "plutôt"),
)

_STOPS = compiled(
    r"(?:(?:no|ok|okay|wait|please|just|you can|you should|let's|lets) )*(?:stop(?: it| that| here"
    r"| there| now| please)*|never ?mind|forget (?:it|that|about it)|cancel(?: (?:it|this|that))?"
    r"|leave it(?: (?:there|as is|alone|for now))?|(?:that's|thats|it's|this is)? ?(?:unnecessary"
    r"|not (?:necessary|needed)))"
)

_STOPS_CUES = ("stop", "never", "forget", "cancel", "leave it", "necessary", "needed")


def stops_work(text: str) -> bool:
    """Whether a prompt does nothing but end what is under way; a question before it may say why."""
    head = text[:_HEAD_CHARS].replace("’", "'").lower().strip()
    if not any(map(head.__contains__, _STOPS_CUES)):
        return False
    clauses = [match[1].strip() for match in _CLAUSE.finditer(head) if "?" not in match[2]]
    said = [clause for clause in clauses if clause]
    return bool(said) and all(_STOPS.fullmatch(clause) for clause in said)


_WEAK = compiled(
    r"(?:please )?(?:continue|go on|go ahead|proceed|keep going|carry on|resume|yes|yep|yeah|y"
    r"|ok|okay"
    r"|sure|no|n|hi|hello|hey|next|retry|try again|again|done|clear|exit|quit|test|ping|weiter"
    r"|ja|oui"
    r"|continuer|continua|continúa|sí|да|продолжай|继续|続けて|はい|好|계속|\w)(?: please)?",
    re.I,
)
_LOCAL_COMMANDS = compiled(
    r"/(?:usage|clear|cost|status|model|config|login|logout|help|compact|context|resume|exit"
    r"|quit|mcp"
    r"|permissions|theme|vim|doctor|memory|hooks|agents|plugin|plugins|ide|new|fast|effort|export"
    r"|rename|stats|feedback|bug|upgrade|skills|tasks|diff|approvals|init-config|output-style"
    r"|plan)\b"
)
_TASK_NOTICE = '{"task_id":'  # a client informs its agent about a command in the background
_SLASH = compiled(r"(?:<command-(?:name|message)>|/[\w:.-]+$)")


@lru_cache(maxsize=16)  # the digest and the observations read the same prompts
def read_prompt(text: str) -> Reading:
    """Read a prompt once for all it may say; a rejection anywhere in it takes approval back."""
    head = text[:_HEAD_CHARS].replace("’", "'").lower().strip()
    clauses = [(match[1].strip(), "?" in match[2]) for match in _CLAUSE.finditer(head)]
    rejected = any(
        _rejects(clause)
        for clause, is_question in clauses
        if not is_question or clause.startswith("why")
    )
    return Reading(
        approval=None if rejected else _approval(clauses),
        rejects=rejected,
        corrects=rejected or _corrects(head[:200] if len(text) > _HEAD_CHARS else head, clauses),
    )


def _rejects(clause: str) -> bool:
    may_reject = not clause.isascii() or any(map(clause.__contains__, _REJECT_CUES))
    return may_reject and _REJECTS.search(clause) is not None


def _approval(clauses: list[tuple[str, bool]]) -> Approval | None:
    approval: Approval | None = None
    for clause, is_question in clauses:
        if is_question or not clause:
            continue
        bare = _FILLER.sub("", clause)
        if _EXPLICIT.fullmatch(clause) or (bare != clause and _EXPLICIT.fullmatch(bare)):
            return "explicit"
        if not clause.isascii() and _EXPLICIT_CJK.match(clause):
            return "explicit"
        if _IMPLIED.fullmatch(bare):
            approval = "implied"
    return approval


def _corrects(head: str, clauses: list[tuple[str, bool]]) -> bool:
    if _CORRECTS_FIRST.match(head):
        return True
    if any(map(head.__contains__, _CORRECT_CUES)) and _CORRECTS.search(head):
        return True
    # "Could we use X instead?" proposes; "use X instead" corrects.
    return "instead" in head and any(
        "instead" in clause for clause, is_question in clauses if not is_question and clause in head
    )


def is_request(text: str) -> bool:
    """False for "continue", "yes", a greeting, or a slash command that only drives the client."""
    plain = text.strip()
    if plain.startswith(_TASK_NOTICE):
        return False
    if not plain or _LOCAL_COMMANDS.match(plain) or _SLASH.match(plain):
        return False
    if len(plain) > 60:
        return True
    words = plain.strip(" .!?,…。！").lower()
    return bool(words) and not _WEAK.fullmatch(words) and not _EXPLICIT.fullmatch(words)


_UNFINISHED = compiled(
    r"(?::|\b(?:this|these|the|a|an|and|or|to|with|from|of|into|for|like))$", re.I
)
_UNFINISHED_CHARS = 6


def objective_of(text: str, limit: int = 300) -> str:
    """The first paragraph of a prompt, joined with the next where it only announces it."""
    taken = ""
    for paragraph in text[: limit * 8].split("\n\n"):
        taken = f"{taken} {paragraph.strip()}".strip()
        if len(taken) >= 40 and not _UNFINISHED.search(taken, len(taken) - _UNFINISHED_CHARS):
            break
    return excerpt(taken, limit)


# A program, not a person, asks for a title or a summary: agents run such sessions of their own.
_INTERNAL = compiled(
    r"\W*(?:summari[sz]e (?:this|the) (?:part of (?:a|the) )?(?:conversation|session|transcript)"
    r"|(?:please )?(?:generate|write|create|provide) an? (?:very )?(?:short|concise|brief)"
    r" (?:\w+ )?(?:title|summary) (?:for|of) (?:this|the|a) (?:\w+ )?(?:conversation|session|chat))"
)


def is_internal_prompt(text: str) -> bool:
    """Whether a program asks for a title or summary of a conversation (SES-03)."""
    return _INTERNAL.match(text[:500].lower()) is not None
