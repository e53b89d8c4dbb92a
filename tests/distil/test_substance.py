"""What is kept of what was said: that which somebody who was not there can use."""

from __future__ import annotations

import pytest
from tests.distil.observing import SESSION, agent, edit, in_order, said, shell, texts, user

from session_memory.distil.inputs import asks_little
from session_memory.distil.observe import observe
from session_memory.distil.plan_items import is_routine
from session_memory.distil.substance import is_question, stands_alone, typed

ASKED = "Make the parser accept empty files"
ANSWER = "The parser now accepts empty files; the reader gives it a line of zero length."
NEXT = "Rename the reader to LineReader"


@pytest.mark.parametrize(
    "text",
    [
        "Rename the line reader",
        "please fix the origin URL",
        "retry_and_push should be deprecated",
        "review this one: https://example.org/pull/7",
        "is it done? But first rename the reader module.",
        "Das Kommando soll leere Zeilen überspringen",
        "重命名读取器",
    ],
)
def test_a_short_request_that_names_a_thing_asks(text: str) -> None:
    assert stands_alone(text)
    assert not asks_little(text)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("'/tmp/shots/Screenshot 1.png' make it blue", "make it blue"),
        ("/tmp/a.png make it blue", "make it blue"),
        ("[Image #1] make it blue", "make it blue"),
        ("[[run:7 cwd=/tmp]] make it blue", "make it blue"),
        ("# Open tabs:\n- a.py\n\n## My request for the agent:\nmake it blue", "make it blue"),
        ("compare [a] with icons/b.svg", "compare [a] with icons/b.svg"),
    ],
)
def test_what_a_client_sets_beside_the_words_is_no_part_of_them(text: str, own: str) -> None:
    assert typed(text) == own


def test_the_request_is_shown_without_the_name_of_a_picture() -> None:
    found = texts("user_request", user("'/tmp/x/Screenshot.png' Align the logo with the heading"))
    assert found == ["Align the logo with the heading"]


@pytest.mark.parametrize("text", ["how does the cache expire", "and does it retry?", "why so slow"])
def test_questions_are_known_with_and_without_their_mark(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["can you rename the reader?", "don't use tabs", "do not push"])
def test_a_polite_request_and_a_rule_are_no_questions(text: str) -> None:
    assert not is_question(text)


def test_an_answered_question_is_told_by_the_summary_alone() -> None:
    question = "How does the cache of rendered pages expire?"
    answer = "Entries of `PageCache` expire after ten minutes, or when the page is written again."
    assert said(user(question), agent(answer)) == [("session_summary", f"{question} → {answer}")]


def test_a_request_is_told_by_its_summary_or_stays_open_as_the_last() -> None:
    asked = "Restore the deployment previews of the booth app"
    events = in_order(user(asked), edit(), agent(ANSWER), user(NEXT))
    status = {one.text: one.status for one in observe(SESSION, events)}
    assert (status[asked], status[NEXT]) == ("done", "active")


@pytest.mark.parametrize(
    "answer",
    [
        "Committed as `6d0bfc5`. The hooks (tests, lint, types) all passed.",
        "Done and pushed. The branch is up to date with its remote, nothing else was touched.",
        "PR #754 has been squash merged to main and the branch was deleted afterwards.",
        "Commit created successfully. All eight files are in it and the working tree is clean.",
    ],
)
def test_what_the_history_of_the_code_tells_is_of_low_value(answer: str) -> None:
    assert texts("session_summary", user("commit and push"), agent(answer)) == []
    asked = said(user("commit and push"), edit("a.py"), agent(answer))
    assert [kind for kind, _ in asked] == ["session_summary"]  # files changed: that is told


def test_an_answer_that_names_nothing_is_of_low_value() -> None:
    answer = (
        "Everything should be working smoothly now. Ready for the new release whenever you are!"
    )
    look = shell("git status", "a")
    assert texts("session_summary", user(ASKED), look, agent(answer)) == []
    assert texts("session_summary", user(ASKED), look, agent(ANSWER)) == [f"{ASKED} → {ANSWER}"]


def test_a_turn_that_was_broken_off_is_told_only_if_it_was_the_last() -> None:
    broken = (user(ASKED), agent("Let me look."), edit("a.py"))
    summary = f"{ASKED} → broken off after 1 tool calls [edited a.py]"
    assert summary in texts("session_summary", *broken)
    found = texts("session_summary", *broken, user(NEXT), edit("b.py"), agent(ANSWER))
    assert found == [f"{NEXT} → {ANSWER} [edited b.py]"]


def test_a_summary_begins_with_what_was_done_and_not_with_cheers() -> None:
    found = texts("session_summary", user(ASKED), edit(), agent(f"Perfect! 🎉\n✅ {ANSWER}"))
    assert found == [f"{ASKED} → {ANSWER} [edited app.py]"]


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("Done.\n\n> Shoot\n\nThe new `StoryCard` is shorter now, and so is its text.", "The new"),
        ("Done. `Type git add`.\nThe cards of tutorial.js name the command.", "The cards"),
        ("Done. You were right to ask.\ndocs/run.md names the runner.", "docs/run.md"),
    ],
)
def test_a_bare_claim_is_told_with_the_sentence_that_says_what(answer: str, claim: str) -> None:
    (found,) = texts("completion_claim", user(ASKED), edit(), agent(answer))
    assert found.startswith(f"Done. {claim}")


