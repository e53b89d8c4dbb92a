"""Words of this program in the help of a command: one sentence for each that the help uses."""

from __future__ import annotations

import re

import click

from session_memory.regex_cache import compiled

_TERMS = {
    "digest": "A digest is what is kept of a session for good: goal, outcome, errors, cost.",
    "observation": "An observation is a statement of a session worth knowing later.",
    "candidate": "A candidate is something that recurs and was not decided on yet.",
    "rule": "A rule is a sentence for agents that you approve.",
    "gate": "The gate is the evidence that a rule needs before agents are given it.",
    "trace": "A trace is what one session left for the memory of its project.",
    "pack": "A pack is the state of a project in a few lines, for an agent that starts.",
    "lane": "A lane is the part of a project that a session works in: a directory or a topic.",
    "segment": "A segment is a compressed file of the store that holds raw text.",
    "quarantine": "In quarantine are lines of logs that could not be read.",
    "trial": "A trial gives a rule to half of the sessions, by chance; the halves are its arms.",
    "arm": "The arms of a trial are the sessions that are given the rule and those that are not.",
    "spool": "The spool holds what hooks noted until a worker has read it.",
    "locus": "A locus is what recurs in the same form: a command, a path or an error.",
    "closure": "Closure is a check of whether work that was called done was done.",
    "evict": "Evicting removes the raw text of a session; its digest stays.",
}
_EXAMPLES = compiled(r"\x08|Examples?:\n.*", re.DOTALL)
_CODE = compiled(r"`[^`]*`")


def explain_terms(command: click.Command) -> None:
    """Put the sentences below the help of a command and of those it holds."""
    if command.epilog is None and (explanation := sentences(command)):
        command.epilog = explanation
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        explain_terms(inner)


def sentences(command: click.Command) -> str:
    """One sentence for each word of ours that the help uses and does not explain itself."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    texts = [command.name or "", _EXAMPLES.sub("", command.help or "")]
    texts += [each.get_short_help_str(200) for each in inner]
    texts += [param.help or "" for param in command.params if isinstance(param, click.Option)]
    help_text = _CODE.sub("", "\n".join(texts)).lower()
    return " ".join(
        sentence
        for term, sentence in _TERMS.items()
        if term in help_text  # compiling an expression takes longer than all else here
        and re.search(rf"\b{term}(s|es|ed|ing)?\b", help_text)
        and not re.search(rf"\ban? {term} (is|was|gives)\b", help_text)
    )
