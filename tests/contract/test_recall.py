"""What any store promises to recall, asked of a local store and of a hub with the same sessions.

A hub is asked twice: as `--store URL` reads it, and as the copy that answers what it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.team.conftest import *  # noqa: F403  # fixtures
from tests.team.laptop import ERROR, PROJECT, Laptop

from session_memory.cli.hub_store import HubCopy
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store import open_store
from session_memory.store.port import RecallStore, SessionQuery, SessionReader, Store
from session_memory.store.scopes import Closures, Scopes, Syncs
from session_memory.store.values import TextFilter
from session_memory.team.membership import membership
from session_memory.team.remote_scopes import RemotePatterns, RemoteScopes
from session_memory.team.remote_store import COPIED, RemoteStore, as_store

MakeLaptop = Callable[[str], Laptop]


@pytest.fixture(params=["sqlite", "hub", "copy of a hub"])
def store(request: pytest.FixtureRequest, laptop: MakeLaptop, tmp_path: Path) -> Iterator[Store]:
    """Two sessions of Ada: in her own store, or as Bob reads them on the hub."""
    ada = laptop("ada")
    later = ada.log(3, "the cache is cold after a restart")
    later.say("tokens are kept in Redis now, so the cache is warm")
    ada.worked(ada.cured(1, "poetry add pyyaml"), later)
    if request.param == "sqlite":
        with ada.store() as opened:
            yield opened
        return
    ada.join("sessions").do("team", "push")
    bob = laptop("bob")
    bob.worked(bob.log(5, "nothing of this")).join("numbers")
    place = tmp_path / "copy"
    place.mkdir()
    copy = HubCopy(membership(bob.store_directory), place, lambda: bob.now)
    assert copy.renew()
    with open_store(str(copy.data), bob.now, read_only=True) as copied:
        if request.param == "hub":
            with RemoteStore(membership(bob.store_directory), lambda: copied) as remote:
                yield as_store(remote)
        else:
            yield copied


def sessions_of(store: Store) -> list[int]:
    """The later one first."""
    return [one.id for one in store.sessions(SessionQuery(limit=10))]


@pytest.mark.rows("TEA-15")
def test_projects_and_lines(store: Store) -> None:
    (project,) = [one for one in store.projects() if one.remote == PROJECT]
    lines = store.scopes.lines(project.id)
    assert [line.id for line in lines] == sessions_of(store)
    assert [line.flavor for line in lines] == ["claude", "claude"]
    assert [line.label for line in lines] == ["the cache is cold after a restart", "make it work"]
    assert lines[0] == store.scopes.line(lines[0].id)
    assert {line.id for line in store.scopes.some_lines(sessions_of(store))} == {
        line.id for line in lines
    }
    assert store.scopes.project(project.key) == project
    assert store.scopes.line(10_000) is None
    assert (lines[0].started_at or 0) > (lines[1].started_at or 0) > 0


@pytest.mark.rows("TEA-15")
def test_events_in_order_with_their_texts(store: Store) -> None:
    later, first = sessions_of(store)
    assert [event.text for event in store.events(later, texts=True)] == [
        "the cache is cold after a restart",
        "tokens are kept in Redis now, so the cache is warm",
    ]
    commands = [event.command for event in store.events(first, texts=True) if event.command]
    assert commands == ["python app.py", "poetry add pyyaml", "python app.py"]
    failed = [event for event in store.events(first, texts=True) if event.is_error]
    assert len(failed) == 1
    assert ERROR in str(failed[0].text)


@pytest.mark.rows("TEA-15")
def test_words_find_events_and_narrowing_narrows(store: Store) -> None:
    later, first = sessions_of(store)
    hits = store.scopes.find("cache warm Redis")
    best = store.scopes.events([hits[0].event or 0])[0]
    assert best.session_id == later
    assert store.scopes.find("zebra crossing") == []
    assert {hit.session for hit in store.scopes.find("python")} == {first}
    (project,) = [one for one in store.projects() if one.remote == PROJECT]
    assert store.scopes.find("cache", TextFilter(project_id=project.id))
    assert store.scopes.find("cache", TextFilter(session=first)) == []
    errors = store.scopes.find("yaml", TextFilter(errors_only=True))
    assert {hit.session for hit in errors} == {first}


@pytest.mark.rows("TEA-15")
def test_what_was_learned_of_each_session(store: Store) -> None:
    later, first = sessions_of(store)
    counts = store.scopes.counts([later, first])
    assert (counts[later].turns, counts[first].turns) == (1, 1)
    assert counts[first].first_request == "make it work"
    digest = store.digest(first)
    assert digest is not None
    (cure,) = store.scopes.cures([first])[first]
    assert (cure.failed, cure.steps) == ("python app.py", ("poetry add pyyaml",))
    total = store.scopes.totals([later, first])
    assert total.observations == counts[later].observations + counts[first].observations > 0


@pytest.mark.rows("TEA-15")
def test_recall_answers_in_the_same_words(store: Store, tmp_path: Path) -> None:
    context = RecallContext(store, lambda: 1_900_000_000_000, True, tmp_path)
    found = search(context, SearchRequest(query="cache cold restart"))
    assert "the cache is cold after a restart" in found.items[0].summary
    with store.scopes.snapshot():
        revision = store.scopes.revision()
        store.scopes.check_current()
    assert store.scopes.revision() == revision


def methods(*protocols: type) -> set[str]:
    """Every public name that protocols promise."""
    return {name for each in protocols for name in vars(each) if not name.startswith("_")}


@pytest.mark.rows("TEA-16")
def test_every_question_of_recall_is_answered_by_the_hub_or_listed_with_a_reason() -> None:
    promised = {
        RemoteStore: methods(SessionReader, RecallStore) - {"scopes"},
        RemoteScopes: methods(Scopes),
    }
    for kind, names in promised.items():
        unanswered = {name for name in names if name not in vars(kind)}
        assert unanswered <= set(COPIED), "neither answered by the hub nor listed"
    assert all(reason.strip() for reason in COPIED.values())
    known = methods(SessionReader, RecallStore, Scopes, Closures, Syncs)
    assert set(COPIED) <= known, "listed, but no store promises it"
    assert "failures" in vars(RemotePatterns)


@pytest.mark.rows("TEA-16")
def test_what_the_hub_answers_itself_needs_no_copy(laptop: MakeLaptop) -> None:
    ada, bob = laptop("ada"), laptop("bob")
    ada.worked(ada.cured(1, "poetry add pyyaml")).join("sessions").do("team", "push")
    bob.worked(bob.log(5, "nothing of this")).join("numbers")

    def refuse() -> Store:
        raise AssertionError("the hub was copied")

    with RemoteStore(membership(bob.store_directory), refuse) as remote:
        store = as_store(remote)
        (session,) = store.sessions(SessionQuery(limit=10))
        assert store.find_session(session.external_id[:12]) == store.session(session.id)
        assert store.find_session(str(session.id)).external_id == session.external_id
        (best, *_) = store.scopes.find("yaml")
        assert best.session == session.id
        texts = {event.id: event.text for event in store.events(session.id, texts=True)}
        (event,) = store.scopes.events([best.event or 0])
        assert store.text(event) == texts[event.id]
        assert [place.id for place in store.event_places(session.id)] == list(texts)
        digest = store.digest(session.id)
        assert digest is not None
        assert [cure.steps for cure in digest.cures] == [("poetry add pyyaml",)]
        (met,) = store.patterns.failures(ERROR)
        assert (met.external_id, met.cures[0].steps) == (
            session.external_id,
            ("poetry add pyyaml",),
        )
