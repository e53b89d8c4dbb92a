"""What agents read in a repository anyway: CLAUDE.md, AGENTS.md and the like, on disk or in logs.

Nothing in them is repeated. Where the repository is not on this disk, the logs may still hold
them: some agents log the file they were given, and others read or write it like any file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from session_memory.core.typed_commands import short_path
from session_memory.distil.rule_terms import terms_of
from session_memory.memory.known_session import KnownSession
from session_memory.plain_files import read_plain
from session_memory.store.port import SessionReader

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
_READ_BYTES = 256 * 1024
_LOOKED_AT = 10
_GIVEN_FIRST = 40
"""Events in which an agent is given its instructions, at the beginning of a log."""
_MOST_EVENTS = 5_000
_GIVEN = "agents_md"
_MOST = 0.8
_LEAST_TERMS = 3


def read_instructions(root: str, names: Iterable[str]) -> str:
    """The instruction files of a repository; a file that cannot be read says nothing."""
    texts: list[str] = []
    for name in names:
        with contextlib.suppress(OSError):
            texts.append(
                read_plain(os.path.join(root, name), _READ_BYTES).decode("utf-8", "replace")
            )
    return "\n".join(texts)


def logged_instructions(store: SessionReader, sessions: Sequence[KnownSession]) -> str:
    """The newest text of each instruction file that the logs of sessions, newest first, hold."""
    newest: dict[str, str] = {}
    for session in sessions[:_LOOKED_AT]:
        texts_by_name: dict[str, list[str]] = {}
        for name, text in _texts(store, session):
            texts_by_name.setdefault(name, []).append(text)
        for name, texts in texts_by_name.items():
            newest.setdefault(name, "\n".join(texts))
    return "\n".join(newest.values())


def _texts(store: SessionReader, session: KnownSession) -> Iterator[tuple[str, str]]:
    touched = any(_name(path, session.roots) for path in session.digest.files)
    calls: dict[str, str] = {}
    for event in islice(store.events(session.id), _MOST_EVENTS if touched else _GIVEN_FIRST):
        name = next(filter(None, (_name(path, session.roots) for path in event.files)), "")
        if event.kind == "injected" and event.label == _GIVEN:
            yield INSTRUCTIONS[0], store.text(event)
        elif event.kind == "tool_call" and name:
            calls[event.call_id or ""] = name
            yield name, store.text(event).replace("\\n", "\n")
        elif event.kind == "tool_result" and event.call_id in calls:
            yield calls[event.call_id], store.text(event)


def _name(path: str, roots: Sequence[str]) -> str:
    """The instruction file at the root of the project that a path is, or ""."""
    short = short_path(path, roots)
    return short if short in INSTRUCTIONS else ""


def names_command(known_text: str, command: str) -> bool:
    """Whether a text has a command as it is typed, and not only as the start of another."""
    return re.search(rf"(?<![\w-]){re.escape(command)}(?![\w:-])", known_text) is not None


def says_the_same(known_text: str, quote: str) -> bool:
    """Whether a text has a sentence word for word, or a line with nearly all it is about."""
    if quote in known_text:
        return True
    terms = set(terms_of(quote))
    least = max(_LEAST_TERMS, _MOST * len(terms))
    return len(terms) >= _LEAST_TERMS and any(
        len(terms.intersection(terms_of(line))) >= least for line in known_text.splitlines()
    )


def states_trap(known_text: str, trap: str) -> bool:
    """Whether a text names what works instead of a call that fails, and that call's program."""
    codes = re.findall(r"`([^`]+)`", trap)
    program = codes[0].partition(" ")[0] if codes else ""
    return bool(codes) and all(names_command(known_text, each) for each in (program, codes[-1]))


def states_wish(known_text: str, wish: str) -> bool:
    """Whether a text says what a wish quotes."""
    quote = re.search(r'"(.+)"', wish)
    return quote is not None and says_the_same(known_text, quote[1])
