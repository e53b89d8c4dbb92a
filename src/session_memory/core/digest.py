"""The digest's rules: its version, its limits, joining two of one session, and what it is worth.

Building one from events is `distil/digest.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.schema import (
    Basis,
    CommandRun,
    Confidence,
    Digest,
    Ended,
    ErrorSeen,
    Outcome,
    Session,
    Task,
)

DIGEST_VERSION = 21
"""Raised when distilling gets better, be it the digest or the observations: sweeps then distil
again every session whose raw text is still here. Others keep their digest with its version.
Digests of the first releases say 1; they were made as those of version 3 are."""

LABEL_CHARS = 120
MAX_COMMANDS = 200
MAX_CORRECTIONS = 20
MAX_CURES = 40
MAX_DECISIONS = 20
MAX_ERRORS = 50
MAX_FILES = 300
MAX_GROUNDS = 6
MAX_ITEMS = 20
MAX_LOOPS = 20
MAX_NOTICES = 20
MAX_RULES = 40
MAX_TOOLS = 200

_WHOLE_PLAN = frozenset(("todowrite", "updateplan", "writetodos", "updatetodo", "plan"))


class Verdict(msgspec.Struct, frozen=True):
    """An outcome with what it rests on; without grounds there was no evidence at all."""

    outcome: Outcome
    confidence: Confidence
    grounds: tuple[str, ...] = ()
    basis: Basis = "inferred"
    task: Task = "work"
    ended: Ended = "finished"


THEN = "; then: "
"""Stands between the first request of a session and the main one, where that came later."""


def first_request(objective: str) -> str:
    """What a session began with: enough for a title."""
    return objective.partition(THEN)[0]


def proven_outcome(digest: Digest) -> Outcome:
    """The outcome for readers who want proof: a success that is only inferred is uncertain."""
    inferred = digest.basis == "inferred" and digest.outcome == "success"
    return "uncertain" if inferred else digest.outcome


def is_poorer(new: Digest, old: Digest) -> bool:
    """True if `new` rests on fewer events than `old`, so that it must not replace it."""
    return new.events < old.events


_ADDED = (
    "events",
    "turns",
    "requests",
    "retries",
    "tests_run",
    "tests_failed",
    "interruptions",
    "internal_prompts",
    "denials",
    "compactions",
)


def merge_digests(old: Digest, new: Digest) -> Digest:
    """Join the kept digest of an evicted part with that of the part that came after it."""
    if not new.events:
        return old
    verdict = _merged_verdict(old, new)
    commands, commands_dropped = fit_commands([*old.commands, *new.commands])
    errors, errors_dropped = fit_errors(_joined_errors(old.errors, new.errors))
    files, files_dropped = fit_files(summed(old.files, new.files, zeros=True))
    cuts = {"commands": commands_dropped, "errors": errors_dropped, "files": files_dropped}
    first_at = _pick(min, old.first_at, new.first_at)
    last_at = _pick(max, old.last_at, new.last_at)
    return msgspec.structs.replace(
        new,
        **{name: getattr(old, name) + getattr(new, name) for name in _ADDED},
        objective=old.objective or new.objective,
        outcome=verdict.outcome,
        confidence=verdict.confidence,
        grounds=verdict.grounds[:MAX_GROUNDS],
        basis=verdict.basis,
        task=verdict.task,
        ended=verdict.ended,
        cures=(*old.cures, *new.cures)[-MAX_CURES:],
        rules=(*old.rules, *new.rules)[-MAX_RULES:],
        notices=(*old.notices, *new.notices)[-MAX_NOTICES:],
        source_fingerprint=_joined_fingerprint(old, new),
        first_at=first_at,
        last_at=last_at,
        duration_s=seconds(first_at, last_at),
        tools=dict(list(summed(old.tools, new.tools).items())[:MAX_TOOLS]),
        files=files,
        commands=commands,
        errors=errors,
        loops=distinct(old.loops, new.loops)[:MAX_LOOPS],
        corrections=(*old.corrections, *new.corrections)[-MAX_CORRECTIONS:],
        decisions=distinct(old.decisions, new.decisions)[:MAX_DECISIONS],
        open_items=_merged_items(old, new)[:MAX_ITEMS],
        calls_before_edit=_merged_search(old, new),
        version=min(old.version, new.version),
        dropped=summed(summed(old.dropped, new.dropped), cuts),
    )


def _merged_items(old: Digest, new: Digest) -> tuple[str, ...]:
    """A part that states the whole plan replaces the plan before it."""
    restated = any(is_whole_plan(tool) for tool in new.tools)
    return new.open_items if restated else distinct(old.open_items, new.open_items)


def _merged_search(old: Digest, new: Digest) -> int | None:
    if old.calls_before_edit is not None or new.calls_before_edit is None:
        return old.calls_before_edit
    return sum(old.tools.values()) + new.calls_before_edit


def _merged_verdict(old: Digest, new: Digest) -> Verdict:
    """The newer evidence decides; a part that only talks changes nothing."""
    if new.task != "work" and new.basis == "inferred":
        return Verdict(old.outcome, old.confidence, old.grounds, old.basis, old.task, new.ended)
    grounds = (*new.grounds, *old.grounds)
    if new.basis == "inferred" and old.basis != "inferred" and old.outcome == "success":
        return Verdict("partial", "low", grounds, "inferred", "work", new.ended)
    return Verdict(new.outcome, new.confidence, new.grounds, new.basis, "work", new.ended)


def _joined_errors(old: tuple[ErrorSeen, ...], new: tuple[ErrorSeen, ...]) -> list[ErrorSeen]:
    joined = {seen.template: seen for seen in old}
    for seen in new:
        earlier = joined.get(seen.template)
        joined[seen.template] = (
            seen
            if earlier is None
            else msgspec.structs.replace(earlier, count=earlier.count + seen.count)
        )
    return list(joined.values())


def _joined_fingerprint(old: Digest, new: Digest) -> str:
    joined = f"{old.source_fingerprint}+{new.source_fingerprint}".encode()
    return blake2b(joined, digest_size=16).hexdigest()


def summed(left: dict[str, int], right: dict[str, int], *, zeros: bool = False) -> dict[str, int]:
    """The counts of both; without `zeros`, keys that count nothing are left out."""
    total = {key: left.get(key, 0) + right.get(key, 0) for key in (*left, *right)}
    return total if zeros else {key: count for key, count in total.items() if count}


def distinct(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Both, each text once, in order."""
    return tuple(dict.fromkeys((*left, *right)))


