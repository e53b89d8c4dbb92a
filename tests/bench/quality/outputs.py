"""Everything the program tells without a model, collected through its command line.

Labels name raw lines of a log (from 1); the program names events, and an event the byte of the
log its record begins at, plus its place within that record. `LogLines` turns one into the other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.quality.labels import Half, Label, Labels, half_of
from tests.bench.quality.program import Program

EVERYTHING = "1000000"
RULES_HEADING = "what the user wants"
DETECTED = 20
"""How many of what `detect` ranks are scored, in each half."""
_OPEN = ("pending_item", "blocker")
_TRACES = re.compile(r"\s*(\(trace [^)]*\)|\[e:\d+\])")
_PLACEHOLDER = re.compile(r"<\w+>")


class Run(NamedTuple):
    """A command that the digest takes for a check, with its lines in the log."""

    command: str
    verdict: str
    at: tuple[int, ...]


class Call(NamedTuple):
    """A tool call and its result, by their lines in the log."""

    command: str
    at: int
    answered_at: int | None
    answer: str


class SessionOutput(NamedTuple):
    """What is told of one session."""

    outcome: str
    objective: str
    grounds: tuple[str, ...]
    checks: tuple[Run, ...]
    calls: tuple[Call, ...]


def labelled(digest: Mapping[str, Any]) -> str:
    """The outcome in the words of the labels, which have some for no task and for giving up."""
    open_end = digest["ended"] == "interrupted" and digest["outcome"] == "uncertain"
    if open_end:
        return "abandoned"
    return digest["outcome"] if digest["task"] == "work" else "no_task"


class Cure(NamedTuple):
    """What `fix` advises, and the lines of the labelled session where that was done."""

    command: str
    kind: str
    at: tuple[int, ...]


class FixAnswer(NamedTuple):
    """The answer to one labelled error."""

    known: bool
    cures: tuple[Cure, ...]


class Outputs(NamedTuple):
    """All of it. Lines by name of the output, then by label project, in the order shown."""

    sessions: dict[str, SessionOutput]
    lines: dict[str, dict[str, list[str]]]
    detected: dict[Half, list[str]]
    fixes: dict[str, FixAnswer]


class LogLines:
    """Line numbers of byte positions in a log."""

    def __init__(self, log: bytes) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", log))]

    def line(self, position: int) -> int:
        """The line, from 1, that holds a byte."""
        return bisect_right(self._starts, position)


class _Events(NamedTuple):
    """The lines of a session's events, by their number."""

    by_seq: dict[int, int]
    calls: tuple[Call, ...]
    result_of: dict[int, int]
    """The line of the result, by the number of the call."""


class _Folder(NamedTuple):
    """A directory sessions ran in, with the key of its project."""

    key: str
    directory: str


def collect(program: Program, labels: Labels) -> Outputs:
    """Ask for everything the labels judge."""
    project_of = _projects(labels)
    log_of = {label["session"]: label["file"] for label in labels.outcomes}
    log_of |= {label["session"]: label["file"] for label in labels.cures}
    folders = _folders(program, project_of)
    logs = labels.folder / "logs"
    events = {name: _events(program, name, logs / file) for name, file in log_of.items()}
    keys = {folder.key: project for project, places in folders.items() for folder in places}
    candidates = program.json("rules", "detect", "--min-frequency", "1", "--json")
    quotes = {candidate["id"]: candidate["quotes"] for candidate in candidates}
    return Outputs(
        {name: _session(program, name, known) for name, known in events.items()},
        _lines(program, folders),
        _detected(program.json("rules", "detect", "--json"), keys),
        {label["id"]: _fix(program, label, events, quotes) for label in labels.cures},
    )


def _projects(labels: Labels) -> dict[str, str]:
    """The label project of every labelled session."""
    named = (*labels.outcomes, *labels.cures, *labels.open_work, *labels.tell)
    return {label["session"]: label["project"] for label in named}


def _folders(program: Program, project_of: Mapping[str, str]) -> dict[str, list[_Folder]]:
    """The directories of each label project, the one with most sessions first."""
    counts: dict[str, Counter[_Folder]] = {}
    for entry in program.json("sessions", "--limit", EVERYTHING, "--json")["sessions"]:
        session = entry["session"]
        project = project_of.get(session["external_id"])
        if project is not None:
            folder = _Folder(session["project_key"], session["cwd"])
            counts.setdefault(project, Counter())[folder] += 1
    return {
        project: [folder for folder, _ in count.most_common()] for project, count in counts.items()
    }


def _events(program: Program, session: str, log: Path) -> _Events:
    lines = LogLines(log.read_bytes())
    events = program.json("show", session, "--json")["events"]
    by_seq = {event["seq"]: lines.line(event["source_ref"][1]) for event in events}
    answers = {event["call_id"]: event for event in events if event["kind"] == "tool_result"}
    calls: list[Call] = []
    result_of: dict[int, int] = {}
    for event in events:
        if event["kind"] != "tool_call":
            continue
        answer = answers.get(event["call_id"]) if event["call_id"] else None
        answered_at = None if answer is None else by_seq[answer["seq"]]
        if answered_at is not None:
            result_of[event["seq"]] = answered_at
        text: str = (answer["text"] if answer else None) or ""
        calls.append(Call(event["command"] or "", by_seq[event["seq"]], answered_at, text))
    return _Events(by_seq, tuple(calls), result_of)


def _session(program: Program, session: str, events: _Events) -> SessionOutput:
    digest = program.json("show", "--digest", session, "--json")["digest"]
    checks = tuple(
        Run(run["command"], "fail" if run["is_error"] else "pass", _run_lines(run["seq"], events))
        for run in digest["commands"]
        if run["verifies"]
    )
    grounds = tuple(digest["grounds"])
    objective = digest["objective"] or ""
    return SessionOutput(labelled(digest), objective, grounds, checks, events.calls)