@pytest.mark.parametrize(
    "answer", ["All done!", "The implementation is complete and ready to test!", "Done. `a`: `b`"]
)
def test_a_claim_that_says_nothing_is_kept_but_of_low_value(answer: str) -> None:
    events = in_order(user(ASKED), edit(), agent(answer))
    claims = [one for one in observe(SESSION, events) if one.type == "completion_claim"]
    assert [one.status for one in claims] == ["low_value"]


def test_a_labelled_completion_is_not_claimed_a_second_time() -> None:
    found = said(user(ASKED), edit(), agent("Done: empty files parse and the test passes."))
    assert [kind for kind, _ in found] == ["user_request", "completed_item", "session_summary"]


@pytest.mark.parametrize(
    "remark",
    [
        "avoid inventing our own.",
        "It does not have to be this one.",
        "I wonder whether people think they have to type it there.",
        "Perhaps we don't need the second settings file.",
        "to log errors so that they must not be awaited",
    ],
)
def test_who_thinks_aloud_or_names_nothing_gives_no_rule(remark: str) -> None:
    assert texts("constraint", user(f"Look at the reader. {remark}")) == []


def test_a_question_without_its_mark_gives_no_rule() -> None:
    question = "why are the traces in a folder, shouldn't we have one per case"
    assert texts("constraint", user(question)) == []


def test_an_input_that_only_says_make_sure_asks_for_work() -> None:
    found = said(user("Make sure the parser accepts empty files"))
    assert found == [("user_request", "Make sure the parser accepts empty files")]


@pytest.mark.parametrize(
    "correction", ["no, the block stays as it is", "actually, it's the colour of the tool box"]
)
def test_a_correction_that_names_no_other_way_is_no_rule(correction: str) -> None:
    assert texts("constraint", user(ASKED), agent(ANSWER), user(correction)) == []


@pytest.mark.parametrize(
    "item",
    [
        "Write tests for all new functionality",
        "Run checks and review the doc diff",
        "Create basic folder structure",
        "Build and test the implementation",
    ],
)
def test_a_step_that_every_task_has_is_forgotten_once_done(item: str) -> None:
    assert is_routine(item)
    assert not is_routine(f"{item} of the SSE parser, with its overflow guard")


@pytest.mark.rows("OBS-13")
@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("what do you think of the second level", "I read `level_two.py`. It is fun, but long."),
        ("kill the dev server", "Killed the processes on port 5173 that `vite` had left."),
        ("give me options for the title", "> Rebuild your ship with the memory of agents"),
        ("make the intro shorter", "I'd make it one card, as in `intro.js`, and drop the rest."),
        ("where did we leave off", "The last commit is `a1b2c3d`, and the tree is clean again."),
        ("investigate all open issues", "I checked the 35 open issues of `shop` one by one."),
        ("create a draft pr with the plan", "The plan is in `plan.md`, for your review there."),
        ("is it done?", "The run of `make check` is green, and nothing else is left to do here."),
    ],
)
def test_opinions_drafts_and_states_of_the_moment_are_not_shown(asked: str, answer: str) -> None:
    assert said(user(asked), agent(answer), user("ok")) == []


@pytest.mark.rows("OBS-13")
def test_tries_of_colours_and_sizes_are_not_shown() -> None:
    turn = (user("the heading is too small"), edit("src/style.css"), agent("Now it has 21px."))
    assert said(*turn, user("ok")) == []


@pytest.mark.rows("OBS-13")
@pytest.mark.parametrize(
    "answer",
    [
        "I changed the second beat in `launch.js` to: “Run commands to inspect the records.”",
        "The badge in `title.js` has a bigger font now, with more padding and a brighter border.",
        "I've successfully created a fully functional reader with `parse.py` and its tests.",
        "Created the worktree `review-e2e` for the next steps of the parser and its reader.",
        "Spawned the review agent in the worktree `review-e2e`; it has its task in `task.md`.",
    ],
)
def test_wordings_looks_and_boasts_are_not_summed_up(answer: str) -> None:
    assert texts("session_summary", user(ASKED), edit(), agent(answer), user("ok")) == []


@pytest.mark.rows("OBS-13")
def test_a_claim_that_its_summary_tells_is_done() -> None:
    events = in_order(user(ASKED), edit(), agent("Done. `read_line` accepts empty files now."))
    (claim,) = [one for one in observe(SESSION, events) if one.type == "completion_claim"]
    assert claim.status == "done"


@pytest.mark.rows("OBS-13")
def test_thinking_aloud_is_no_request_that_stands_alone() -> None:
    aloud = (
        "ok so i was thinking that maybe we can do it later but you should see what it is"
        " and then we will see if that is what i want in `a.py` or not"
    )
    assert texts("user_request", user(aloud), agent(ANSWER)) == []
