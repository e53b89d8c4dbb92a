"""Figures from outputs and labels. Pure functions; what a match is, the reference matcher says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.bench.quality.labels import (
    HALVES,
    Half,
    Label,
    Labels,
    Matcher,
    of_half,
    of_project,
)
from tests.bench.quality.outputs import FixAnswer, Outputs, Run, SessionOutput

FIRST_LINES = 12
FIRST_RANKS = 5
REQUEST_SHARE = 0.25
CLASSES = ("success", "partial", "fail", "abandoned", "no_task", "unknown")
OUTCOME_NAMES = {"uncertain": "unknown"}
"""The program's word for an outcome where the labels have another."""
RULE_OUTPUTS = ("rules in observations", "rules in MEMORY.md", "rules in open-work")
OPEN_OUTPUTS = ("open-work", "open observations")
TOLD_OUTPUTS = ("session start", "pack", "MEMORY.md")
_STALE = ("stale", "wrong")
_COMMON = frozenset(
    (
        *("the", "and", "for", "with", "that", "this", "from", "what", "was", "are", "its"),
        *("into", "then", "than", "you", "can", "not", "let", "okay", "how", "why", "has"),
        *("have", "had", "all", "each", "only", "out"),
    )
)


class Share(NamedTuple):
    """So many of so many."""

    hits: int
    of: int

    def __add__(self, other: object) -> Share:  # sums over projects
        assert isinstance(other, Share)
        return Share(self.hits + other.hits, self.of + other.of)


class Finding(NamedTuple):
    """One miss or one wrong line: what was expected and what was printed."""

    label: str
    expected: str
    printed: str


class Section(NamedTuple):
    """How many lines under one heading are wanted, unwanted and unjudged."""

    wanted: int
    unwanted: int
    unjudged: int


class Score(NamedTuple):
    """One output in one half."""

    figures: dict[str, Share]
    missed: list[Finding]
    wrong: list[Finding]
    unjudged: list[str]
    sections: Mapping[str, Section] = MappingProxyType({})
    """By heading, of outputs that have any."""


class Judged(NamedTuple):
    """One line, the label that decides it, and whether that label wants it."""

    line: str
    label: Label | None
    is_wanted: bool


def score_all(matcher: Matcher, outputs: Outputs, labels: Labels) -> dict[str, dict[Half, Score]]:
    """Every output by name, in both halves."""
    halves = {half: score_half(matcher, outputs, labels, half) for half in HALVES}
    return {name: {half: halves[half][name] for half in HALVES} for name in halves[HALVES[0]]}


def score_half(matcher: Matcher, outputs: Outputs, labels: Labels, half: Half) -> dict[str, Score]:
    """Every output by name, in one half; lines are scored by project and added up."""
    scores = {
        "outcomes": score_sessions(matcher, outputs.sessions, of_half(labels.outcomes, half)),
        "cures of fix": score_fixes(matcher, outputs.fixes, of_half(labels.cures, half)),
    }
    for names, judges, score in (
        (RULE_OUTPUTS, labels.rules, score_rules),
        (OPEN_OUTPUTS, labels.open_work, score_open),
        (TOLD_OUTPUTS, labels.tell, score_told),
    ):
        projects = sorted({label["project"] for label in of_half(judges, half)})
        for name in names:
            lines = outputs.lines.get(name, {})
            scores[name] = add_up(
                score(matcher, lines.get(project, []), of_project(judges, project))
                for project in projects
            )
    recurring = of_half(labels.recurring, half)
    scores["detect"] = score_detected(matcher, outputs.detected[half], recurring)
    return scores


def add_up(scores: Iterable[Score]) -> Score:
    """The sum of scores with the same figures."""
    sections: dict[str, Section] = {}
    total = Score({}, [], [], [], sections)
    for score in scores:
        for name, share in score.figures.items():
            total.figures[name] = total.figures.get(name, Share(0, 0)) + share
        total.missed.extend(score.missed)
        total.wrong.extend(score.wrong)
        total.unjudged.extend(score.unjudged)
        for heading, section in score.sections.items():
            known = sections.get(heading, Section(0, 0, 0))
            sections[heading] = Section(*map(sum, zip(known, section, strict=True)))
    return total


def judge(
    matcher: Matcher, line: str, wanted: Sequence[Label], unwanted: Sequence[Label]
) -> Judged:
    """The most specific label decides; of two alike, the one that wants the line."""
    weighed = [(matcher.weight(line, label), True, label) for label in wanted]
    weighed += [(matcher.weight(line, label), False, label) for label in unwanted]
    weight, is_wanted, label = max(weighed, key=lambda entry: entry[:2], default=(0, False, None))
    return Judged(line, label, is_wanted) if weight else Judged(line, None, False)


