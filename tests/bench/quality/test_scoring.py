"""Figures are counted as docs/measurements.md says, on made-up outputs and labels."""

from __future__ import annotations

import pytest
from tests.bench.quality import report, stand_in_match
from tests.bench.quality.labels import Label, half_of, of_half
from tests.bench.quality.outputs import (
    Call,
    Cure,
    FixAnswer,
    LogLines,
    Run,
    SessionOutput,
    plain,
    says_command,
    told_lines,
)
from tests.bench.quality.scoring import (
    Score,
    Section,
    Share,
    add_up,
    is_request,
    is_told,
    judge,
    score_checks,
    score_fixes,
    score_lines,
    score_rules,
    score_sessions,
    score_told,
)


def wanted(name: str, *words: str, rank: int = 1) -> Label:
    return {"id": name, "match": [list(words)], "tell": True, "rank": rank, "why": "", "text": name}


def unwanted(name: str, *words: str, why: str = "trivial") -> Label:
    return {"id": name, "match": [list(words)], "tell": False, "why": why, "text": name}


def test_the_line_of_a_byte_counts_from_one() -> None:
    lines = LogLines(b"ab\ncd\n\nef")
    assert [lines.line(position) for position in (0, 2, 3, 5, 6, 7, 8)] == [1, 1, 2, 2, 3, 4, 4]


def test_items_and_rows_are_lines_with_their_heading_and_all_else_is_frame() -> None:
    text = "\n".join(
        (
            "<pack>",
            "Memory of shop.",
            "Constraints (2 of 9):",
            "- keep it short: always (trace 12ab, 34cd and 2 more) [e:77]",
            "## Knowledge",
            "| article | says |",
            "|---|---|",
            "! One thing is open.",
        )
    )
    assert told_lines(text) == [
        ("Constraints", "keep it short: always"),
        ("Knowledge", "article | says"),
        ("Knowledge", "One thing is open."),
    ]
    assert plain(told_lines(text))[0] == "Constraints: keep it short: always"


def test_the_more_specific_label_decides_and_a_tie_is_for_the_wanted_one() -> None:
    good, bad = wanted("good", "build"), unwanted("bad", "build", "forty times")
    assert judge(stand_in_match, "run the build", [good], [bad]).label is good
    assert judge(stand_in_match, "build ran forty times", [good], [bad]).label is bad
    same = unwanted("same", "build")
    assert judge(stand_in_match, "run the build", [good], [same]).is_wanted
    assert judge(stand_in_match, "lunch", [good], [bad]).label is None


def test_precision_is_of_judged_lines_and_recall_of_wanted_labels() -> None:
    lines = ["run the build", "exit 130", "lunch"]
    labels = [wanted("w1", "build"), wanted("w2", "quote")]
    score, _ = score_lines(stand_in_match, lines, labels, [unwanted("u1", "exit 130")])
    assert score.figures == {
        "precision": Share(1, 2),
        "recall": Share(1, 2),
        "unjudged lines": Share(1, 3),
    }
    assert [finding.label for finding in score.missed] == ["w2"]
    assert [(finding.label, finding.printed) for finding in score.wrong] == [("u1", "exit 130")]
    assert score.unjudged == ["lunch"]


def test_what_is_told_is_scored_by_staleness_and_order() -> None:
    labels = [
        wanted("first", "build", rank=1),
        wanted("late", "quote", rank=2),
        wanted("minor", "palette", rank=9),
        unwanted("old", "pytest", why="stale"),
        unwanted("chat", "lunch"),
    ]
    lines = ["build", "pytest", "lunch"]
    lines += [f"filler {number}" for number in range(9)] + ["quote urls"]
    figures = score_told(stand_in_match, lines, labels).figures
    assert figures["wrong or stale"] == Share(1, 4)
    assert figures["order: rank 1-5 in first 12"] == Share(1, 2)
    assert figures["recall"] == Share(2, 3)


def test_told_lines_are_counted_by_heading_over_projects() -> None:
    labels = [wanted("w", "build"), unwanted("u", "pytest")]
    lines = ["Commands: npm run build", "Commands: pytest", "Done: lunch"]
    score = score_told(stand_in_match, lines, labels)
    assert add_up([score, score]).sections == {
        "Commands": Section(2, 2, 0),
        "Done": Section(0, 0, 2),
    }
    both: report.Scores = {"pack": {"development": score, "report": score}}
    assert "| pack   | Commands | 1/1/0            | 1/1/0       |" in report.sections(both)


def test_a_rule_is_told_by_its_words_or_by_a_statement() -> None:
    rule: Label = {
        "id": "r1",
        "kind": "rule",
        "rule": "discuss before editing",
        "match": [["discuss", "before"]],
        "sessions": ["s1", "s2"],
        "evidence": [{"session": "s1", "line": [7], "quote": "talk to me first"}],
    }
    once = {"id": "o1", "kind": "one_off", "quote": "make it 21px", "why": "one value"}
    assert is_told(stand_in_match, "please talk to me first", rule)
    assert is_told(stand_in_match, "discuss it before", rule)
    assert not is_told(stand_in_match, "make it 21px", rule)
    lines = ["please talk to me first", "make it 21px", "lunch"]
    score = score_rules(stand_in_match, lines, [rule, once])
    assert score.figures == {
        "precision": Share(0, 1),
        "recall": Share(0, 1),
        "unjudged lines": Share(2, 3),
        "precision, quotes count": Share(1, 2),
        "recall, quotes count": Share(1, 1),
        "the same, stated in 2+ sessions": Share(1, 1),
    }
    assert [finding.label for finding in score.wrong] == ["o1"]


