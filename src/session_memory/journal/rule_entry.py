"""Entries without a model: what digest and observations say, under the headings a model uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import (
    Cure,
    Digest,
    Observation,
    ObservationType,
    RuleStatement,
    Session,
    SessionEvent,
)
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.core.typed_commands import typed_command
from session_memory.core.work_state import notes
from session_memory.distil.lasting import is_about_usage, is_meant_to_last, mends, teaches
from session_memory.distil.observe import observe
from session_memory.distil.rule_wording import reads_as_rule
from session_memory.journal.excerpt import Turn
from session_memory.journal.model_entry import OK

MAX_ITEMS = 8
LINE_CHARS = 300
_ERROR_CHARS = 120


class SessionFacts(msgspec.Struct, frozen=True):
    """What is known of a session."""

    observations: tuple[Observation, ...] = ()
    digest: Digest | None = None

    @property
    def last_at(self) -> int | None:
        """The time of the last observation."""
        times = (observation.at for observation in self.observations if observation.at is not None)
        return max(times, default=None)


def facts_from_turns(session: str, turns: Sequence[Turn]) -> SessionFacts:
    """The same from the turns of an excerpt, for a session that is in no store."""
    events = [
        SessionEvent(
            session_id=0,
            seq=seq,
            kind="user_prompt" if turn.role == "User" else "assistant_text",
            origin="user" if turn.role == "User" else "agent",
            text=turn.text,
            id=seq,
        )
        for seq, turn in enumerate(turns, 1)
    ]
    return SessionFacts(tuple(observe(Session(0, "unknown", session), events)))


def entry_text(facts: SessionFacts, since: int | None = None) -> str:
    """The entry, or FLUSH_OK if nothing is worth saving.

    With `since`, only what was said after that time; the rest was flushed before.
    """
    observations = [
        observation
        for observation in notes(facts.observations)
        if since is None or observation.at is None or observation.at > since
    ]
    # The digest covers the whole session, so it does not belong to a part of it.
    digest = facts.digest if since is None else None
    sections = {
        "Key Exchanges": _texts(observations, "session_summary"),
        "Decisions Made": [
            *_texts(observations, "decision"),
            *(digest.decisions if digest else ()),
        ],
        "Lessons Learned": _lessons(digest),
        "Action Items": [
            *_texts(observations, "pending_item", "blocker"),
            *(digest.open_items if digest else ()),
        ],
    }
    lists = {name: _bullets(items) for name, items in sections.items()}
    if not any(lists.values()):
        return OK
    subject = _subject(observations, digest)
    parts = [f"**Context:** {subject}"] if subject else []
    parts += [f"**{name}:**\n" + "\n".join(lines) for name, lines in lists.items() if lines]
    return "\n\n".join(parts)


def _texts(observations: Iterable[Observation], *types: ObservationType) -> list[str]:
    return [observation.text for observation in observations if observation.type in types]


def _lessons(digest: Digest | None) -> list[str]:
    """What another session would look up: calls that fail here with what works, lasting wishes."""
    if digest is None:
        return []
    cures = (_lesson(cure) for cure in digest.cures if teaches(cure) and not is_about_usage(cure))
    wishes = (f'The user wants: "{rule.text}"' for rule in digest.rules if _lasts(rule))
    return [*cures, *wishes]


def _lesson(cure: Cure) -> str:
    failed, works = _code(cure.failed), _code(cure.steps[-1])
    if mends(cure):
        return f"What {failed} finds, {works} mends"
    error = one_line(cure.sample)[:_ERROR_CHARS]
    if cure.kind == "install":
        return f"{failed} fails ({error}) until {works} was run"
    return f"{failed} fails ({error}); {works} works"


def _code(command: str) -> str:
    return f"`{one_line(typed_command(command)).replace('`', chr(39))}`"


def _lasts(rule: RuleStatement) -> bool:
    is_rule = rule.stance in ("against", "for") and reads_as_rule(rule.text)
    return is_rule and is_meant_to_last(rule.text)


def _subject(observations: Sequence[Observation], digest: Digest | None) -> str:
    requests = _texts(observations, "objective") or _texts(observations, "user_request")
    subject = (digest.objective if digest else None) or (requests[0] if requests else "")
    outcome = f" (outcome: {digest.outcome})" if digest and subject else ""
    return excerpt(one_line(subject), LINE_CHARS) + outcome


def _bullets(items: Iterable[str]) -> list[str]:
    """The latest items, each once on one line, and how many were left out."""
    lines = list(dict.fromkeys(excerpt(one_line(item), LINE_CHARS) for item in items))
    lines = [line for line in lines if line]
    more = [f"- ({len(lines) - MAX_ITEMS} more)"] if len(lines) > MAX_ITEMS else []
    return [f"- {line}" for line in lines[-MAX_ITEMS:]] + more
