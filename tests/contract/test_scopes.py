"""What any store promises to recall: lines, counts, observations, closures and syncs."""

from __future__ import annotations

from msgspec.structs import replace

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import (
    Cure,
    Observation,
    ObservationStatus,
    ObservationType,
    RuleStatement,
)
from session_memory.store.port import Store, TextFilter
from session_memory.store.scopes import Closure, ContextSync
from session_memory.testing.store_drafts import START, Said, capture, distilled, event, lived, turn

SHOP = Resolution(key="shop", root="/work/shop", source="cwd:.git", confidence="high")


def told(
    session: int,
    kind: ObservationType,
    text: str,
    at: int,
    status: ObservationStatus = "active",
) -> Observation:
    name = f"{session} {kind} {text}"
    return Observation(kind, status, text, 3, session, None, "user", name, START + at)


def filled(store: Store) -> tuple[int, int]:
    """Two sessions of a project; the second is the later one."""
    first, second = capture(
        store,
        Said("one", "/logs/one", (turn(0, "first"),), lived(0, 10)),
        Said("two", "/logs/two", (turn(50, "second"),), lived(50, 60)),
    )
    with store.writing() as writer:
        for session, turns in ((first, 2), (second, 3)):
            writer.assign_project(session, "/work/shop", SHOP, "general")
            writer.save_digest(session, distilled("mend it", turns=turns), None)
        writer.save_observations(
            {
                first: [
                    told(first, "user_request", "Mend the roof", 1),
                    told(first, "pending_item", "buy tiles", 2),
                    told(first, "decision", "never shown", 3, "retired"),
                ],
                second: [told(second, "pending_item", "buy paint", 51)],
            }
        )
    return first, second


def test_lines_come_latest_first_with_what_they_say_of_themselves(store: Store) -> None:
    first, second = filled(store)
    (project,) = store.projects()
    lines = store.scopes.lines(project.id)
    assert [line.id for line in lines] == [second, first]
    assert lines[1] == store.scopes.line(first)
    assert (lines[1].label, lines[1].resolved_by, lines[1].parent) == ("mend it", "cwd:.git", None)
    assert lines[1].observed_bytes > lines[0].observed_bytes > 0
    assert store.scopes.line(second + 99) is None


def test_counts_and_totals_leave_excluded_statuses_out(store: Store) -> None:
    first, second = filled(store)
    counts = store.scopes.counts([first, second])
    assert (counts[first].turns, counts[first].observations) == (2, 2)
    assert counts[first].first_request == "Mend the roof"
    assert counts[second].first_request is None
    totals = store.scopes.totals([first, second])
    assert (totals.observations, totals.last_at) == (3, START + 51)
    assert totals.chars == len("Mend the roofbuy tilesbuy paint")
    assert store.scopes.turns([first, second]) == 5
    assert store.scopes.totals([]).observations == 0


def test_what_was_observed_comes_oldest_first_and_the_latest_of_it(store: Store) -> None:
    both = list(filled(store))
    kinds: tuple[ObservationType, ...] = ("pending_item", "decision")
    texts = [one.text for one in store.scopes.observed(both, kinds)]
    assert texts == ["buy tiles", "buy paint"]
    every: tuple[ObservationType, ...] = ("user_request", "pending_item", "decision")
    assert len(store.scopes.observed(both, every)) == 3
    latest = [one.text for one in store.scopes.observed(both, every, 1)]
    assert latest == ["buy tiles", "buy paint"], "the latest, and one of each session"
    assert [one.text for one in store.scopes.observed(both[:1], every, 1)] == ["buy tiles"]
    retired = store.scopes.observation(f"{both[0]} decision never shown")
    assert retired is not None
    assert retired.status == "retired"
    assert store.scopes.observation("unknown") is None


def test_what_users_said_that_may_be_a_rule_comes_by_session(store: Store) -> None:
    first, second = filled(store)
    said = RuleStatement("never push", 3, START, "says always or never", True, "against")
    with store.writing() as writer:
        writer.save_digest(second, replace(distilled("mend it"), rules=(said,)), None)
    assert store.scopes.rules([first, second]) == {second: (said,)}
    assert store.scopes.rules([first]) == {}