def test_cures_are_scored_error_by_error() -> None:
    error = {"session": "s1", "line": [10], "error": "boom", "cure": "npm ci"}
    labels: list[Label] = [
        {**error, "id": "c1", "cure_kind": "command", "cure_call_lines": [12]},
        {**error, "id": "c2", "line": [11], "cure_kind": "none"},
        {**error, "id": "c3", "cure_kind": "edit", "edit_call_lines": [40]},
    ]
    answers = {
        "c1": FixAnswer(True, (Cure("npm ci", "command", (12,)),)),
        "c2": FixAnswer(True, (Cure("git status", "command", ()),)),
    }
    score = score_fixes(stand_in_match, answers, labels)
    assert score.figures == {
        "precision": Share(1, 2),
        "recall": Share(1, 2),
        "error is known": Share(2, 3),
    }
    assert [finding.label for finding in score.wrong] == ["c2"]
    assert [(finding.label, finding.printed) for finding in score.missed] == [
        ("c3", "unknown error")
    ]


@pytest.mark.parametrize(
    ("advice", "command", "same"),
    [
        ("npm ci", "cd web && npm ci", True),
        ("npm ci", "npm install", False),
        ("entire <args>", "entire trail create", False),
        ("git fetch <args>", "git fetch origin main", True),
    ],
)
def test_advice_names_a_command_by_more_than_its_program(
    advice: str, command: str, same: bool
) -> None:
    assert says_command(advice, command) is same


def session(outcome: str = "success", objective: str = "", *checks: Run) -> SessionOutput:
    return SessionOutput(outcome, objective, (), checks, (Call("ls", 1, 2, ""),))


def outcome_label(name: str, outcome: str, request: str, **fields: object) -> Label:
    known = {"id": name, "session": name, "outcome": outcome, "request": request, "why": ""}
    return {**known, "checks": [], **fields}


def test_uncertain_is_the_labels_unknown_and_a_lost_session_counts() -> None:
    sessions = {
        "a": session("success", "make the level two briefing shorter"),
        "b": session("uncertain", "hello"),
        "c": session("partial", "add a licence"),
    }
    labels = [
        outcome_label("a", "success", "Shorten the level 2 briefing"),
        outcome_label("b", "unknown", "Rate my history"),
        outcome_label("c", "success", "Add a licence", also_ok=["partial"]),
        outcome_label("d", "success", "Push"),
    ]
    score = score_sessions(stand_in_match, sessions, labels)
    assert score.figures["strict"] == Share(2, 4)
    assert score.figures["lenient"] == Share(3, 4)
    assert score.figures["recall of success"] == Share(1, 2)
    assert score.figures["recall of unknown"] == Share(1, 1)
    assert score.figures["request right"] == Share(2, 4)
    assert [finding.label for finding in score.missed] == ["d"]
    assert [finding.label for finding in score.wrong] == ["b", "c"]


def test_checks_are_found_by_line_or_words_and_by_verdict() -> None:
    label = outcome_label(
        "a",
        "success",
        "Build",
        checks=[
            {"command": "npm test", "verdict": "fail", "lines": [10, 20]},
            {"command": "npm test", "verdict": "pass", "lines": [10, 20]},
            {"command": "curl /api", "verdict": "pass"},
            {"command": "git push", "verdict": "pass", "lines": [30]},
        ],
    )
    runs = (
        Run("npm test", "pass", (19, 20)),
        Run("curl -sS /api", "fail", (25, 26)),
        Run("ruff check", "pass", (40, 41)),
    )
    score = score_checks(session("success", "", *runs), label)
    assert score.figures == {
        "checks found": Share(3, 4),
        "checks found with their verdict": Share(1, 4),
        "unjudged checks": Share(1, 3),
    }
    assert score.unjudged == ["pass: ruff check"]


def test_a_request_is_right_from_a_quarter_of_its_words_on() -> None:
    request = "Simple booth guide, update it for the new refresh, push to main"
    assert is_request("create a simple guide for people running a booth", request)
    assert not is_request("# Files mentioned by the user: picture.png", request)
    assert not is_request("anything", "")


def test_what_spans_both_halves_is_developed_on() -> None:
    assert half_of(("x/agentv", "y/elsewhere")) == "development"
    assert half_of(("y/elsewhere",)) == "report"
    labels = [{"projects": ["x/agentv", "y/elsewhere"]}, {"project": "y/elsewhere"}]
    assert of_half(labels, "report") == labels[1:]


def test_sums_over_projects_keep_every_list() -> None:
    one = Score({"recall": Share(1, 2)}, [], [], ["a"])
    two = Score({"recall": Share(0, 3), "precision": Share(1, 1)}, [], [], ["b"])
    assert add_up([one, two]) == Score(
        {"recall": Share(1, 5), "precision": Share(1, 1)}, [], [], ["a", "b"]
    )


def test_every_figure_shows_its_counts() -> None:
    assert report.shown(Share(1, 3)) == "33 % (1/3)"
    assert report.shown(Share(0, 0)) == "- (0)"


def test_lists_of_the_report_half_are_shown_only_when_asked_for() -> None:
    scores: report.Scores = {
        "pack": {
            "development": Score({"recall": Share(1, 2)}, [], [], ["seen"]),
            "report": Score({"recall": Share(0, 2)}, [], [], ["held out"]),
        }
    }
    assert "50 % (1/2)" in report.table(scores) and "0 % (0/2)" in report.table(scores)
    listed = "\n".join(report.unjudged(scores, ("development",)))
    assert "- seen" in listed and "held out" not in listed
    as_json = report.as_json(scores, ("development",))
    assert as_json["pack"]["report"] == {
        "figures": {"recall": {"hits": 0, "of": 2}},
        "sections": {},
    }
    assert as_json["pack"]["development"]["unjudged"] == ["seen"]
