"""The documents say what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.e2e.pseudo_terminal import Seat, at_terminal

from session_memory import __version__, errors
from session_memory.cli.topics import TOPICS
from session_memory.cli.verbs import VERBS
from session_memory.settings import KINDS
from session_memory.settings.load import variable
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
COMMITTED = [
    path
    for path in [*PAGES, *ROOT.glob("requirements/*.txt"), *ROOT.glob("scripts/*.py")]
    if path.is_file()
]


def text(name: str) -> str:
    """One of our documents."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.rows("ING-05")
def test_every_configuration_key_is_documented_with_its_variable() -> None:
    page = text("docs/config.md")
    assert [key for key in KINDS if f"### `{key}`" not in page] == []
    assert [key for key in KINDS if f"`{variable(key)}`" not in page] == []


def test_every_verb_is_documented() -> None:
    page = text("docs/cli.md")
    assert [verb for verb in VERBS if f"\n## session-memory {verb}\n" not in page] == []


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate_docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_exit_code_is_documented() -> None:
    page = text("docs/operations.md")
    codes = {0, 3, 130} | {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.SessionMemoryError)
    }
    assert [code for code in sorted(codes) if f"| {code} |" not in page] == []
    topic = TOPICS["exit-codes"].text
    assert all(re.search(rf"^  {code} ", topic, re.MULTILINE) for code in codes)


def test_the_readme_is_short_and_starts_with_two_commands() -> None:
    readme = text("README.md")
    assert len(readme.splitlines()) < 150
    assert readme.index("make run") < readme.index("make test")


def test_the_changelog_has_this_version() -> None:
    assert f"## {__version__}" in text("CHANGELOG.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_nothing_names_a_machine_or_a_package_index(path: Path) -> None:
    content = path.read_text(encoding="utf-8")
    # /home/dev is invented: our sample sessions ran there.
    found = re.findall(
        r"(?:/home/(?!dev/)|/root/|/Users/|/work/|file://|--index-url|--find-links)\S*", content
    )
    if path.suffix == ".txt":
        found += re.findall(r"https?://\S+", content)
    assert [item for item in found if path.name != "lock.py"] == []


def test_every_lock_line_has_a_hash() -> None:
    for lock in ROOT.glob("requirements/*.txt"):
        for requirement in re.split(r"\n(?=[a-z])", lock.read_text(encoding="utf-8"))[1:]:
            assert "--hash=sha256:" in requirement, requirement


def test_the_locks_agree_and_cover_what_the_project_asks_for() -> None:
    pins = {
        lock: dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text(f"requirements/{lock}.txt"), re.M))
        for lock in ("base", "dev")
    }
    project = tomllib.loads(text("pyproject.toml"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {re.split(r"[<>=;\[ ]", item)[0].replace(".", "-").lower() for item in wanted}
    assert names <= set(pins["dev"])
    assert pins["base"].items() <= pins["dev"].items()


def test_the_glossary_has_the_words_the_code_is_written_in() -> None:
    glossary = text("docs/concepts.md").lower()
    words = (
        *(
            "agent",
            "flavour",
            "adapter",
            "session",
            "event",
            "segment",
            "digest",
            "sweep",
            "cursor",
        ),
        *("domain", "observation", "signal", "candidate", "pattern", "catalog", "locus", "spool"),
        *("job", "trace", "memory", "journal", "pack", "scope", "closure", "check", "cure"),
    )
    assert [word for word in words if f"**{word}" not in glossary] == []


def test_the_readme_shows_what_the_commands_print_and_stays_short(tmp_path: Path) -> None:
    readme = text("README.md")
    assert len(readme.splitlines()) < 150
    space = Workspace(tmp_path / "space")
    write_samples(space.claude)
    examples = readme.partition("as printed:\n\n```console\n")[2].partition("```")[0]
    for example in examples.strip().split("\n\n"):
        command, *shown = example.splitlines()
        words = command.partition("#")[0].split()[2:]
        line = [
            sys.executable,
            "-m",
            "session_memory",
            "--config",
            str(space.write_config()),
            *words,
        ]
        printed = at_terminal(
            Seat({**space.environ(), "NO_COLOR": "1"}, tmp_path, 120), line
        ).screen
        assert shown
        begin = list(map(_without_numbers, printed.splitlines()))[: len(shown)]
        assert begin == list(map(_without_numbers, shown)), command


def _without_numbers(line: str) -> str:
    """Without a session's number, which depends on the order of its file, and without times."""
    return re.sub(r"^\d+ ", "N ", re.sub(r"in [\d.]+ s$", "in # s", line))


def test_every_test_that_the_page_on_adapters_names_exists() -> None:
    page = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    sources = (path.read_text(encoding="utf-8") for path in ROOT.glob("tests/adapters/*.py"))
    existing = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.M)}
    assert named
    assert named - existing == set()