def _pick(choose: Callable[[list[int]], int], left: int | None, right: int | None) -> int | None:
    times = [at for at in (left, right) if at is not None]
    return choose(times) if times else None


def seconds(first: int | None, last: int | None) -> float | None:
    """The time between two moments in milliseconds, where both are known."""
    return None if first is None or last is None else (last - first) / 1000


def fit_commands(runs: list[CommandRun]) -> tuple[tuple[CommandRun, ...], int]:
    """Join equal neighbours, then keep the latest; plain successes give way first."""
    joined: list[CommandRun] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last is not None and _same_run(last, run):
            joined[-1] = msgspec.structs.replace(last, count=last.count + run.count)
        else:
            joined.append(run)
    excess = len(joined) - MAX_COMMANDS
    if excess <= 0:
        return tuple(joined), 0
    by_worth = sorted(
        range(len(joined)), key=lambda at: (joined[at].is_error or joined[at].verifies, at)
    )
    gone = frozenset(by_worth[:excess])
    dropped = sum(joined[at].count for at in gone)
    return tuple(run for at, run in enumerate(joined) if at not in gone), dropped


def _same_run(left: CommandRun, right: CommandRun) -> bool:
    return (left.command, left.exit, left.is_error, left.denied) == (
        right.command,
        right.exit,
        right.is_error,
        right.denied,
    )


def fit_files(files: dict[str, int]) -> tuple[dict[str, int], int]:
    """Keep the most edited files; those only read give way first, the oldest before the latest."""
    excess = len(files) - MAX_FILES
    if excess <= 0:
        return files, 0
    order = {path: at for at, path in enumerate(files)}
    gone = frozenset(sorted(files, key=lambda path: (files[path], order[path]))[:excess])
    return {path: edits for path, edits in files.items() if path not in gone}, excess


def fit_errors(errors: list[ErrorSeen]) -> tuple[tuple[ErrorSeen, ...], int]:
    """Keep the most frequent errors, in the order they first occurred."""
    excess = len(errors) - MAX_ERRORS
    if excess <= 0:
        return tuple(errors), 0
    ranked = sorted(range(len(errors)), key=lambda at: (-errors[at].count, at))
    frequent = frozenset(ranked[:MAX_ERRORS])
    return tuple(seen for at, seen in enumerate(errors) if at in frequent), excess


def is_whole_plan(tool: str) -> bool:
    """True for tools that state the whole plan with every call."""
    return tool.lower().replace("_", "").replace("-", "") in _WHOLE_PLAN


def low_value_reason(session: Session, digest: Digest) -> str | None:
    """Why a session is not worth mining, or None if it is."""
    if session.source_kind == "internal":
        return "internal session of the agent"
    if digest.tools or digest.requests:
        return None
    if digest.internal_prompts:
        return "internal_title_generation_prompt"
    if digest.objective is not None and digest.objective.startswith("/"):
        return "only slash commands"
    if digest.turns:
        return "nothing was asked for"
    return "no user prompt and no tool call"


def labels(digest: Digest) -> dict[str, str | bool | None]:
    """What a session is shown as: what its user asked for, never a program's own prompt."""
    return {
        "operational_label": (digest.objective or "")[:LABEL_CHARS] or None,
        "internal_prompt_suppressed": True if digest.internal_prompts else None,
    }


def title_of(session: Session) -> str:
    """A session's title, or else what was asked for first; "" where neither is known."""
    if session.title:
        return session.title
    label = str(session.metadata.get("operational_label") or "")
    if len(label) < LABEL_CHARS:
        return label
    return f"{label.rpartition(' ')[0] or label}…"  # it was cut, most likely within a word