def test_cures_come_by_session(store: Store) -> None:
    first, second = filled(store)
    cure = Cure("error", "error: x", 1, "mend", "command", ("patch",), (2,), "mend", 3)
    with store.writing() as writer:
        writer.save_digest(second, replace(distilled("mend it"), cures=(cure,)), None)
    assert store.scopes.cures([first, second]) == {second: (cure,)}
    assert store.scopes.cures([first]) == {}


def test_closures_and_syncs_come_back_as_they_went_in(store: Store) -> None:
    first, _ = filled(store)
    (project,) = store.projects()
    asked = Closure(START + 5, "check", False, "pending_items_open")
    of_one = Closure(START + 6, "check", True, "ready_to_close", first)
    revision = store.scopes.revision()
    store.closures.record(project.id, of_one)
    store.closures.record(project.id, asked)
    assert store.closures.all(project.id) == [asked, of_one]
    assert store.closures.all(project.id, first) == [of_one]
    syncs = [
        ContextSync(START + 1, "/work/shop/AGENTS.md", "0" * 64),
        ContextSync(START + 2, "/work/shop/AGENTS.md", "1" * 64, True, "why"),
    ]
    for sync in reversed(syncs):
        store.syncs.record(project.id, sync)
    assert store.syncs.all(project.id) == syncs
    assert store.scopes.revision() != revision


def test_events_by_id_come_in_the_order_asked_for(store: Store) -> None:
    first, second = filled(store)
    ids = [next(iter(store.events(session))).id for session in (second, first)]
    assert [found.id for found in store.scopes.events([*ids, 1])] == ids


def test_questions_of_a_snapshot_see_one_moment(store: Store) -> None:
    store.scopes.check_current()
    before = store.scopes.revision()
    with store.scopes.snapshot():
        assert store.scopes.revision() == before
        assert store.projects() == []
    filled(store)
    assert store.scopes.revision() != before


def test_a_search_finds_observations_and_their_rows(store: Store) -> None:
    first, second = filled(store)
    hits = store.scopes.find("tiles")
    assert [(hit.session, hit.event) for hit in hits] == [(first, None)]
    (number,) = [hit.observation for hit in hits if hit.observation is not None]
    assert store.scopes.some_observations([number])[number].text == "buy tiles"
    assert store.scopes.find("never") == []
    assert store.scopes.word_counts(("tiles", "never")) == {"tiles": 0, "never": 0}  # of events
    assert {line.id for line in store.scopes.some_lines([first, second])} == {first, second}
    assert not store.scopes.has_tool("Bash")


def test_paths_are_known_in_their_session_and_project(store: Store) -> None:
    files = ("/work/shop/src/basket.py", "/work/shop/README.md")
    edit = event(0, "x", kind="tool_call", origin="agent", tool="Edit", files=files)
    (session,) = capture(store, Said("edited", "/logs/edited", (edit,)))
    (other,) = capture(store, Said("other", "/logs/other", (turn(0, "hello"),)))
    with store.writing() as writer:
        writer.assign_project(session, "/work/shop", SHOP, "general")
    (project,) = store.projects()
    for where in (TextFilter(), TextFilter(session=session), TextFilter(project_id=project.id)):
        assert store.scopes.has_path("src/bask", where)
        assert not store.scopes.has_path("src/nothing", where)
        assert set(store.scopes.recent_paths(where)) == set(files)
    for elsewhere in (TextFilter(session=other), TextFilter(project_id=project.id + 1)):
        assert not store.scopes.has_path("basket.py", elsewhere)
        assert store.scopes.recent_paths(elsewhere) == []


def test_single_projects_are_those_of_the_whole_list(store: Store) -> None:
    filled(store)
    known = {project.id: project for project in store.projects()}
    assert known
    assert store.scopes.some_projects([*known, 4_000]) == known
    for project in known.values():
        assert store.scopes.project(project.key) == project
    assert store.scopes.project("never") is None
