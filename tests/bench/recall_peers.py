"""The same questions to agentsview, where it is installed: does it lead to the right session?

It names a session and the number of a message, which is no place in a log, so all are compared by
session: its first place among the sessions of the first fifty results. It names a session of Claude
Code by its file, and what sub-agents logged there is part of it, so a sub-agent counts as its
session for all. As asked, its searches need every word; with OR they take any, so both are tried.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import urlopen

from tests.bench import peers_install, peers_logs, peers_process
from tests.bench.corpora import SHARED
from tests.bench.recall import DEPTH, printed
from tests.bench.recall_own import ROOTS, Asked, Found, plain_index, table

from session_memory.core.text.search_terms import terms_of
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store.port import SessionQuery, Store

ANSWER_SECONDS = 60
EVERYTHING = "include_children=true&include_one_shot=true&include_automated=true"
"""Contents of sub-agents, programs and sessions of one prompt are left out unless asked for."""
WAYS = {"page": "search?q=", "contents": f"search/content?mode=fts&{EVERYTHING}&pattern="}
"""The search of its page, and that of its command line and MCP tools."""


def wordings(question: str) -> dict[str, str]:
    """The question as it is, and in the syntax of agentsview; small words left out as we do."""
    words = [f'"{word}"' for word in terms_of(question).words]
    whole = [f'"{word}"' for word in question.replace('"', " ").split()]
    return {
        "as asked": question,
        "all words but small ones": " ".join(words) or question,
        "any word but small ones": " OR ".join(words) or question,
        "any word": " OR ".join(whole) or question,
    }


class Sessions(NamedTuple):
    """Our sessions, by what each side calls them; a sub-agent is part of its session."""

    of_event: dict[int, str]
    of_session: dict[int, str]
    of_name: dict[str, set[str]]
    """By the id of the session, and by the name of the file: one file may hold several."""

    def theirs(self, name: str) -> set[str]:
        """The sessions that agentsview means, which puts the agent before the id."""
        return self.of_name.get(name.rpartition(":")[2], {name})


def sessions_of(store: Store) -> Sessions:
    """Every session of the store."""
    found = Sessions({}, {}, {})
    for session in store.sessions(SessionQuery(limit=100_000)):
        root = session.external_id.partition(":")[0]
        found.of_session[session.id] = root
        for name in (root, *(Path(path).stem for path in store.log_paths({session.id}))):
            found.of_name.setdefault(name, set()).add(root)
        found.of_event.update((event.id, root) for event in store.events(session.id))
    return found


def named(answer: dict[str, Any]) -> list[str]:
    """The sessions of an answer in its order, each once."""
    results = answer.get("results") or answer.get("matches") or ()
    return list(dict.fromkeys(str(one["session_id"]) for one in results))


def scored(one: Asked, here: Sessions, ranked: Iterable[set[str]]) -> Found:
    """The first place of a right session."""
    gold = {here.of_event[event] for event in one.gold}
    return Found(one, next((n for n, each in enumerate(ranked) if each & gold), None), 0)


def ours(store: Store, asked: Sequence[Asked], here: Sessions) -> dict[str, list[Found]]:
    """Our search and plain FTS5, by session."""
    context, index = RecallContext(store, lambda: 0), plain_index(store)
    answers: dict[str, list[Found]] = {"session-memory": [], "FTS5": []}
    for one in asked:
        results = printed(search(context, SearchRequest(one.text, limit=DEPTH)))
        roots = (here.of_session[session] for session, _ in results if session)
        plain = (here.of_event[int(str(event))] for event in index.search(one.text, DEPTH))
        for system, order in (("session-memory", roots), ("FTS5", plain)):
            answers[system].append(scored(one, here, ({root} for root in dict.fromkeys(order))))
    return answers


def theirs(address: str, asked: Sequence[Asked], here: Sessions) -> dict[str, list[Found]]:
    """Every way to ask agentsview."""
    answers: dict[str, list[Found]] = {}
    for one in asked:
        for wording, text in wordings(one.text).items():
            for way, path in WAYS.items():
                url = f"{address}/api/v1/{path}{quote(text)}&limit={DEPTH}"
                with urlopen(url, timeout=ANSWER_SECONDS) as answer:
                    ranked = map(here.theirs, named(json.load(answer)))
                    found = answers.setdefault(f"agentsview, {way}, {wording}", [])
                    found.append(scored(one, here, ranked))
    return answers


@contextmanager
def served(program: Path) -> Generator[str]:
    """agentsview with the logs of our questions in a home of its own, on loopback only."""
    with tempfile.TemporaryDirectory(prefix="session-memory-peers-") as folder:
        home = Path(folder)
        for logs in peers_logs.genuine():
            if any(logs.source.is_relative_to(SHARED / root) for root in ROOTS):
                logs.put(home)
        peers_process.run([str(program), "sync"], home)
        options = ("--host=127.0.0.1", "--port=0", "--no-browser", "--no-sync", "--no-update-check")
        with peers_process.serving([str(program), "serve", *options], home) as address:
            yield address


def lines(store: Store, asked: Sequence[Asked]) -> Iterable[dict[str, object]]:
    """The figures by session; agentsview where it is installed."""
    here = sessions_of(store)
    answers = ours(store, asked, here)
    if not peers_install.AGENTSVIEW.exists():
        print("agentsview is not installed: only FTS5 beside our search", file=sys.stderr)
    else:
        try:
            with served(peers_install.AGENTSVIEW) as address:
                answers |= theirs(address, asked, here)
        except OSError as error:
            print(f"agentsview gave no answers: {error}", file=sys.stderr)
    for system, found in answers.items():
        unseen = [one for one in found if one.asked.later == 2]
        for half, part in (("latest", unseen), ("all", found)):
            figures = {name: value for name, value in table(part).items() if "only" not in name}
            yield {"system": system, "by": "session", "half": half, **figures}
