"""Each kind of evidence in a digest gives its signal, and nothing of our own does."""

from __future__ import annotations

import pytest
from tests.detect.digests import cured, digest, failed_with, ran

from session_memory.core.loop.patterns import MINER_VERSION, Signal, SignalType, kind_of
from session_memory.core.schema import Cost, Digest, Notice, RuleStatement
from session_memory.core.text.own_text import BEGIN, END
from session_memory.detect.digest_view import SessionProject
from session_memory.detect.signals import signals

PLACE = SessionProject("shop", ("/a/shop",))

FAILS = ran("npm test", 1, ok=False, verifies=True)
WISH = RuleStatement("never push to main", 4, None, "says never", True, "against")
EXAMPLES: dict[SignalType, Digest] = {
    "stated_rule": digest(rules=(WISH,)),
    "notice": digest(notices=(Notice("port in use", "5173", 4),)),
    "failing_command": digest(commands=(ran("git push origin x", 1, ok=False, count=4),)),
    "recurring_error": digest(errors=(failed_with("Found 3 errors.", "Found <n> errors.", 2),)),
    "edit_churn": digest(files={"/a/shop/src/x.py": 9, "/a/shop/y.py": 2}),
    "retry_loop": digest(loops=("Bash: make deploy",)),
    "user_correction": digest(corrections=("No, use uv instead of pip",)),
    "denied_permission": digest(commands=(ran("git push -f", 1, ok=False, denied=True),)),
    "wrong_directory": digest(
        errors=(failed_with("fatal: not a git repository", "fatal: not git", 2),)
    ),
    "missing_tool": digest(errors=(failed_with("sh: jq: command not found", "missing t", 2),)),
    "long_search": digest(calls_before_edit=40),
    "context_thrash": digest(compactions=3),
    "expensive_stretch": digest(outcome="fail", cost=Cost(usd=9.0)),
    "cure": digest(
        commands=(FAILS, ran("npm install", 3), ran("npm test", 5, verifies=True)),
        errors=(failed_with("Missing script", "Missing script", 2),),
        cures=(cured("Missing script", "npm test", "npm install", kind="install"),),
    ),
    "verified_recipe": digest(outcome="success", commands=(ran("pytest -q", 1, verifies=True),)),
    "fast_path": digest(
        outcome="success",
        confidence="high",
        calls_before_edit=2,
        commands=(ran("uv sync", 1), ran("pytest -q", 2, verifies=True)),
    ),
}


def of(found: tuple[Signal, ...], signal_type: SignalType) -> list[Signal]:
    return [one for one in found if one.type == signal_type]


@pytest.mark.rows("DET-04", "DET-09")
@pytest.mark.parametrize("signal_type", EXAMPLES)
def test_every_type_is_mined_with_its_locus_and_cost(signal_type: SignalType) -> None:
    (found,) = of(signals(EXAMPLES[signal_type], PLACE), signal_type)
    assert found.locus and found.pattern and found.quote
    assert found.usd is not None and found.usd > 0 and found.minutes > 0
    assert {kind_of(one) for one in EXAMPLES} == {"problem", "success"}


def test_the_examples_are_of_all_types() -> None:
    assert set(EXAMPLES) == set(SignalType.__args__)
    assert MINER_VERSION > 0


def test_cost_is_the_share_of_the_calls() -> None:
    (found,) = signals(EXAMPLES["failing_command"], PLACE)
    assert (found.count, found.usd, found.minutes) == (4, 0.4, 4.0)


def test_a_night_between_two_prompts_is_no_work() -> None:
    long = digest(events=4, duration_s=40_000.0, commands=(ran("git push x", 1, ok=False),))
    (found,) = signals(long, PLACE)
    assert found.minutes == 0.2


def test_a_check_that_passed_in_the_end_is_work_and_no_problem() -> None:
    passed = digest(commands=(FAILS, ran("npm test", 5, verifies=True)))
    assert of(signals(passed, PLACE), "failing_command") == []
    assert len(of(signals(digest(commands=(FAILS,)), PLACE), "failing_command")) == 1


def test_a_cure_knows_the_error_and_the_command_as_it_was_typed() -> None:
    (cure,) = of(signals(EXAMPLES["cure"], PLACE), "cure")
    assert (cure.about, cure.quote) == ("Missing script", "npm install")
    assert cure.locus == "npm install before npm test"
    assert cure.rule == "In a fresh checkout run `npm install` before `npm test`."
    assert (cure.count, cure.tried, cure.seq) == (1, 1, 3)


@pytest.mark.rows("DET-11")
def test_what_a_host_refuses_is_a_rule_and_being_behind_is_none() -> None:
    said = (Notice("pull requests only", "main", 4), Notice("behind remote", "main", 6))
    (found,) = signals(digest(notices=said), PLACE)
    assert found.rule.startswith("Change `main` through pull requests only")


@pytest.mark.rows("DET-11")
@pytest.mark.parametrize(
    ("command", "locus", "rule"),
    [
        ("cd /a/shop/src && go build ./... 2>&1 | tail -5", "go build ./... in src", "in `src`."),
        ("npm test", "npm test", "Verify with `npm test`."),
        ("pytest -q tests/test_a.py", "pytest <args>", ""),
        ("npm run lint:fix", "npm run lint:fix", ""),
    ],
)
def test_a_check_of_the_whole_project_is_a_rule(command: str, locus: str, rule: str) -> None:
    passed = digest(outcome="success", commands=(ran(command, 1, verifies=True),))
    (found,) = of(signals(passed, PLACE), "verified_recipe")
    assert found.locus == locus and found.rule.endswith(rule) and bool(found.rule) == bool(rule)


def test_a_check_in_a_shell_left_in_a_subdirectory_is_no_check_of_the_root() -> None:
    there = ran("cd src && go vet ./...", 1, verifies=True)
    bare = ran("go build ./...", 2, verifies=True)
    back = ran("cd /a/shop && git status", 3)
    after = digest(outcome="success", commands=(there, bare, back, ran("make", 4, verifies=True)))
    rules = [one.rule for one in of(signals(after, PLACE), "verified_recipe")]
    assert rules == ["Verify with `go vet ./...` in `src`.", "", "Verify with `make`."]


def test_an_error_that_says_nothing_is_named_by_the_command_that_failed() -> None:
    silent = cured("", "make x", "make setup")
    (cure,) = of(signals(digest(cures=(silent,)), PLACE), "cure")
    assert cure.about == "make x"


def test_a_cure_by_editing_names_the_file() -> None:
    edited = cured("boom: no parser", "npm test", "Edit /a/shop/src/x.py", kind="edit")
    (cure,) = of(signals(digest(cures=(edited,)), PLACE), "cure")
    assert (cure.locus, cure.about) == ("edit src/x.py", "boom: no parser")


def test_text_of_our_own_is_no_evidence() -> None:
    told = f"{BEGIN} id=1 --> use uv instead of pip {END}"
    own = digest(
        corrections=(told,),
        errors=(failed_with(told, told, 2),),
        commands=(ran("session-memory sweep", 1, ok=False),),
    )
    assert signals(own, PLACE) == ()
