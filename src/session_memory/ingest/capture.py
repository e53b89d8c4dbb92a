"""The middle of a sweep: changed files into the store, every changed session distilled."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.core.identity import Options
from session_memory.core.pricing import load_table, price
from session_memory.ingest.analyze import analyze
from session_memory.ingest.identify import ProjectFinder
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.pausing import read_pauses
from session_memory.ingest.read_source import SourceReader
from session_memory.ingest.redaction import make_redactor
from session_memory.ingest.report import Failure, SweepReport
from session_memory.ingest.sweep import Changed, Surroundings
from session_memory.store.port import Store


def capture(
    around: Surroundings, store: Store, changed: list[Changed], report: SweepReport
) -> None:
    """Read what changed, in one writer that commits as it goes."""
    redactor, warnings = make_redactor(store.tag_key, around.config.redact)
    report.warnings.extend(warnings)
    prices = load_table()
    drafter = Drafter(store.fingerprint_key, redactor, prices)
    identity = around.config.identity
    finder = ProjectFinder(
        around.tree,
        Options(
            identity.share_worktrees, around.config.domains, identity.default_domain, around.home
        ),
        # In our own folders only our own agents work, on memory that is being written.
        (*around.config.sources.exclude_paths, *_both_names(around.store_directory)),
    )
    total = sum(max(file.size, 0) for group in changed for file in group.files)
    with store.writing() as writer:

        def commit(open_sessions: set[int]) -> None:
            """Make what was read visible, then distil every session that is complete."""
            reader.settle()
            writer.commit()
            done = analyze(store, writer, open_sessions)
            report.analyzed += len(done)
            around.digested(done)

        writer.reprice(partial(price, table=prices), prices.version)
        reader = SourceReader(store, writer, drafter, finder, report)
        reader.pauses = read_pauses(around.store_directory)
        reader.limits(around.config.ingest.line_cap_bytes, around.config.ingest.commit_bytes)
        reader.on_full = commit
        for group in changed:
            for file in group.files:
                around.progress(report.bytes_read, total, file.path)
                _read_one(reader, group.adapter, file, report)
        commit(set())
    # Names come from the logs, and the report is kept.
    report.unknown = Counter({redactor.redact_text(k): n for k, n in report.unknown.items()})
    report.redactions.update(redactor.take_counts())
    report.warnings.extend(finder.warnings())


def _both_names(directory: str) -> set[str]:
    """A directory as it is named, and without links: clients log either."""
    return {os.path.abspath(directory), os.path.realpath(directory)}


def _read_one(
    reader: SourceReader, adapter: Adapter, file: SourceFile, report: SweepReport
) -> None:
    """Read one file; a file that cannot be read is reported and the sweep goes on."""
    try:
        reader.read(adapter, file)
        report.ingested += 1
    except OSError as error:
        report.failed.append(Failure(file.path, error.strerror or str(error)))
    except reader.ADAPTER_FAULTS as error:
        report.failed.append(Failure(file.path, f"{type(error).__name__}: {error}"))
