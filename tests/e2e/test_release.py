"""What would be released, built from what is committed and run where nothing else is installed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.mcp.clients import Talk

from session_memory.adapters.claude.log_builder import ClaudeLog

ROOT = Path(__file__).resolve().parents[2]
BIN = "Scripts" if os.name == "nt" else "bin"


def run(*command: str, cwd: Path) -> str:
    """Run a step to its end; its output, and on failure its complaint."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_tree(target: Path) -> Path:
    """What is committed, and nothing that merely lies around."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is no committed tree to build from")
    archive = subprocess.run(
        ["git", "archive", "--format=tar", "HEAD"], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(target, filter="data")
    return target


def declared(wheel: Path) -> set[str]:
    """The distributions a plain install of this wheel brings along, as its metadata names them."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        wanted = message_from_bytes(packed.read(name)).get_all("Requires-Dist", [])
    found: set[str] = set()
    while wanted:
        needed = Requirement(wanted.pop())
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        if needed.name not in found:
            found.add(needed.name)
            wanted += metadata.distribution(needed.name).requires or []
    return found


def link(distribution: metadata.Distribution, target: Path) -> None:
    """Have a distribution that is installed here installed there too, without a download."""
    for top in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
        source = Path(str(distribution.locate_file(top)))
        if top != "__pycache__" and not (target / top).exists():
            (target / top).symlink_to(source, target_is_directory=source.is_dir())


def environment(place: Path, wheel: Path) -> Path:
    """An environment with this wheel and the distributions that it declares, and no other."""
    run(sys.executable, "-m", "venv", "--without-pip", str(place), cwd=place.parent)
    python = place / BIN / "python"
    # This environment may have no pip of its own; the interpreter that made it has one.
    maker = Path(sys.base_prefix) / ("python.exe" if os.name == "nt" else "bin/python3")
    step = (str(maker), "-m", "pip", "--python", str(python), "install", "--quiet")
    run(*step, "--no-index", "--no-deps", "--no-compile", str(wheel), cwd=place.parent)
    own = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))",
              cwd=place.parent).strip()  # fmt: skip
    for name in declared(wheel):
        link(metadata.distribution(name), Path(own))
    return python


@pytest.mark.rows("RUN-11")
def test_the_release_is_built_installed_and_answers(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = clean_tree(tmp_path / "tree")
    run(sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / "dist"), cwd=tree)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path / "sdist", filter="data")
    (source,) = (tmp_path / "sdist").iterdir()
    pages = sorted(page.name for page in (tree / "docs").glob("*.md"))
    assert sorted(page.name for page in (source / "docs").glob("*.md")) == pages
    for name in pages:
        assert (source / "docs" / name).read_bytes() == (tree / "docs" / name).read_bytes()
    python = environment(tmp_path / "env", wheel)
    where = run(str(python), "-c", "import session_memory; print(session_memory.__file__)",
                cwd=tmp_path)  # fmt: skip
    assert str(tmp_path / "env") in where
    listed = "import importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    there = set(run(str(python), "-c", listed, cwd=tmp_path).split())
    assert there == {"session-memory", *(metadata.metadata(n)["Name"] for n in declared(wheel))}
    assert {"apsw", "click", "msgspec"} <= there and not {"pytest", "anthropic", "mcp"} & there
    # The pages inside equal what the installed program would write.
    run(str(python), "scripts/generate_docs.py", "--check", cwd=source)
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    log = ClaudeLog(1, cwd=str(project))
    log.prompt("Fix the totals")
    log.say("Pending: round the totals")
    log.write(home / ".claude")
    monkeypatch.setenv("SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS", "unlimited")
    command = tmp_path / "env" / BIN / "session-memory"
    run(str(command), "sweep", cwd=project)
    with Talk(command=[str(command), "mcp"]) as talk:
        talk.greet()
        found = talk.call("mem_search", query="totals")
        assert found["structuredContent"]["items"]
        assert talk.end()[0] == 0
