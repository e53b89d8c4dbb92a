"""A rule is told only when a good colleague would have written it down."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.schema import RuleStatement, SessionEvent
from session_memory.distil.rules import (
    MAX_RULES,
    RuleLog,
    StandingRule,
    standing_rules,
)

DAY = 86_400_000


def statements_of(events: list[SessionEvent]) -> tuple[RuleStatement, ...]:
    log = RuleLog()
    for event in events:
        log.add(event)
    return log.statements()


def session(*prompts: str, at: int = 0, worked: bool = True) -> tuple[RuleStatement, ...]:
    """The statements of a session in which the agent answers after each prompt."""
    events: list[SessionEvent] = []
    opening = ("look at the parser", *prompts) if worked else prompts
    for n, prompt in enumerate(opening):
        events.append(SessionEvent(1, 2 * n, "user_prompt", "user", at=at + n, text=prompt))
        events.append(SessionEvent(1, 2 * n + 1, "tool_call", "agent", at=at + n, text="{}"))
    return statements_of(events)


def rules(*sessions: str | tuple[str, ...]) -> list[StandingRule]:
    """The rules of sessions, one a day, each with its prompts."""
    return standing_rules(
        {
            n + 1: session(*((each,) if isinstance(each, str) else each), at=n * DAY)
            for n, each in enumerate(sessions)
        }
    )


# --- said once ---


@pytest.mark.parametrize(
    "said",
    [
        "Always run the linter before committing",
        "never push directly to main",
        "From now on, use pnpm instead of npm",
        "please don't amend commits",
        "dont add comments to code unless I ask",
        "stop adding co-author lines to commits",
        "we use tabs here, not spaces",
        "I told you not to touch generated files",
        "you keep creating new branches",
        "Don't use emojis in commit messages",
        "no em dashes",
        "ask me before you install packages",
        "every PR needs a changelog entry",
        "commit messages should be in English",
        "tests should not hit the network",
        "do not EVER commit to main",
        "we never mock the database",
        "whenever you change the schema, regenerate the types",
        "next time, read the docs before you guess",
        "don't commit without asking me",
        "I don't want you to write comments",
        "don't push to main",
        "secrets must never be logged",
        "we should discuss before you edit it",
        "we should keep the old name since other tools look for the old one",
        "please remember that we'd rather have small modules than clever ones",
        "i dont want my transcripts to be public",
        "we want plain functions, no frameworks",
        "I'd prefer small commits over big ones",
        "error codes should stay consistent with the old server",
        "let's use the native container instead of docker",
        "invalid files must not stop the import",
        "we shouldn't commit generated files",
        "i thought the convention was to name them after the module",
        "review agents need to check that it works end to end",
        "use hex values, no indices!",
        "add to CLAUDE.md that the server runs on port 4000",
    ],
)
def test_what_is_firm_and_general_is_a_rule_at_once(said: str) -> None:
    (rule,) = rules(said)
    assert rule.sure == "stated once, firmly"
    assert (rule.sessions, rule.times) == (1, 1)


@pytest.mark.parametrize(
    "said",
    [
        "commit and push",
        "don't worry about the tests",
        "do not commit the setup guide",
        "never mind",
        "this always fails on CI",
        "it never worked before",
        "why does it always rebuild?",
        "can you always show the header?",
        "don't touch that file",
        "don't change the footer color",
        "don't push changes yet",
        "no more changes please",
        "no errors now",
        "stop the server",
        "in the future we might support other systems",
        "next time it runs it should pick up the config",
        "whenever you click the button the page reloads",
        "every time you save it crashes",
        "we only have two users",
        "we don't have tests for that",
        "we always get an error when the id is missing",
        "make sure the tests pass",
        "I'd prefer option 2",
        "use the first option",
        "the button should never be disabled when the form is valid",
        "don't send emails to unverified users",
        "avoid duplicates in the results",
        "maybe we should always sort them",
        "I never asked for that",
        "you keep getting the same error because the key is missing",
        "that should never happen",
        "i dont want the blue border",
        "i didnt want that",
        "we should add a button for it",
        "it must be a caching issue",
        "the map shouldn't rotate away when you click",
        "please update CLAUDE.md",
    ],
)
def test_what_only_sounds_like_a_rule_stays_silent(said: str) -> None:
    assert rules(said) == []


def test_proposals_and_complaints_about_the_same_thing_are_one_rule() -> None:
    (rule,) = rules("lets include the changed files", "you didnt include the changed files")
    assert (rule.sure, rule.sessions) == ("repeated", 2)
    assert rules("lets include the changed files", "lets move the header down a bit") == []


def test_what_is_repeated_about_code_by_name_is_one_task_over_two_sessions() -> None:
    once, again = "use `read_line` when `path` is empty", "use `read_line` when the `path` is empty"
    assert rules(once, again) == []


@pytest.mark.parametrize(
    "said",
    [
        "we want the old format but also want to share the example more",
        "we should call ours max_workers as well to be consistent",
    ],
)
def test_a_decision_about_one_name_or_with_a_but_is_no_rule(said: str) -> None:
    assert rules(said) == []


def test_the_first_prompt_describes_a_task() -> None:
    task = "build a small reader. don't use classes. no console logs"
    assert standing_rules({1: session(task, worked=False)}) == []
    lasting = "fix the reader. from now on never use classes in this repo"
    assert len(standing_rules({1: session(lasting, worked=False)})) == 1


def test_demands_of_two_first_prompts_are_matters_of_two_tasks() -> None:
    first = session("add a reader. use only the standard library", worked=False)
    second = session("add a writer. use only the standard library", at=DAY, worked=False)
    assert standing_rules({1: first, 2: second}) == []


def test_a_long_list_of_demands_describes_a_task() -> None:
    demands = "please do this:\n- never use classes\n- always log calls\n- don't add comments"
    assert rules(demands) == []


@pytest.mark.parametrize(
    "said", ["use uv instead of pip", "put helper scripts into the tools repo"]
)
def test_a_correction_given_as_reason_of_a_refusal_is_firm(said: str) -> None:
    refused = f"To tell you how to proceed, the user said:\n{said}"
    events = [
        SessionEvent(1, 1, "user_prompt", "user", at=1, text="set it up"),
        SessionEvent(1, 2, "tool_call", "agent", at=2, text="{}"),
        SessionEvent(1, 3, "tool_result", "tool", at=3, label="denied", text=refused),
    ]
    (rule,) = standing_rules({1: statements_of(events)})
    assert rule.text == said
    assert rule.why == "corrects the agent, after a refusal"
    assert rules(said) == []


# --- said again ---


@pytest.mark.parametrize(
    "said",
    [
        "commit and push",
        "check out main and pull the latest",
        "make the title bigger",
        "use the dark colours for the title",
        "the title shouldn't overlap the picture",
        "the importer is still too slow",
    ],
)
def test_repeated_requests_and_product_wishes_are_no_rules(said: str) -> None:
    assert rules(said, said, said) == []


def test_a_first_prompt_sent_twice_is_one_statement() -> None:
    same = session("i dont want nested ternaries in the parser", worked=False)
    assert standing_rules({1: same, 2: same}) == []


def test_a_message_that_was_queued_and_sent_counts_once() -> None:
    said = "please don't amend commits"
    events = [
        SessionEvent(1, 1, "assistant_text", "agent", text="working"),
        SessionEvent(1, 2, "other", "user", label="queued_prompt", text=said),
        SessionEvent(1, 3, "user_prompt", "user", text=said),
    ]
    (statement,) = statements_of(events)
    assert (statement.text, statement.seq) == ("don't amend commits", 2)


# --- taken back ---


@pytest.mark.parametrize(
    ("rule", "end"),
    [
        ("don't commit without asking me", "you can commit whenever you finish a step"),
        ("never use yarn workspaces", "you can use yarn workspaces"),
        ("never use yarn workspaces", "from now on always use yarn workspaces"),
        ("we should discuss before you edit it", "you don't need to ask me first"),
        ("always run the slow tests", "you don't have to run the slow tests"),
    ],
)
def test_what_the_user_takes_back_is_no_rule(rule: str, end: str) -> None:
    assert len(rules(rule)) == 1
    assert rule not in [one.text for one in rules(rule, end)]


def test_a_rule_said_again_after_it_was_taken_back_stands() -> None:
    (rule,) = rules(
        "never use yarn workspaces", "you can use yarn workspaces", "never use yarn workspaces"
    )
    assert (rule.times, rule.first_at) == (1, 2 * DAY + 1)


@pytest.mark.parametrize("once", ["you can commit now", "commit it please", "no need to commit it"])
def test_what_is_allowed_for_once_ends_no_rule(once: str) -> None:
    assert [one.text for one in rules("don't commit without asking me", once)] == [
        "don't commit without asking me"
    ]


def test_saying_that_something_is_not_needed_does_not_end_a_ban() -> None:
    assert len(rules("never run the slow tests", "no need to run the slow tests")) == 1


# --- always ---


def test_a_session_keeps_a_limited_number_and_the_firm_ones_first() -> None:
    wishes = [f"i dont like colour number{n} in widget{n}" for n in range(80)]
    kept = session("never push directly to main", *wishes)
    assert len(kept) == MAX_RULES
    assert [one.text for one in kept if one.firm] == ["never push directly to main"]


SAYINGS = (
    "never use yarn workspaces",
    "you can use yarn workspaces",
    "from now on always use yarn workspaces",
    "i dont want a visual test",
    "stop the visual tests",
    "we should discuss before you edit it",
    "dont add it yet",
    "you don't need to ask me first",
    "give me the link to the ticket",
    "link me to the ticket please",
    "write it with the /tidy-prose skill",
    "commit and push",
)


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from(SAYINGS), max_size=4), max_size=7),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_sessions_does_not_matter(
    said: list[list[str]], days: int, shuffle: random.Random
) -> None:
    # Several sessions may fall on the same instant.
    found = {n: session(*each, at=(n % (days + 1)) * DAY) for n, each in enumerate(said)}
    order = list(found)
    shuffle.shuffle(order)
    assert standing_rules({n: found[n] for n in order}) == standing_rules(found)


@settings(max_examples=60)
@given(st.lists(st.text(max_size=200), max_size=5))
def test_no_text_breaks_it(prompts: list[str]) -> None:
    standing_rules({1: session(*prompts), 2: session(*prompts)})
