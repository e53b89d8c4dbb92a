"""A turn's work lasted if a check or a commit followed it and nothing took it back."""

from __future__ import annotations

import msgspec
import pytest
from tests.distil.observing import SESSION, agent, edit, in_order, result, shell, user

from session_memory.core.schema import SessionEvent
from session_memory.distil.observe import observe

ASKED = user("Make the parser accept empty files")
ANSWER = agent("The parser now accepts empty files; the reader gives it a line of zero length.")
THANKS = user("thanks")
COMMITTED = "[main 1a2b3c4] Parser: accept empty files in `read_line`"


def changed(path: str, call: str) -> list[SessionEvent]:
    return [msgspec.structs.replace(edit(path), call_id=call), result(call)]


def ran(command: str, call: str, text: str = "12 passed", code: int = 0) -> list[SessionEvent]:
    return [shell(command, call), result(call, text, code)]


def told(*events: SessionEvent) -> list[str]:
    found = observe(SESSION, in_order(*events))
    return [one.text for one in found if one.type == "session_summary" and one.status == "done"]


WORK = [ASKED, *changed("src/app.py", "e1")]


@pytest.mark.rows("OBS-13")
def test_a_claim_alone_is_no_evidence_and_a_passing_check_is() -> None:
    assert told(*WORK, ANSWER, THANKS) == []
    assert len(told(*WORK, *ran("npm test", "c1"), ANSWER, THANKS)) == 1
    assert told(*WORK, *ran("npm test", "c1", "1 failed", 1), ANSWER, THANKS) == []


@pytest.mark.rows("OBS-13")
def test_a_commit_tells_what_was_done_also_when_it_was_asked_for_later() -> None:
    commit = ran("git commit -am x", "c1", COMMITTED)
    asked, subject = "Make the parser accept empty files", COMMITTED.partition("] ")[2]
    expected = [f"{asked} → {subject} [edited app.py]"]
    assert told(*WORK, *commit, ANSWER) == expected
    assert told(*WORK, ANSWER, user("commit it"), *commit, agent("Committed.")) == expected


@pytest.mark.rows("OBS-13")
def test_work_that_was_rejected_or_done_over_has_not_lasted() -> None:
    checked = [*WORK, *ran("npm test", "c1"), ANSWER]
    again = [user("Make it accept blanks too"), *changed("src/app.py", "e2"), agent("It does.")]
    assert told(*checked, user("that is wrong, it does not work")) == []
    assert told(*checked, user("no, i didnt ask you to rewrite it")) == []
    assert told(*checked, *again) == []


@pytest.mark.rows("OBS-13")
@pytest.mark.parametrize(
    "subject",
    ["Parser: accept empty files in `read_line`", "fixup! Parser", "Merge branch 'main' into x"],
)
def test_a_commit_that_is_amended_is_told_once(subject: str) -> None:
    first = [*WORK, *ran("git commit -am x", "c1", COMMITTED), ANSWER]
    again = [user("Make it accept blanks too"), *changed("src/other.py", "e2")]
    amended = ran("git commit --amend", "c2", f"[main 2b3c4d5] {subject}")
    assert len(told(*first, *again, *amended, ANSWER)) == 1


@pytest.mark.rows("OBS-13")
def test_notes_tell_themselves_what_they_say() -> None:
    notes = [ASKED, *changed("docs/notes.md", "e1")]
    assert told(*notes, *ran("git commit -am x", "c1", COMMITTED), ANSWER) == []


@pytest.mark.rows("OBS-13")
@pytest.mark.parametrize(
    "subject",
    [
        "address additional review comments",
        "fix: address critical issues from code review",
        "wip",
        "fix lint and formatting errors",
        "chore: update deps and changelog",
        "fix: remove unused streamingService import from loader function",
        "docs: clarify comment that confused the reviewer of the stream",
    ],
)
def test_a_commit_whose_subject_names_no_object_is_not_told(subject: str) -> None:
    commit = ran("git commit -am x", "c1", f"[main 1a2b3c4] {subject}")
    assert told(user("address the comments"), *WORK[1:], *commit, agent("Committed.")) == []


@pytest.mark.rows("OBS-13")
def test_a_go_ahead_is_told_with_the_request_it_answers() -> None:
    asked = "can the tree of sessions be shown as a hierarchy?"
    go_ahead = [user("yeah, let's give it a try"), *WORK[1:], *ran("npm test", "c1")]
    answer = agent("All done. Keys: `up/k` and `down/j` move between the rows of the tree.")
    (summary,) = told(user(asked), agent("Yes, in two ways."), *go_ahead, answer, THANKS)
    assert summary.startswith(f"{asked} → Keys: ")
    assert told(*go_ahead, answer, THANKS) == []
    question = [user("what is it for?"), *go_ahead[1:], answer, THANKS]
    assert told(user(asked), agent("Yes, in two ways."), *question) == []


@pytest.mark.rows("OBS-13")
def test_a_turn_without_an_answer_or_a_commit_alone_that_says_nothing_is_not_told() -> None:
    broken = [*WORK, *ran("npm test", "c1"), *changed("docs/notes.md", "e2")]
    assert told(*broken) == []
    asked = user("Investigate how the parser of the shop reads empty files")
    commit = ran("git commit --allow-empty -m init", "c1", "[main 1a2b3c4] init")
    assert told(asked, *ran("rm src/a.py", "c2", ""), *commit, ANSWER, THANKS) == []


@pytest.mark.rows("OBS-13")
def test_tries_of_colours_in_any_file_are_not_told() -> None:
    answer = agent("The levels are muted now: `low` is `#303030`, `high` is `#5f87ff`.")
    asked = user("the thinking level colors are too intense, adjust")
    turn = [asked, *changed("dark.json", "e1"), *ran("npm test", "c1"), answer]
    assert told(*turn, THANKS) == []


@pytest.mark.rows("OBS-13")
def test_a_commit_that_only_names_its_review_is_not_told() -> None:
    subject = "fix(web): address CodeRabbit review on PR #154"
    commit = ran(f'git commit -am "{subject}"', "c1", f"[main 1a2b3c4] {subject}")
    assert told(*WORK, *commit, ANSWER, THANKS) == []
    subject = "fix(web): address review: escape quotes in the cart header"
    commit = ran(f'git commit -am "{subject}"', "c1", f"[main 1a2b3c4] {subject}")
    assert subject in told(*WORK, *commit, ANSWER, THANKS)[0]
