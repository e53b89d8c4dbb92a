"""Every difference from ccusage that was looked into: what it is, who is right, and why."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    "claude/daaain__claude-code-log": (
        "We: the records stand in JSON with a space behind the colon, which ccusage passes over."
    ),
    "claude/obra__episodic-memory": (
        "We: all 170 responses of that day read more than 200,000 tokens, for which Anthropic asked"
        " the long-context price of every token ($58.64). ccusage asks it only of the tokens beyond"
        " 200,000 of each kind."
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
        " client's own total. Dollars: ccusage charges gpt-5.3-codex-spark ($3.73 in two days) like"
        " gpt-5.3-codex; it has no list price, so we count its tokens as unpriced."
    ),
    "codex/real client, scripted": (
        "We: ccusage leaves out the sub-agent's thread. Its two responses have ids of their own and"
        " stand in no other file."
    ),
    "qwen/real client, scripted": (
        "We: our sums are those of the client's telemetry, response by response. ccusage counts"
        " cached input again as input, and leaves out the compaction and the sub-agent."
    ),
    "copilot/EntityProcess__agentv": (
        "We: two sessions have no closing record, which alone ccusage reads; we keep the output"
        " tokens their messages state. ccusage charges gpt-5.3-codex-spark like gpt-5.3-codex; it"
        " has no list price, so we count its tokens as unpriced."
    ),
    "copilot/real client, scripted": (
        "We: the compaction's tokens (6,815 / 677 / 6,814) stand in its own record; the closing"
        " record, which ccusage reads, counts four requests and leaves the compaction out."
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