def score_lines(
    matcher: Matcher, lines: Sequence[str], wanted: Sequence[Label], unwanted: Sequence[Label]
) -> tuple[Score, list[Judged]]:
    """Precision over the judged lines and recall over the wanted labels."""
    judged = [judge(matcher, line, wanted, unwanted) for line in lines]
    decided = [entry for entry in judged if entry.label is not None]
    good = sum(entry.is_wanted for entry in decided)
    missed = [label for label in wanted if not any(matcher.found(line, label) for line in lines)]
    figures = {
        "precision": Share(good, len(decided)),
        "recall": Share(len(wanted) - len(missed), len(wanted)),
        "unjudged lines": Share(len(lines) - len(decided), len(lines)),
    }
    wrong = [
        Finding(entry.label["id"], _why(entry.label), entry.line)
        for entry in decided
        if entry.label is not None and not entry.is_wanted
    ]
    findings = [Finding(label["id"], _text(label), "") for label in missed]
    unjudged = [entry.line for entry in judged if entry.label is None]
    return Score(figures, findings, wrong, unjudged), judged


def _text(label: Label) -> str:
    for name in ("rule_text", "rule", "item", "text", "quote", "problem"):
        if isinstance(label.get(name), str):
            return label[name]
    return ""


def _why(label: Label) -> str:
    kind = label.get("status") or label.get("kind") or ""
    return ": ".join(part for part in (kind, label.get("why") or "") if part)


def score_rules(matcher: Matcher, lines: list[str], labels: list[Label]) -> Score:
    """Rules the user stated, against sentences that look like rules and are none.

    Without a model the program can only repeat what was said, which seldom has the words of the
    rule behind it. So a second set of figures counts a line that quotes a labelled statement too.
    """
    wanted = [label for label in labels if label["kind"] == "rule"]
    unwanted = [label for label in labels if label["kind"] != "rule"]
    score, judged = score_lines(matcher, lines, wanted, unwanted)
    quoting = {
        label["id"]: line for label in wanted for line in lines if is_told(matcher, line, label)
    }
    repeated = [label for label in wanted if len(label["sessions"]) > 1]
    good = [
        entry.is_wanted or any(is_told(matcher, entry.line, label) for label in wanted)
        for entry in judged
    ]
    bad = sum(
        entry.label is not None and not is_good for entry, is_good in zip(judged, good, strict=True)
    )
    return score._replace(
        figures={
            **score.figures,
            "precision, quotes count": Share(sum(good), sum(good) + bad),
            "recall, quotes count": Share(len(quoting), len(wanted)),
            "the same, stated in 2+ sessions": Share(
                sum(label["id"] in quoting for label in repeated), len(repeated)
            ),
        },
        missed=[
            finding._replace(printed=quoting.get(finding.label, "")) for finding in score.missed
        ],
    )


def is_told(matcher: Matcher, line: str, label: Label) -> bool:
    """Whether a line says a rule, or quotes one of the statements it rests on."""
    return matcher.found(line, label) or any(
        matcher.same_quote(line, statement) for statement in label["evidence"]
    )


def score_open(matcher: Matcher, lines: list[str], labels: list[Label]) -> Score:
    """Open work, against what looks open and is not."""
    wanted = [label for label in labels if label["open"]]
    unwanted = [label for label in labels if not label["open"]]
    return score_lines(matcher, lines, wanted, unwanted)[0]


def score_told(matcher: Matcher, lines: list[str], labels: list[Label]) -> Score:
    """What a new session is told: worth it, and in which order."""
    wanted = [label for label in labels if label["tell"]]
    unwanted = [label for label in labels if not label["tell"]]
    score, judged = score_lines(matcher, lines, wanted, unwanted)
    decided = [entry for entry in judged if entry.label is not None]
    stale = sum(
        not entry.is_wanted and entry.label is not None and entry.label["why"] in _STALE
        for entry in decided
    )
    first = lines[:FIRST_LINES]
    top = [label for label in wanted if label["rank"] <= FIRST_RANKS]
    early = sum(any(matcher.found(line, label) for line in first) for label in top)
    return score._replace(
        figures={
            **score.figures,
            "wrong or stale": Share(stale, len(decided)),
            f"order: rank 1-{FIRST_RANKS} in first {FIRST_LINES}": Share(early, len(top)),
        },
        sections=by_heading(judged),
    )


def by_heading(judged: Sequence[Judged]) -> dict[str, Section]:
    """Which headings hold what is wanted; a line begins with its heading and a colon."""
    sections: dict[str, Section] = {}
    for entry in judged:
        heading = entry.line.partition(":")[0]
        wanted, unwanted, unjudged = sections.get(heading, Section(0, 0, 0))
        judgement = entry.label is not None
        sections[heading] = Section(
            wanted + entry.is_wanted,
            unwanted + (judgement and not entry.is_wanted),
            unjudged + (not judgement),
        )
    return sections


def score_detected(matcher: Matcher, lines: list[str], labels: list[Label]) -> Score:
    """What recurs: problems that deserve a rule, against those that deserve none."""
    wanted = [label for label in labels if label["rule"]]
    unwanted = [label for label in labels if not label["rule"]]
    return score_lines(matcher, lines, wanted, unwanted)[0]


