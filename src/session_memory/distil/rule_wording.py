"""Whether a sentence of the user sounds like a rule for later work.

Wording alone hardly tells a rule from a one-off wish. So a sentence is "firm" only when it names
something general and says that it always holds; every other candidate counts only once the user
has said the same in another session.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.commands import words
from session_memory.core.schema import RuleStance
from session_memory.distil.cued_patterns import Sentence, cued, words_in
from session_memory.distil.rule_intents import CUES, ENDED, INTENTS, TASTES, voiced
from session_memory.distil.rule_terms import MATERIAL, names_a_kind, plain_form, terms_of
from session_memory.regex_cache import compiled

ASKS_FOR_REPORT = "asks to be told"
WANTS_IT_WRITTEN = "wants it written down"
SHOULD_BE = "says it should be so"
SHOULD_NOT_BE = "says it should not be so"


Moment = Literal["opening", "later", "refused", "reason"]
"""When a sentence was said: in the first prompt, which mostly describes one task; once there was
work to correct; right after the user stopped the agent; or as the reason for refusing a call."""


class Wording(msgspec.Struct, frozen=True):
    """How a sentence sounds."""

    why: str
    firm: bool
    stance: RuleStance
    intent: str | None = None


_LEAST_CHARS, _MOST_CHARS = 10, 280
_LEAST_WORDS, _MOST_WORDS = 2, 45
_FIRM_WORDS = 28  # a longer sentence explains
_SHORT_WORDS = 16

_ACT = (
    r"(?:add|amend|ask|assume|attach|bump|bypass|call|change|check|close|code|comment|commit|copy"
    r"|create|delete|deploy|disable|document|edit|ensure|execute|explain|fetch|fix|follow|force"
    r"|format|generate|guess|hard-?code|hide|ignore|implement|import|include|inline|install|invent"
    r"|keep|launch|leave|link|lint|list|log|make|mark|mention|merge|mock|modify|move|name|open"
    r"|overwrite|pin|post|prefix|print|publish|push|put|read|rebase|refactor|release|rely|remove"
    r"|rename|replace|reply|report|respond|reuse|revert|rewrite|run|save|say|send|set|show|skip"
    r"|spawn|split|squash|start|stash|store|suggest|suppress|swallow|tag|test|touch|trust|update"
    r"|upgrade|use|validate|verify|work|wrap|write|try to)"
)

# --- what takes a sentence out ---

_QUESTION = compiled(
    r"(?:what|what's|whats|why|how|where|when|who|which|is|are|was|were|does|do you|do we|do i|did"
    r"|has|have you|will|isn't|aren't|doesn't|should|shall|any|am i)\b"
)
_ALOUD = cued(
    "maybe perhaps wonder wondering sure idk idkk idkkk might could probably suppose thinking if"
    " assume assumption believe seem seems look looks thought tried whether",
    r"\b(?:maybe|perhaps|i wonder|wondering|not sure|idk+|might|could be|probably|i suppose"
    r"|i'?m (?:just )?thinking|if you (?:want|like|can)|if possible|i assume|my assumption"
    r"|i believe|seems? like|looks? like|i thought|i tried|whether)\b",
)
_NO_RULE = cued(
    "don't never nevermind always can't lorem",
    r"\bdon't (?:know|worry|think|see|understand|get|remember|care|mind|recall|believe"
    r"|have(?! to)|mean|seem|work|look|feel|even know|forget)\b",
    r"\bnever ?mind\b|\bas always\b|\blorem\b|\bcan't\b",
    r"\b(?:always|never) (?:been|was|were|had|has|have|seen|heard|worked|works|fails?|failed|shows?"
    r"|happens?|returns?|gets?|goes|says|said|told|asked|did|does|got|ran|runs|executes?)\b",
)
_ONCE = (
    r"\b(?:yet|now|this time|this once|temporar\w+|at the moment|later|today|tomorrow|tonight"
    r"|for this|in this (?:pr|case|task|step|change|commit|session|branch)"
    r"|this (?:session|task|pr|commit|step|change|branch|round)|until (?!i\b)|currently|at first"
    r"|as is|for a (?:while|moment))\b"
)
_ONCE_CUES = (
    "yet now time once temporary temporarily moment later today tomorrow tonight this until"
    " currently first is while"
)
_FOR_ONCE = cued(_ONCE_CUES, _ONCE)
_PASSING = cued(
    f"{_ONCE_CUES} anymore more instead still",
    _ONCE,
    r"\b(?:anymore|any more|instead|still|first)\b",
)
_POINTING = words(
    "this these those it its it's here there them they he she above below that that's"
)
_POINTS = compiled(
    r"\b(?:this|these|those|it|its|it's|here|there|them|they|he|she|above|below)\b"
    r"|\bthat(?:'s)?(?: one| thing)?(?:$|[.,!])"
    r"|\b(?:like|do|did|want|need|for|of|about|with) that\b"
)
_THIS_PLACE = compiled(
    r"\b(?:in|for|across|of) this (?:repo\w*|project|code ?base|package)\b|^we use .*\bhere\b"
    r"|\bit works\b"
)
# "It" behind one of these mostly means what the sentence itself has named.
_CLAUSE = compiled(r" (?:when|if|so|because|since|which|where|unless|until|but|as)\b.*$")
_URL = compiled(r"\bhttps?://\S+")
_CODE = compiled(r"[`\"“]|\(\)|[a-z][A-Z]|\w_\w|#\d|\b\d+(?:px|ms|s|%|x)?\b")
_SYMBOL = compiled(r"\w_\w|[a-z][A-Z]|\(\)")
_STORY = compiled(r"(?:i|we) (?:just |already |recently )?(?:\w+ed|made|did|got|ran|saw|went)\b")
_SHIPS = compiled(
    r"(?:(?:you can|we can|let's|lets|go ahead and|make sure to|just|and|then) )*"
    r"(?:commit|push|merge|deploy|ship|land|release|rebase|pull|check ?out|publish|open|create)\b"
    r"(?!.*\b(?:should|must|never|always|not|don't|only|before|after|without|messages?|with|using"
    r"|use)\b)"
)

# --- what makes a sentence firm ---

_UNIVERSAL = cued(
    "always never ever circumstances times",
    r"^(?:you |we )?(?:should |must |have to |need to |can |may )?(?:always|never) (?:ever )?"
    rf"{_ACT}\b",
    r"^(?!the|it|that|this|he|she|they)\w.{0,60}?"
    r"\b(?:should|must|may|shall|needs? to|ha(?:s|ve) to) (?:always|never)(?: ever)? \w",
    rf"\bwe (?:always|never) {_ACT}\b|\bi (?:always|never) want\b|\bdon't ever {_ACT}\b",
    rf"(?:[,;–—-]|\b(?:and|but|please|so|then|to)) (?:always|never) (?:ever )?{_ACT}\b",
    r"^(?!they|these|those|there|the|we|you|tests)(?:[\w-]+ ){0,3}[\w-]+s are (?:always|never) \w",
    r"\bunder no circumstances\b|\bat all times\b",
)
_LASTING = cued(
    "now point onwards forward future time rule convention policy standard whenever everytime"
    " anytime",
    r"\bfrom (?:now|here|this point) on(?:wards?)?\b|\bgoing forward\b|\bin (?:the )?future\b",
    r"\bnext time\b(?! (?:it|the|i|we|this|that|they)\b)|\bas a (?:general )?rule\b",
    r"\bby convention\b",
    r"\bour (?:convention|rule|policy|standard) is\b",
    rf"\b(?:every ?time|each time|whenever|any ?time) you {_ACT}\b",
)
_DIRECTS = compiled(
    rf"\b(?:don't|never|always|please|make sure|must|should|want you|ask|(?:re)?{_ACT})\b"
)
_SPECULATES = compiled(r"\b(?:will|would|could|may|might|we can|going to|want to|plan to)\b")
# A kind of thing that every session makes: what it must be like is no matter of one task.
_KIND = (
    r"(?:(?:unit|e2e|integration|new|all|our|your|every|each|any|code|git) )*(?:tests?|commits?"
    r"|commit messages?|comments?|prs?|pull requests?|branch(?:es)?|docs?|(?:log|error) messages?"
    r"|reviews?|reviewers?|review agents?|subagents?|workers?|migrations?|functions?|methods?"
    r"|commands?|scripts?|endpoints?|releases?|names?|imports?)"
)
_FOR_EVERY = cued(
    "should must shouldn't mustn't need needs has have",
    rf"^(?:{_KIND} (?:should|must|shouldn't|mustn't|needs?|need to|ha(?:s|ve) to)\b"
    r"(?! (?:all )?(?:pass|be (?:green|fixed|added|removed|updated)|work|run|still)))",
)
_REASONED = cued(
    "given because since consistent consistency that otherwise",
    r"^(?:we (?:should(?:n't)?|must(?:n't)?|want to|don't want|need to) .{8,}"
    r"\b(?:given (?:that|the|how)|because|since|to be consistent|for consistency|so that"
    r"|otherwise)\b)",
)
_REMEMBER = compiled(
    r"(?:remember|keep in mind) (?:that )?(?:we|i|i'd|you|to|not to)\b(?! (?:push|commit)\b)"
)
_NOT_WANTED = cued(
    "want",
    r"(?:^|, |\b(?:i|we) )(?:don't|didn't|never) (?:\w+ly )?want"
    r"(?! (?:this|these|those|that|it|them)\b|$| the (?:\w+ ){0,3}\w+$)",
)
_WANTED = cued(
    "want prefer rather like",
    r"^(?:(?:because |so )?we want (?!to\b|it\b|that\b|this\b|these\b)\w"
    r"|(?:i|we)(?:'d| would)? (?:prefer|rather|like it when)\b(?!.*\b(?:option|one|[a-d])\b))",
)
_FITS = cued(
    "align match consistent consistency follow stay remain mirror conform",
    r"\b(?:should|must|needs? to|ha(?:s|ve) to) (?:align|match|be consistent|follow|stay|remain"
    r"|mirror|conform)\b|\bto be consistent\b|\bfor consistency\b",
)
_MUST = cued(
    "must mustn't supposed",
    r"^(?:(?!(?:you|it|i|we|there|that|they|he|she|the|a|an|your|my)\b)[\w'/. -]{3,60}"
    r" (?:must (?:also |only )?(?!be\b|have\b)|mustn't |(?:is|are)(?:n't)? supposed to )\w)",
)
_NOT_TO_BE = cued(
    "shouldn't",
    r"^(?:(?!(?:you|it|i|there|that|they|he|she)\b)[\w' -]{2,60} shouldn't (?!happen\b)\w)",
)
_WRITE_DOWN = cued(
    "md memory learning learnings rules",
    r"\b(?:add|put|note|document|mention|record|remember|save|write)\b.*"
    r"\b(?:in|to|into|as)(?: our| the| your| a)? (?:agents?[. ]?md|claude[. ]?md|memory|learnings?"
    r"|rules)\b|\bin (?:agents?|claude)[. ]?md (?:mention|add|note|say)\b",
)
_CUSTOM = cued(
    "pattern convention standard practice guideline policy",
    r"\b(?:pattern|convention|standard|practice|guideline|policy) (?:here )?(?:is|was)"
    r" (?:to|that|not)\b",
)
_CONTRAST = compiled(r"use [^,]{2,40},? (?:not|no|never) \w")
_DECIDES = compiled(
    r"let's (?:only |just )?(?:use|keep|stick (?:to|with)|go with) [\w ./-]{2,40}"
    r" (?:instead of|rather than|over|not) \w"
)
_INSTEAD = compiled(
    r"(?:use|run) [\w./@-]+(?: [\w./-]+){0,3}(?:,? not | instead of | rather than )\w"
)
_CONVENTION = compiled(
    rf"(?:in this (?:repo|project) |since |because |as )?we (?:(?:always|never) {_ACT}\b"
    r"|only (?:use|support|commit|test|merge|release|deploy|target|write|allow)\b"
    rf"|don't (?:do|{_ACT})\b|(?:use|prefer|follow|write|name|call|keep|stick to|go with) .{{2,60}}"
    r"\b(?:here\b|everywhere|not \w|instead of|rather than|across|throughout"
    r"|in this (?:repo|project|code ?base)))"
)
_GATE = cued(
    "without unless before prior first",
    r"\bwithout (?:asking|my (?:ok|okay|approval|permission|consent|confirmation|say)|me\b"
    r"|discussing|telling|checking with|consulting|permission|approval)",
    r"\bunless (?:i|we) (?:ask|say|tell|request|approve|explicitly|specifically)"
    r"|\bunless (?:specifically )?(?:asked|told|requested|instructed)",
    r"\b(?:discuss|ask me|ask first|check with me|talk to me|tell me|show me|consult me"
    r"|confirm with me)\b.{0,60}\b(?:before|prior to) "
    r"(?:you |making |any |doing |editing |changing |we )",
    r"\b(?:need|have|want|like|should|must|always|let's|ought)(?: to| you to)?"
    r" (?:discuss|talk about|ask me)\b.{0,30}\b(?:first|before)",
)
_AGAIN = cued(
    "told asked keep said",
    r"\bi(?:'ve| have)? (?:already )?(?:told|asked) you (?:\w+ ){0,2}not to \w",
    r"\b(?:you|why do you) keep (?!getting|seeing|having|hitting)\w+ing\b",
    r"\bi said (?:no|not to|don't|never)\b",
)
_STOPS = compiled(r"(?:please )?stop \w+ing\b(?P<what>.*)$")
_FORBIDS = compiled(
    r"(?:you (?:should|must)n't|don't(?: ever)?|i don't want you to|let's not)"
    rf" {_ACT}\b(?P<what>.*)$"
)
_REFUSES = compiled(
    r"(?:(?:i|we) (?:never|don't) (?:ever )?want(?! to\b| it\b| you\b)|no|avoid)"
    r"(?P<what> [\w' -]+)$"
)
_NOTHING_REFUSED = words(
    "need problem problems worries idea changes change issues issue rush thanks more other errors"
    " error tests test code difference questions commits longer one way further additional new"
)
_TO_MAIN = compiled(
    r"don't (?:push|commit|merge|deploy)(?: directly| straight)? (?:to|into|on)"
    r" (?:main|master|prod)"
)
_A_TOOL = compiled(r"don't use [a-z][\w-]+(?: (?:for|to|in|when) .*)?$")

# --- what counts when it is said again in another session ---

_AGAINST = cued(
    "don't never stop avoid shouldn't mustn't didn't no unnecessary necessary hate dislike without",
    r"^(?:you (?:can |should )?)?(?:don't|never|stop|avoid) (?:ever )?\w+",
    r"\b(?:don't|never) (?:\w+ly )?(?:want|need|like|have to|be|do)\b",
    rf"\bdon't {_ACT}\b|\bdidn't (?:ask|want|need|tell)\b|^no (?!need|problem|worries)\w+",
    r"\b(?:unnecessary|not necessary|i (?:hate|dislike)|without (?:me|asking))\b",
    r"\bavoid \w",
)
_SHOULD = words("should must prefer want")
_SHOULD_NOT = words("shouldn't mustn't")
_FOR = cued(
    "use prefer follow stick sure ensure keep remember only before after whenever often rather"
    " should must need have forgot missed didn't instead using",
    r"^(?:use|prefer|follow|stick to|make sure|ensure|be sure|keep(?! \w+ing\b| in mind)"
    r"|remember to|only use)\b",
    r"^(?:run|test|lint|commit|push|update) (?:.+ )?(?:before|after|whenever|for every|often)\b",
    r"\b(?:make sure|i(?:'d| would)? (?:prefer|rather|like it when)|we prefer"
    r"|we should (?:always|only|use|discuss|keep|follow)"
    r"|you (?:should|must|need to|have to|forgot|missed|didn't)|instead of|rather than"
    r"|using (?:the |our |a )?\S+|use (?:(?:the|our|a) \S+|/\w+)"
    r"|before (?:you )?(?:commit|push|merg|open|finish)\w*)\b",
)
_TOOLED = cued(
    "with using use via run according",
    r"\b(?:(?<!go )(?<!ahead )(?<!start )with|using|use|via) (?:the |our )?/?[a-z][\w-]+(?: \d+)?"
    r"(?:$|[,.]| (?:skill|subagent|agent|workflow|as a|once|and)\b)",
    r"\b(?:use|using|run|with|according to) (?:the |our )?/[a-z][\w-]{3,}(?!/)",
)
_REPORT = cued(
    "know tell show link give send",
    r"\blet me know(?: also)? (?:if|when|whether|what|which|how)\b",
    r"^(?:tell|show) me (?:if|when|whether)\b|^link me\b",
    r"^(?:give|send|show) me (?:the|a) (?:\w+ ){0,2}(?:link|url|path|command|summary|diff|pr)\b",
)
_PROPOSES = cued(
    "let's lets",
    r"\blet'?s (?:not |only |just |always |also |rather )?"
    r"(?!see\b|go\b|start\b|continue\b|try\b|move on\b)\w+ \w",
)
_CHECKS_UP = compiled(
    r"(?:did|have) you (?:already )?(?:run|ran|test|tested|check|checked|updated?|add|added|verify"
    r"|verified|lint|linted|format|formatted|read)\b|why (?:didn't|haven't|aren't) you\b"
)
_SUGGESTS = compiled(
    r"(?:shouldn't|couldn't|wouldn't|isn't|aren't|can't|don't|should)"
    r" (?:we|you|it|the|that|there|this)\b|why (?:don't|not|can't|isn't|aren't)\b"
    r"|(?:can|could) (?:we|you) (?:not |always |also |only )?\w+"
    r"|do we (?:really )?(?:need|want|have)\b"
)
_WHY_DID = compiled(r"why (?:did|are|do|would) you\b")
_ALLOWS = compiled(
    r"(?:(?:from now on|going forward),? )?(?:you (?:can|may)|feel free to"
    r"|it's (?:ok|okay|fine|alright|allowed) (?:to|for you)) "
)
_SPARES = compiled(
    r"(?:(?:from now on|going forward),? )?(?:(?:there's )?no need to|you don't (?:have|need) to"
    r"|no longer (?:need|have) to) "
)

_DIRECTIVE = compiled(
    r"(?:always|never|don't|no|avoid|stop|make sure|let me know|you (?:should|must)|from now on"
    r"|let'?s|(?:i|we) (?:don't|never) want|i(?:'d| would)? (?:prefer|rather)"
    rf"|we (?:should|need to|always|never|use)|{_ACT}|discuss|link me|give me|prefer)\b"
)
_NEGATES = words("never don't no not without stop shouldn't mustn't")


_FIRM_CUES = frozenset[str]().union(
    *(each.cues for each in (_UNIVERSAL, _LASTING, _GATE, _AGAIN)),
    words(
        "remember mind should shouldn't must mustn't want need needs has have don't no avoid stop"
        " only everywhere across throughout here instead rather supposed consistent consistency md"
        " memory learning learnings rules not over prefer let's i'd"
    ),
)
_ANY_CUE = _FIRM_CUES.union(
    *(each.cues for each in (_AGAINST, _FOR, _TOOLED, _REPORT, _PROPOSES)),
    CUES,
    words("could do not dont didnt shouldnt mustnt why did can may free ok okay fine forget"),
    words("ignore changed"),
)


def may_rule(text: str) -> bool:
    """A cheap look that spares most prompts and sentences a closer one."""
    return not _ANY_CUE.isdisjoint(words_in(text.replace("’", "'").lower()))


def reads_as_rule(sentence: str) -> bool:
    """Whether the sentence says by itself what to do, and not only what went wrong."""
    return _DIRECTIVE.match(plain_form(sentence)) is not None and "?" not in sentence


def read_wording(sentence: str, place: Moment) -> Wording | None:
    """How a sentence sounds where it was said; None where nobody would take it for a rule."""
    if not _LEAST_CHARS <= len(sentence) <= _MOST_CHARS:
        return None
    if place != "reason" and not may_rule(sentence):
        return None
    text = plain_form(_URL.sub("", sentence) if "://" in sentence else sentence)
    said = words_in(text)
    asks = sentence.endswith("?") or _QUESTION.match(text) is not None
    parsed = Sentence(sentence, text, frozenset(said), len(said), asks)
    if not _LEAST_WORDS <= parsed.count <= _MOST_WORDS or parsed.has(_NO_RULE):
        return None
    intended = _by_intent(parsed, place)
    if intended is not None:
        return intended
    taste = voiced(parsed, TASTES)
    if taste is not None:
        firm = None if asks else _firm(parsed, place)
        return Wording(f'"{taste}"', firm is not None, "against", taste)
    if asks:
        return _complaint(text)
    if parsed.has(_REPORT):
        return Wording(ASKS_FOR_REPORT, False, "for")
    lenient = _ended(text)
    if lenient is not None:
        return None if parsed.has(_FOR_ONCE) or parsed.has(_ALOUD) else lenient
    if place != "opening" and parsed.count <= _FIRM_WORDS:
        if parsed.has(_WRITE_DOWN):
            return Wording(WANTS_IT_WRITTEN, True, "for")
        if parsed.has(_CUSTOM):
            return Wording("tells how it is done here", True, "for")
    weak = _weak(parsed, place)
    if weak is None and _FIRM_CUES.isdisjoint(parsed.words):
        return None
    if parsed.has(_ALOUD) or _STORY.match(text) or _SHIPS.match(text):
        return None
    if place != "reason" and _FIRM_CUES.isdisjoint(parsed.words):
        return weak
    return _firm(parsed, place) or weak


def _weak(parsed: Sentence, place: Moment) -> Wording | None:
    if parsed.has(_AGAINST):
        return Wording("does not want it", False, "against")
    if not _SHOULD_NOT.isdisjoint(parsed.words):
        return Wording(SHOULD_NOT_BE, False, "against")
    if parsed.has(_FOR) or parsed.has(_TOOLED):
        return Wording("asks for it", False, "for")
    if place == "reason":
        return Wording("corrects the agent", False, "for")
    if parsed.has(_PROPOSES):
        against = "let's not" in parsed.text or "lets not" in parsed.text
        return Wording("proposes it", False, "against" if against else "for")
    return None if _SHOULD.isdisjoint(parsed.words) else Wording(SHOULD_BE, False, "for")


def _ended(text: str) -> Wording | None:
    if _ALLOWS.match(text):
        return Wording("allows it", False, "allows")
    return Wording("says it is not needed", False, "spares") if _SPARES.match(text) else None


def _by_intent(parsed: Sentence, place: Moment) -> Wording | None:
    ended = None if parsed.asks else voiced(parsed, ENDED)
    if ended is not None and not parsed.has(_FOR_ONCE):
        return Wording("allows it", False, "allows", ended)
    intent = voiced(parsed, INTENTS)
    if intent is None or (parsed.asks and not parsed.text.startswith("don't")):
        return None
    sure = not parsed.asks and not parsed.has(_ALOUD)
    firm = sure and place != "opening" and parsed.has(_GATE)
    return Wording(f'"{intent}"', firm, "against", intent)


def _complaint(text: str) -> Wording | None:
    if _CHECKS_UP.match(text):
        return Wording("asks why it was not done", False, "for")
    if _WHY_DID.match(text):
        return Wording("asks why it was done", False, "against")
    return Wording(SHOULD_BE, False, "for") if _SUGGESTS.match(text) else None


def _firm(parsed: Sentence, place: Moment) -> Wording | None:
    text = parsed.text
    after_work = place != "opening"
    if parsed.count > _FIRM_WORDS:
        return None
    stance: RuleStance = "for" if _NEGATES.isdisjoint(parsed.words) else "against"
    if parsed.has(_LASTING) and not _SPECULATES.search(text):
        lasting = _LASTING.search(text)
        if lasting and _DIRECTS.search(text.replace(lasting[0], "")):
            return Wording(f'says "{lasting[0]}"', True, stance)
    if after_work and parsed.has(_GATE) and _DIRECTS.search(text):
        return Wording("sets a condition", True, stance)
    if after_work and _REMEMBER.match(text) and not parsed.has(_PASSING):
        return Wording("asks to remember it", True, stance)
    if after_work and parsed.has(_NOT_WANTED) and not parsed.has(_PASSING):
        return Wording("does not want it", True, "against")
    if _points(parsed):
        return None
    if parsed.has(_UNIVERSAL):
        return Wording("says always or never", True, stance)
    return _firm_after_work(parsed, stance, place) if after_work else None


def _points(parsed: Sentence) -> bool:
    """Whether it names its object only by pointing at it: "never do that"."""
    if _POINTING.isdisjoint(parsed.words):
        return False
    return _POINTS.search(_CLAUSE.sub("", _THIS_PLACE.sub("", parsed.text))) is not None


def _firm_after_work(parsed: Sentence, stance: RuleStance, place: Moment) -> Wording | None:
    text = parsed.text
    refused = place in ("refused", "reason")
    if parsed.has(_AGAIN):
        return Wording("says it again", True, "against")
    if _CONTRAST.match(text) or (refused and _INSTEAD.match(text)):
        return None if _CODE.search(parsed.raw) else Wording("corrects the agent", True, "for")
    if _DECIDES.match(text):
        return Wording("decides between two ways", True, "for")
    if parsed.has(_PASSING):
        return None
    if (parsed.has(_REASONED) or parsed.has(_FITS)) and not _SYMBOL.search(parsed.raw):
        return Wording("decides it for a reason", True, stance)
    if (parsed.has(_WANTED) and "but" not in parsed.words) or parsed.has(_MUST):
        return Wording("says what has to be", True, stance)
    if parsed.has(_FOR_EVERY):
        return None if _CODE.search(parsed.raw) else Wording("says how all should be", True, stance)
    wording: Wording | None = None
    if parsed.has(_NOT_TO_BE):
        wording = Wording(SHOULD_NOT_BE, True, "against")
    elif _CONVENTION.match(text):
        wording = Wording("tells how it is done here", True, stance)
    elif parsed.count <= _SHORT_WORDS and _refuses_in_general(text):
        wording = Wording("forbids it in general", True, "against")
    elif place == "reason" and parsed.count <= _SHORT_WORDS and _DIRECTIVE.match(text):
        wording = Wording("corrects the agent", True, stance)
    if wording is None or _CODE.search(parsed.raw) or MATERIAL.isdisjoint(terms_of(text)):
        return None
    return wording


def _refuses_in_general(text: str) -> bool:
    """ "Don't amend commits" names a kind of thing; "don't amend the commit" one thing."""
    if _TO_MAIN.match(text) or _A_TOOL.match(text):
        return True
    refused = _FORBIDS.match(text) or _STOPS.match(text)
    if refused is None:
        refused = _REFUSES.match(text)
        if refused is None or not _NOTHING_REFUSED.isdisjoint(refused["what"].split()[:2]):
            return False
    return names_a_kind(refused["what"])
