"""Our figures beside those of ccusage and agentsview on the same logs: `make bench-peers`."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.bench import corpora, peers_install, peers_logs, peers_sync, peers_tokens
from tests.bench.figures import table
from tests.bench.peers_known import KNOWN

UNAVAILABLE = (OSError, subprocess.TimeoutExpired)
GENERATED_BYTES = 60_000_000


def main(arguments: list[str] | None = None) -> int:
    """Compare; 1 where a difference from ccusage is new, 2 where a peer could not run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("tokens", "sync"), help="one of the two parts")
    only = parser.parse_args(arguments).only
    code = 0
    if only in (None, "tokens"):
        code = max(code, _attempt("ccusage", peers_install.ccusage, tokens))
    if only in (None, "sync"):
        code = max(code, _attempt("agentsview", peers_install.agentsview, sync))
    return code


def _attempt(name: str, install: Callable[[], Path], part: Callable[[Path], int]) -> int:
    """A peer that cannot be installed or run is said, and the other one still compared."""
    try:
        return part(install())
    except UNAVAILABLE as error:
        print(f"{name} could not be compared: {error}")
        return 2


class Compared(NamedTuple):
    """Where the two programs differ about one collection."""

    tokens: list[peers_tokens.Difference]
    dollars: list[tuple[str, float, float]]


def tokens(ccusage: Path) -> int:
    """Totals of every collection of logs; every difference with its explanation."""
    print(f"### Tokens and dollars compared with ccusage {peers_install.CCUSAGE_VERSION}\n")
    print("| logs | days x models | ours | ccusage | | ours, $ | ccusage, $ | unpriced | |")
    print("|---|---|---|---|---|---|---|---|---|")
    found: dict[str, Compared] = {}
    with tempfile.TemporaryDirectory(prefix="session-memory-peers-") as folder:
        built = peers_logs.built(Path(folder) / "built")
        for number, logs in enumerate([*peers_logs.genuine(), *built]):
            home = Path(folder) / f"home{number}"
            home.mkdir()
            logs.put(home)
            ours = peers_tokens.of_ours(home)
            theirs = peers_tokens.of_ccusage(ccusage, home, logs.flavor)
            compared = Compared(
                peers_tokens.differences(ours.tokens, theirs.tokens),
                peers_tokens.dollar_differences(ours.dollars, theirs.dollars),
            )
            if compared.tokens or compared.dollars:
                found[logs.title] = compared
            print(_row(logs.title, ours, theirs, compared), flush=True)
    return _explain(found)


def _row(
    title: str, ours: peers_tokens.Counted, theirs: peers_tokens.Counted, compared: Compared
) -> str:
    cells = (
        title,
        len(ours.tokens.keys() | theirs.tokens.keys()),
        f"{peers_tokens.whole(ours.tokens):,}",
        f"{peers_tokens.whole(theirs.tokens):,}",
        f"{len(compared.tokens)} differ" if compared.tokens else "equal",
        f"{sum(ours.dollars.values()):,.2f}",
        f"{sum(theirs.dollars.values()):,.2f}",
        f"{ours.unpriced:,}",
        f"{len(compared.dollars)} days differ" if compared.dollars else "equal",
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _explain(found: dict[str, Compared]) -> int:
    print("\nEvery difference, tokens as input / output / cache read / cache write:\n")
    for title, compared in found.items():
        print(f"- {title}: {KNOWN.get(title, 'NOT EXPLAINED')}")
        for slot, ours, theirs in compared.tokens:
            print(f"  - {' '.join(slot)}: ours {_shown(ours)}, ccusage {_shown(theirs)}")
        for day, ours, theirs in compared.dollars:
            print(f"  - {day}: ours ${ours:,.4f}, ccusage ${theirs:,.4f}")
    return int(any(title not in KNOWN for title in found))


def _shown(tokens: peers_tokens.Tokens) -> str:
    return " / ".join(f"{count:,}" for count in tokens)


def sync(agentsview: Path) -> int:
    """Both stores filled from genuine logs of three agents, then from generated ones."""
    sections = []
    collections = peers_logs.genuine()
    if collections:
        title = f"Genuine logs compared with agentsview {peers_install.AGENTSVIEW_VERSION}"
        sections.append(peers_sync.compared(title, peers_logs.putting(collections), agentsview))
    corpus = corpora.generated(GENERATED_BYTES) or corpora.built(GENERATED_BYTES)
    title = f"{corpus.name.capitalize()} logs compared with agentsview"
    sections.append(peers_sync.compared(title, _put_corpus(corpus), agentsview))
    print("\n" + table(sections))
    return 0


def _put_corpus(corpus: corpora.Corpus) -> Callable[[Path], int]:
    def put(home: Path) -> int:
        for root in corpus.roots:
            projects = Path(root) / "projects"
            shutil.copytree(projects, home / ".claude" / "projects", dirs_exist_ok=True)
        return peers_logs.size_of(home)

    return put


if __name__ == "__main__":
    sys.exit(main())
