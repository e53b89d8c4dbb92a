"""Every difference from ccusage that was looked into: what it is, who is right, and why."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    "claude/PackmindHub__context-evaluator": (
        "Neither: the logs of some sub-agents are not in this collection. ccusage counts what"
        " their parents' progress records repeat of them, with placeholders for output (mostly 1"
        " to 4 tokens a response); we count a sub-agent by its own log. With both there, the two"
        " agree (built, sub-agent)."
    ),
    "claude/daaain__claude-code-log": (
        "We: the records stand in JSON with a space behind the colon, which ccusage passes over."
    ),
    "claude/real client, scripted": (
        "We: the client wrote `cache_creation_input_tokens: 0` beside a filled `cache_creation`"
        " object. Our dollars equal the client's own total; without the cache writes they would"
        " not."
    ),
    "claude/ccusage's own fixtures": (
        "ccusage, on logs no client wrote: the records have no type. We report them as parse"
        " errors."
    ),
    "codex/EntityProcess__agentv": (
        "We: one response has no count of its own, but the next cumulative count holds it. ccusage"
        " adds up single responses, we the steps between cumulative counts, which end at the"
        " client's own total."
    ),
    "codex/real client, scripted": (
        "We: ccusage leaves out the sub-agent's thread. Its two responses have ids of their own and"
        " stand in no other file."
    ),
    "codex/built, space behind colons": (
        "We: ccusage looks for the bytes of compact JSON and finds nothing."
    ),
    "grok/real client, scripted": (
        "We: the parent's turn includes its sub-agent's (4 model calls: 2 of each), and ccusage"
        " adds the sub-agent's own log again. Our sum is what the client printed."
    ),
    "grok/built, spawned session": "We: as in the real client's run, the sub-agent counts twice.",
}
