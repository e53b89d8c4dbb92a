"""Writes what is generated: pages of docs/, packages of agents, and tables that import no records.

The hook file imports nothing of ours, and settings are below the agents in the order of layers.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click

from session_memory.adapters.registry import BUILT_IN, built_in
from session_memory.cli.app import cli
from session_memory.cli.config import packaged
from session_memory.cli.terms import explain_terms
from session_memory.cli.verbs import PLUMBING, TASKS
from session_memory.install.hook_table import with_table
from session_memory.mcp.tools import PROFILES, TOOLS, input_schema, tools_of
from session_memory.packages.build import FOLDER, repository_files
from session_memory.settings import KINDS, SOURCE_KINDS
from session_memory.settings.kinds import ALLOWED
from session_memory.settings.load import variable

ROOT = Path(__file__).resolve().parent.parent
DOCS, PACKAGE = ROOT / "docs", ROOT / "src/session_memory"
NOTE = "<!-- Made by `make docs`; do not edit. -->\n"
WIDTH = 88


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """(path, help) of a command and of everything below it."""
    explain_terms(command)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from commands(inner, child(inner, name, context))


def child(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    """A context of fixed width: the page may not depend on the terminal it was made in."""
    settings = {"terminal_width": WIDTH, "max_content_width": WIDTH, **command.context_settings}
    return click.Context(command, info_name=name, parent=parent, **settings)


MOVED = {
    "detect, explain, distribute, measure": "the same below `rules`",
    "review list, show, approve, reject, edit ...": "the same below `rules`",
    "distribute status, distribute undo": "`rules files`, `rules withdraw`",
    "measure trial": "`rules trial`",
    "loop": "`rules stages`",
    "why-injected": "`rules injected`",
    "pack, brief, open-work, changes, lanes, completion-check": "the same below `project`",
    "observations, memory, journal": "the same below `project`",
    "fsck, repair, backup, restore, export, import, retention": "the same below `store`",
    "secrets, redact, quarantine, audit, spend, dump": "the same below `store`",
    "agents, schedule": "`config agents`, `config schedule`",
    "digest": "`show --digest`",
    "init, uninstall, status, doctor, sweep, sessions, show, search, fix, usage": "as before",
    "tail, pause, resume, forget, project, config": "as before",
    "worker, jobs, mcp, shell-completion, version": "as before, not on the first page",
    "sessions --flavor, tail --flavor, usage --by flavor": "`--agent`, `usage --by agent`",
}
"""Where the verbs of earlier versions are."""


def cli_page() -> str:
    """A list of the verbs by task, then one section per command with the help a user would see."""
    parts = [NOTE, "# Commands"]
    tasks = {**TASKS, "Run by agents, hooks and shells": PLUMBING}
    for heading, verbs in tasks.items():
        parts.append(f"\n**{heading}**\n")
        parts += [f"- [`{n}`](#session-memory-{n}): {verb.help}" for n, verb in verbs.items()]
    headings = {f"session-memory {next(iter(verbs))}": name for name, verbs in tasks.items()}
    for path, text in commands(cli, child(cli, "session-memory", None)):
        if path in headings:
            parts.append(f"\n# {headings[path]}")
        parts.append(f"\n## {path}\n\n```text\n{text}\n```")
    parts += ["\n# Earlier names\n", "| earlier | now |", "|---|---|"]
    parts += [
        f"| {', '.join(f'`{n}`' for n in old.split(', '))} | {now} |" for old, now in MOVED.items()
    ]
    return "\n".join(parts) + "\n"


def config_page() -> str:
    """One section per table of the file: each key with its comment, default and variable."""
    parts = [NOTE, "# Configuration\n"]
    section, comment = "", list[str]()
    for line in packaged().splitlines():
        if line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        elif match := re.fullmatch(r"\[(.+)\]", line):
            section = match.group(1)
            parts += [f"\n## [{section}]\n", " ".join(comment) + "\n"]
            comment = []
        elif match := re.fullmatch(r"(\w+) = (.+)", line):
            key = f"{section}.{match.group(1)}"
            kind = KINDS.get(key) or SOURCE_KINDS[match.group(1)]  # of an agent that is just added
            parts += [
                f"### `{key}`\n",
                " ".join(comment) + "\n",
                f"- default: `{match.group(2)}`",
                f"- allowed: {ALLOWED[kind]}",
                f"- variable: `{variable(key)}`\n",
            ]
            comment = []
        elif comment and not section:  # the introduction, set off by an empty line
            parts.append(" ".join(comment))
            comment = []
    return "\n".join(parts).rstrip("\n") + "\n"


def mcp_page() -> str:
    """The page as it is, with the tables of tools between its two lines made anew."""
    text = (DOCS / "mcp.md").read_text(encoding="utf-8")
    head, begin, rest = text.partition("do not edit between these lines -->\n")
    _, end, tail = rest.partition("<!-- end of tools -->")
    rows = ["| tool | what it tells | profiles |", "|---|---|---|"]
    for tool in TOOLS:
        profiles = ", ".join(name for name in PROFILES if tool in tools_of(name))
        rows.append(f"| `{tool.name}` | {tool.description} | {profiles} |")
    rows += ["", "| tool | takes | by default |", "|---|---|---|"]
    for tool in TOOLS:
        fields = input_schema(tool)["properties"]
        names = [name for name in fields if name != "response_mode"]
        takes = ", ".join(f"`{name}`" + "*" * (name in tool.required) for name in names)
        given = ", ".join(f"{n} {fields[n]['default']}" for n in names if fields[n].get("default"))
        rows.append(f"| `{tool.name}` | {takes or '-'} | {given or '-'} |")
    return head + begin + "\n".join(rows) + "\n" + end + tail


def behaviour_page() -> str:
    """The promises as they are, each with the test files that hold it."""
    tests: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT / "tests").as_posix().removesuffix(".py")
        for marks in re.findall(r"pytest\.mark\.rows\(([^)]*)\)", path.read_text(encoding="utf-8")):
            for row in re.findall(r'"([A-Z]{2,3}-\d{2})"', marks):
                tests[row].add(name)

    def with_tests(match: re.Match[str]) -> str:
        row, promise = match.groups()
        return f"| {row} | {promise} | {', '.join(sorted(tests[row]))} |"

    text = (DOCS / "behaviour.md").read_text(encoding="utf-8")
    return re.sub(r"(?m)^\| ([A-Z]{2,3}-\d{2}) \| (.*?) \|(?: [\w/, ]* \|)?$", with_tests, text)


def hook_file() -> str:
    """The hook as it is, with its table of agents made anew."""
    text = (PACKAGE / "hooks/entry.py").read_text(encoding="utf-8")
    return with_table(text, built_in().values())


def settings_module() -> str:
    """The settings as they are, with the names of agents that every layer above them adds to."""
    text = (PACKAGE / "settings" / "__init__.py").read_text(encoding="utf-8")
    names = "".join(f'    "{name}",\n' for name in BUILT_IN)
    return re.sub(r"(?ms)^FLAVORS = \(.*?\)$", f"FLAVORS = (\n{names})", text)


def agent_places() -> str:
    """Where agents may have logs: a sweep imports the records of those alone that are here."""
    records = built_in()
    variables = "".join(
        f'    "{name}": "{record.home_variable}",\n'
        for name, record in records.items()
        if record.home_variable
    )
    folders = "".join(
        "\n        ".join([f'    "{name}": [', *(f'"{place}",' for place in record.homes)])
        + "\n    ],\n"
        for name, record in records.items()
        if record.homes
    )
    return (
        '"""Where each agent may have logs: made by `make docs` of the records of agents."""\n\n'
        "# ruff: noqa: E501\n\nfrom __future__ import annotations\n\n"
        f"HOME_VARIABLES = {{\n{variables}}}\n\nHOMES = {{\n{folders}}}\n"
    )


MADE = {
    DOCS / "behaviour.md": behaviour_page,
    DOCS / "cli.md": cli_page,
    DOCS / "config.md": config_page,
    DOCS / "mcp.md": mcp_page,
    PACKAGE / "adapters/places.py": agent_places,
    PACKAGE / "hooks/entry.py": hook_file,
    PACKAGE / "settings" / "__init__.py": settings_module,
}


def main() -> int:
    """Write the files, or with --check say which are not what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if outdated")
    check: bool = parser.parse_args().check
    outdated: list[str] = []
    texts = {target: make() for target, make in MADE.items()}
    texts |= {ROOT / name: text for name, text in repository_files().items()}
    for target, text in texts.items():
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        outdated.append(target.relative_to(ROOT).as_posix())
        if not check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    for path in sorted((ROOT / FOLDER).rglob("*")):
        if path.is_file() and path not in texts:
            outdated.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.unlink()
    for name in outdated:
        print(f"{name} {'is outdated: run `make docs`' if check else 'written'}")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main())
