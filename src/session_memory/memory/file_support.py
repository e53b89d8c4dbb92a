"""The files of a memory that a model made, without what their evidence does not support."""

from __future__ import annotations

import re

from session_memory.errors import Refused
from session_memory.memory.layout import MEMORY, SKILLS
from session_memory.memory.outputs import Files
from session_memory.memory.support import Basis, Evidence, Unsupported, check, has_statements

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def check_files(files: Files, evidence: Evidence) -> tuple[Files, list[Unsupported]]:
    """The supported part of the files, and what was left out; raises Refused if nothing is left.

    A procedure without one of its steps is wrong, so a skill is kept whole or not at all.
    """
    page = check(files.get(MEMORY, ""), evidence)
    if page.dropped and not has_statements(page.text):
        raise Refused(f"nothing in the new {MEMORY} is supported by what it cites")
    # A step of a skill need not cite: it may rest on any trace.
    everything = Basis([source for sources in evidence.traces.values() for source in sources])
    for_skills = Evidence(evidence.traces, evidence.events, everything)
    dropped = list(page.dropped)
    refused: set[str] = set()
    for name, text in files.items():
        unsupported = check(_FRONT_MATTER.sub("", text), for_skills).dropped
        if name.startswith(f"{SKILLS}/") and unsupported:
            dropped += unsupported
            refused.add(_skill_of(name))
    supported = {name: text for name, text in files.items() if _skill_of(name) not in refused}
    return ({**supported, MEMORY: page.text} if MEMORY in files else supported), dropped


def _skill_of(name: str) -> str:
    """The folder of a skill that a file belongs to, or the name of any other file."""
    return "/".join(name.split("/")[:2])
