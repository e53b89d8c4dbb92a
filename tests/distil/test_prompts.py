"""What prompts say about the work before them."""

from __future__ import annotations

import pytest

from session_memory.distil.prompts import is_request, objective_of, read_prompt


def approval(text: str) -> str | None:
    return read_prompt(text).approval


def rejects(text: str) -> bool:
    return read_prompt(text).rejects


def corrects(text: str) -> bool:
    return read_prompt(text).corrects


APPROVALS = [
    "thanks",
    "Thanks! Please update CLAUDE.md for current changes",
    "thank you so much",
    "LGTM",
    "perfect.",
    "Great! Can you also show me how",
    "it works",
    "ok it works now, commit",
    "it seems to work. let's get this committed",
    "looks good to me",
    "That fixed it!",
    "we merged that PR. we need a new one",
    "Danke, passt so",
    "funktioniert jetzt",
    "merci beaucoup",
    "gracias",
    "спасибо, работает",
    "ありがとうございます",
    "谢谢，可以了",
    "완벽해요",
]


@pytest.mark.parametrize("text", APPROVALS)
def test_approval_is_heard_in_several_languages(text: str) -> None:
    assert approval(text) == "explicit"
    assert not rejects(text)


@pytest.mark.parametrize(
    "text", ["ship it", "commit and push", "ok commit and push these changes", "merge it"]
)
def test_asking_to_ship_is_approval_by_implication(text: str) -> None:
    assert approval(text) == "implied"


@pytest.mark.parametrize(
    "text",
    [
        "no, that's wrong",
        "it doesn't work",
        "not working",
        "thanks but it still fails",
        "That’s not what I asked for",
        "revert that",
        "undo",
        "still an issue here",
        "I still get the same error",
        "you broke it",
        "das funktioniert nicht",
        "ça ne marche pas",
        "no funciona",
        "не работает",
        "動きません",
        "还是不行",
        "why doesn't it work?",
    ],
)
def test_rejection_is_heard_and_is_never_approval(text: str) -> None:
    assert rejects(text)
    assert approval(text) is None
    assert corrects(text)


@pytest.mark.parametrize(
    "text",
    [
        "no thanks",
        "make sure it works",
        "explain how it works",
        "does it work?",
        "check that everything is good before you go on with the rest",
        "is it perfect?",
        "not right now",
        "should we revert this?",
        "nice to have: a dark mode",
        "thanks in advance",
        "great question though that was not mine",
        "sounds good",
        "add a commit hook",
    ],
)
def test_words_of_approval_in_other_use_say_nothing(text: str) -> None:
    assert approval(text) is None
    assert not rejects(text)


@pytest.mark.parametrize(
    "text",
    [
        "no, use the other file",
        "don't touch the config",
        "I said tabs, not spaces",
        "use uv instead of pip",
        "wait why are traces in their own folder",
        "why did you delete it",
        "you forgot the tests",
        "nein, die andere Datei",
    ],
)
def test_corrections_are_recognised(text: str) -> None:
    assert corrects(text)


@pytest.mark.parametrize(
    "text",
    [
        "no problem",
        "please add a test",
        "pick up Task 2",
        "is it ready to merge now",
        "could we use X instead?",
        "tell me if i'm wrong",
    ],
)
def test_ordinary_requests_are_not_corrections(text: str) -> None:
    assert not corrects(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "continue",
        "Yes.",
        "ok",
        "/usage",
        "/model opus",
        "/clear",
        "hi",
        "thanks!",
        "A",
        "/my-skill",
    ],
)
def test_prompts_that_ask_for_nothing(text: str) -> None:
    assert not is_request(text)


@pytest.mark.parametrize(
    "text", ["fix it", "/review-pr 12 and report", "git s", "继续重构这个模块"]
)
def test_prompts_that_ask_for_something(text: str) -> None:
    assert is_request(text)


def test_an_objective_is_one_paragraph_of_bounded_length() -> None:
    assert objective_of("Implement the following plan:\n\n# Plan: Add X\n\n## Context\n\nlong") == (
        "Implement the following plan: # Plan: Add X"
    )
    assert objective_of("Please fix the login page of the web shop\n\nlog:\n" + "x" * 5000) == (
        "Please fix the login page of the web shop"
    )
    assert len(objective_of("word " * 10_000)) <= 300
    assert objective_of("") == ""


def test_a_pasted_log_says_nothing() -> None:
    assert approval("look at this log " + "x " * 400 + "\nthanks") is None
    assert not rejects("look at this log " + "x " * 400 + "\nit does not work")