def score_fixes(matcher: Matcher, answers: Mapping[str, FixAnswer], labels: list[Label]) -> Score:
    """Cures, error by error: one answer must not count for the error two lines further on."""
    hits = false = curable = known = 0
    missed: list[Finding] = []
    wrong: list[Finding] = []
    for label in labels:
        answer = answers.get(label["id"], FixAnswer(False, ()))
        known += answer.known
        score = matcher.score_cures(predicted_cures(label, answer), [label])
        hits += score["hit"]
        false += score["false"]
        curable += label["cure_kind"] != "none"
        printed = "; ".join(cure.command for cure in answer.cures)
        printed = printed or ("no cure" if answer.known else "unknown error")
        finding = Finding(label["id"], f"{label['error']} => {_cure(label)}", printed)
        if score["false"]:
            wrong.append(finding)
        if score["missed"]:
            missed.append(finding)
    figures = {
        "precision": Share(hits, hits + false),
        "recall": Share(hits, curable),
        "error is known": Share(known, len(labels)),
    }
    return Score(figures, missed, wrong, [])


def predicted_cures(label: Label, answer: FixAnswer) -> list[dict[str, object]]:
    """The answer in the form the reference matcher reads."""
    where = {
        "session": label["session"],
        "error_line": label.get("error_line", label["line"][0]),
    }
    return [{**where, "kind": cure.kind, "cure_lines": list(cure.at)} for cure in answer.cures]


def _cure(label: Label) -> str:
    return f"{label['cure_kind']}: {label['cure']}".rstrip(": ")


def score_sessions(
    matcher: Matcher, sessions: Mapping[str, SessionOutput], labels: list[Label]
) -> Score:
    """Outcome, request and checks of each session."""
    known = [label for label in labels if label["session"] in sessions]
    predicted = {
        label["session"]: OUTCOME_NAMES.get(outcome := sessions[label["session"]].outcome, outcome)
        for label in known
    }
    outcome = matcher.score_outcomes(predicted, known)
    count = len(labels)
    figures = {
        "strict": Share(round(outcome["strict"] * len(known)), count),
        "lenient": Share(round(outcome["lenient"] * len(known)), count),
    }
    for name in CLASSES:
        figures[f"recall of {name}"] = Share(*outcome["recall"].get(name, (0, 0)))
    right = [
        label
        for label in known
        if is_request(sessions[label["session"]].objective, label["request"])
    ]
    figures["request right"] = Share(len(right), count)
    score = Score(figures, [], [], [])
    for label in labels:
        session = sessions.get(label["session"])
        if session is None:
            score.missed.append(Finding(label["id"], label["outcome"], "session not captured"))
            continue
        named = predicted[label["session"]]
        if named != label["outcome"]:
            also = "".join(f" or {other}" for other in label.get("also_ok", ()))
            grounds = "; ".join(session.grounds) or "no grounds"
            expected = f"{label['outcome']}{also}: {label['why']}"
            score.wrong.append(Finding(label["id"], expected, f"{named}: {grounds}"))
        if label not in right:
            expected = f"request: {label['request']}"
            score.wrong.append(Finding(label["id"], expected, session.objective))
    checks = [score_checks(sessions[label["session"]], label) for label in known]
    return add_up([score, *checks])


def score_checks(session: SessionOutput, label: Label) -> Score:
    """Labelled checks that the digest names, by the line of their result or by their words."""
    found = same = 0
    missed: list[Finding] = []
    used: set[Run] = set()
    for check in label["checks"]:
        runs = [run for run in session.checks if is_check(run, check)]
        used.update(runs)
        right = any(run.verdict == check["verdict"] for run in runs)
        found += bool(runs)
        same += right
        if not right:
            expected = f"check {check['verdict']}: {check['command']} {check.get('lines', '')}"
            printed = "; ".join(f"{run.verdict} at {run.at}" for run in runs) or "not a check"
            missed.append(Finding(label["id"], expected, printed))
    count = len(label["checks"])
    other = [f"{run.verdict}: {run.command}" for run in session.checks if run not in used]
    figures = {
        "checks found": Share(found, count),
        "checks found with their verdict": Share(same, count),
        "unjudged checks": Share(len(other), len(session.checks)),
    }
    return Score(figures, missed, [], other)


def is_check(run: Run, check: Mapping[str, Any]) -> bool:
    """Whether a run is a labelled check: at one of its lines, or with all of its words."""
    if "lines" in check:
        return bool(set(run.at) & set(check["lines"]))
    return set(check["command"].split()) <= set(run.command.split())


def is_request(objective: str, request: str) -> bool:
    """Whether the objective has a quarter or more of the words of the real request.

    Both are in different people's words, so common words are left out and of the others the first
    five letters count.
    """
    words = request_words(request)
    return bool(words) and len(words & request_words(objective)) >= REQUEST_SHARE * len(words)


def request_words(text: str) -> set[str]:
    """The beginnings of all words that mean something."""
    return {word[:5] for word in re.findall(r"[a-z0-9]{3,}", text.lower()) if word not in _COMMON}
