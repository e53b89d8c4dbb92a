"""Wishes that users voice in many different words, each under one name."""

from __future__ import annotations

from session_memory.distil.cued_patterns import Cued, Sentence, cued

# What the agent is to do or to leave: said once, such a sentence mostly means one task.
INTENTS: dict[str, Cued] = {
    "discuss first": cued(
        "discuss talk ask agree check yet changes code without anything file files didn't",
        r"\b(?:discuss|talk (?:about|through)|ask me|check with me|agree on)\b.{0,50}"
        r"\b(?:first|before)\b",
        r"\bbefore (?:you )?(?:edit|chang|implement|mak|writ|cod)\w*\b.{0,40}"
        r"\b(?:discuss|ask me|tell me|talk)\b",
        r"\bdon't (?:make|do) any(?: code)? changes\b|\bno code changes\b",
        r"\bno changes(?: just)? yet\b",
        r"\bdon't (?:change|edit|write|touch) (?:the |any )?(?:code|files?|anything)"
        r"(?: just)?(?: yet|$| until| before)",
        r"\bdon't (?:implement|code|build|edit|start|change|add)"
        r"(?: (?:it|this|that|anything|coding|implementing|editing))?(?: just)? yet\b",
        r"\bdidn't (?:ask|tell|want) you to"
        r" (?:edit|rewrite|change|implement|write|touch|update|code|start|do)\b",
        r"\b(?:edit|chang|rewr|implement|wrote|writ|did)\w* .{0,30}"
        r"without (?:me|asking|discussing|telling)\b",
    ),
    "only the changes asked for": cued(
        "unrelated only changes change touch touching changing modifying modify else other",
        r"\bunrelated (?:changes?|files?|edits?|code|stuff)\b",
        r"\b(?:commit|push|stage|add)\b.{0,40}\b(?:this|these|that|your|our) (?:change|file|edit)s?"
        r" only\b",
        r"\bonly (?:commit|push|stage) (?:the|your|our|these|what)\b",
        r"\bdon't want (?:those|these|the|that|any) [\w ]{0,20}changes\b",
        r"\bdidn't ask (?:for|you to) (?:[\w ]{0,20}changes|chang|touch|modif)",
        r"\bdon't (?:touch|change|modify|edit) (?:anything else|other|any other|unrelated)\b",
    ),
    "no backward compatibility": cued(
        "backward backwards backward-compatibility backwards-compatibility legacy",
        r"\b(?:no|don't (?:need|want|care about)(?: to (?:keep|support|maintain))?|without)"
        r" (?:any )?(?:backwards?[- ]compat\w*|legacy support)",
    ),
    "commit only when asked": cued(
        "commit push",
        r"\b(?:don't|never|didn't (?:ask|tell|want) you to) (?:commit|push)"
        r"(?: (?:or|and) (?:push|commit))?(?: (?:it|this|that|anything|changes))?"
        r"(?: yet| until| unless| without|[.!,]|$)",
    ),
}
# Matters of taste and care: said once they count like any other sentence.
TASTES: dict[str, Cued] = {
    "keep it short and simple": cued(
        "keep complicated overcomplicated overcomplicate overengineered over-engineered"
        " overengineering over-engineering overengineer over-complicated over complex verbose wordy"
        " simpler",
        r"\bkeep (?:it|this|that|things) (?:\w+ )?(?:simple|minimal|short|small|concise|brief)\b",
        r"\bover-? ?(?:engineer|complicat)\w*|\btoo (?:complicated|complex|verbose|wordy)\b",
    ),
    "no needless comments in code": cued(
        "comments",
        r"\b(?:no|don't (?:add|write|leave|need|want)|remove|too many|unnecessary|useless"
        r"|redundant|obvious) (?:(?!pr|review|github)\w+ ){0,2}comments\b"
        r"(?! (?:on|in) (?:the )?pr)",
    ),
    "no text that sounds generated": cued(
        "em emdash emdashes em-dash em-dashes dashes emoji emojis ai ai-generated slop",
        r"\bem[- ]?dash\w*|\bemojis?\b|\bai[- ](?:generated|sounding|slop)\b"
        r"|\bsounds? (?:\w+ ){0,2}ai\b",
    ),
    "no attribution in commits": cued(
        "co-author co-authored co-authored-by coauthor coauthored attribution co-authors",
        r"\b(?:no|don't|remove|without|stop|never)\b.*\b(?:co-?author\w*|attribution)\b",
    ),
    "look instead of guessing": cued(
        "guess guessing assume assuming hallucinate",
        r"\b(?:don't|never|stop|instead of|rather than) (?:guess|assum|hallucinat)",
    ),
}
_MAY = r"\b(?:you (?:can|may|don't (?:need|have) to)|feel free to|no need to|it's (?:ok|fine) to) "
ENDED: dict[str, Cued] = {
    "discuss first": cued(
        "without whenever first before time each",
        rf"{_MAY}(?:edit|change|implement|write|code|start|go ahead|make changes)\b.{{0,30}}"
        r"\b(?:without (?:asking|discussing|checking)|whenever)\b",
        rf"{_MAY}(?:ask|discuss|check with me)\b.{{0,20}}\b(?:first|before|every time|each)\b",
    ),
    "commit only when asked": cued(
        "commit push",
        rf"{_MAY}(?:commit|push)\b.{{0,30}}\b(?:without asking|whenever|when you|as you go"
        r"|after (?:each|every))\b",
    ),
}
CUES = frozenset[str]().union(
    *(each.cues for table in (INTENTS, ENDED, TASTES) for each in table.values())
)
"""Words of which a sentence with such a wish has at least one."""


def voiced(sentence: Sentence, table: dict[str, Cued]) -> str | None:
    """The name of the wish that a sentence voices."""
    if CUES.isdisjoint(sentence.words):
        return None
    return next((name for name, pattern in table.items() if sentence.has(pattern)), None)
