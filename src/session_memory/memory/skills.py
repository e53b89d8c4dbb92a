"""Skills out of traces: only a procedure that several sessions went through and that passed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from session_memory.memory.findings import Command, Findings

SKILLS = "skills"
SKILL_FILE = "SKILL.md"
VERIFY = "verify-changes"
_SESSIONS = 2
_ORDER = ("build", "types", "lint", "tests")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def is_skill_name(name: str) -> bool:
    """Whether a folder may be called so."""
    return _NAME.fullmatch(name) is not None


def recipe(found: Findings) -> tuple[Command, ...]:
    """Checks that passed in the same two sessions or more: with one alone there is no procedure."""
    often = [
        one
        for one in found.commands
        if len(one.found.threads) >= _SESSIONS and one.verifies and not one.mends
    ]
    kept: list[Command] = []
    for one in often:
        together = set(one.found.threads)
        for other in kept:
            together &= set(other.found.threads)
        if len(together) >= _SESSIONS and one.verifies not in {each.verifies for each in kept}:
            kept.append(one)
    return tuple(sorted(kept, key=_place)) if len(kept) > 1 else ()


def _place(one: Command) -> int:
    return min(_ORDER.index(word) for word in one.verifies.split(" and "))


def verify_skill(steps: Sequence[Command], found: Findings) -> str:
    """The text of the skill: the steps in order, then what is known to go wrong with them."""
    kinds = ", ".join(dict.fromkeys(step.verifies for step in steps))
    together = set(steps[0].found.threads).intersection(*(set(s.found.threads) for s in steps))
    shown = [thread[:8] for thread in steps[0].found.threads if thread in together][:3]
    lines = [
        "---",
        f"name: {VERIFY}",
        f"description: Verify a change in this project ({kinds}). Use before calling work done.",
        "---",
        "",
        f"These passed together in {len(together)} sessions (trace {', '.join(shown)}).",
        "",
    ]
    lines += [f"{at}. `{step.command}` ({step.verifies})" for at, step in enumerate(steps, 1)]
    lines += ["", "Work is done when all of them pass after the last change."]
    cures = [one.text for one in found.failures if _concerns(one.text, steps)][:5]
    if cures:
        lines += ["", "Known to go wrong:", "", *(f"- {text}" for text in cures)]
    return "\n".join(lines) + "\n"


def _concerns(text: str, steps: Sequence[Command]) -> bool:
    return any(step.command in text for step in steps)