def _run_lines(seq: int, events: _Events) -> tuple[int, ...]:
    lines = (events.by_seq.get(seq), events.result_of.get(seq))
    return tuple(line for line in lines if line is not None)


def _lines(
    program: Program, folders: Mapping[str, list[_Folder]]
) -> dict[str, dict[str, list[str]]]:
    lines: dict[str, dict[str, list[str]]] = {}
    for project, places in folders.items():
        for folder in places:
            for name, said in _of_folder(program, folder).items():
                shown = lines.setdefault(name, {}).setdefault(project, [])
                shown += [line for line in said if line not in shown]
    return lines


def _of_folder(program: Program, folder: _Folder) -> dict[str, list[str]]:
    """Every output that is a list of lines, for one directory."""
    key = ("--project", folder.key, "--json")
    work = program.json("project", "open-work", *key)
    memory = program.json("project", "memory", "show", "--project", folder.directory, "--json")
    noted = program.json("project", "observations", *key, "--limit", EVERYTHING)["observations"]
    remembered = told_lines((memory["memory"] if memory else None) or "")
    return {
        "session start": plain(told_lines(program.told_at_start(folder.directory))),
        "pack": plain(told_lines(program.json("project", "pack", *key)["text"])),
        "MEMORY.md": plain(remembered),
        "rules in MEMORY.md": [
            text for heading, text in remembered if heading.lower() == RULES_HEADING
        ],
        "rules in open-work": [item["text"] for item in work["constraints"]],
        "rules in observations": [item["text"] for item in noted if item["type"] == "constraint"],
        "open-work": [
            item["text"]
            for item in (*work["pending_items"], *work["blockers"], *work["dod_missing"])
        ],
        "open observations": [
            item["text"] for item in noted if item["type"] in _OPEN and item["status"] == "active"
        ],
    }


def told_lines(text: str) -> list[tuple[str, str]]:
    """(heading, line) of each item and table row of a text; all else is its frame."""
    heading = ""
    lines: list[tuple[str, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("#") or (line.endswith(":") and not line.startswith(("-", "|", "!"))):
            heading = re.sub(r"\s*\([^)]*\)$", "", line.strip("#: "))
        elif line.startswith(("- ", "* ", "! ")):
            lines.append((heading, _TRACES.sub("", line[2:]).strip()))
        elif line.startswith("|") and not set(line) <= set("|-: "):
            lines.append((heading, line.strip("| ")))
    return lines


def plain(lines: Iterable[tuple[str, str]]) -> list[str]:
    """Each line with its heading before it, as a reader takes it in."""
    return [f"{heading}: {text}" if heading else text for heading, text in lines]


def _detected(
    candidates: Iterable[Mapping[str, Any]], keys: Mapping[str, str]
) -> dict[Half, list[str]]:
    """The first candidates of each half, each as one line of all that its paragraph says."""
    lines: dict[Half, list[str]] = {"development": [], "report": []}
    for candidate in candidates:
        projects = [keys[key] for key in candidate["repos"] if key in keys]
        if projects:
            lines[half_of(projects)].append(_paragraph(candidate))
    return {half: found[:DETECTED] for half, found in lines.items()}


def _paragraph(candidate: Mapping[str, Any]) -> str:
    parts = [candidate["rule"], f"{candidate['type']}: {candidate['locus']}"]
    if candidate["about"]:
        parts.append(f"after: {candidate['about']}")
    parts += [f"cured by: {cure['command']}" for cure in candidate["cures"][:2]]
    parts += [f'"{quote["text"]}"' for quote in candidate["quotes"][:2]]
    return " · ".join(" ".join(part.split()) for part in parts if part)


def _fix(
    program: Program,
    label: Label,
    events: Mapping[str, _Events],
    quotes: Mapping[str, list[Mapping[str, Any]]],
) -> FixAnswer:
    """Ask with the error's line, as an agent would; if that is unknown, with the whole output."""
    of_session = events[label["session"]]
    error_at = label.get("error_line", label["line"][0])
    texts = [] if label.get("error_is_paraphrase") else [label["error"]]
    texts += [
        call.answer for call in of_session.calls if call.answered_at == error_at and call.answer
    ]
    for text in texts:
        answer = program.json("fix", "--json", "--", text)
        if answer is not None:
            cures = [
                Cure(
                    cure["command"],
                    cure.get("kind", "command"),
                    _done_at(cure, label["session"], error_at, of_session, quotes),
                )
                for cure in answer["cures"]
            ]
            return FixAnswer(True, tuple(cures))
    return FixAnswer(False, ())


def _done_at(
    cure: Mapping[str, Any],
    session: str,
    error_at: int,
    events: _Events,
    quotes: Mapping[str, list[Mapping[str, Any]]],
) -> tuple[int, ...]:
    """Lines of calls in this session that the advice rests on, or that do what it says."""
    quoted = {
        events.by_seq[quote["event"]]
        for quote in [*quotes.get(cure["pattern"], ()), *cure.get("quotes", ())]
        if quote["session"] == session and quote["event"] in events.by_seq
    }
    done = {
        call.at
        for call in events.calls
        if call.at > error_at and says_command(cure["command"], call.command)
    }
    return tuple(sorted(quoted | done))


def says_command(advice: str, command: str) -> bool:
    """Whether the advice names this command; the name of a program alone is no advice."""
    words = _PLACEHOLDER.sub(" ", advice).split()
    return len(words) > 1 and set(words) <= set(command.split())
