"""What was met in logs, added up for the report of a sweep; all there is to do in a dry run."""

from __future__ import annotations

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.ingest.drafted import BlockFigures
from session_memory.ingest.no_record import refuse_no_log
from session_memory.ingest.report import SweepReport


def add_counts(report: SweepReport, flavor: str, figures: BlockFigures) -> None:
    """Add one block's figures to the report."""
    report.records += figures.records
    report.parse_errors += figures.parse_errors
    report.recovered += figures.recovered
    report.incomplete_tail += figures.incomplete_tail
    report.too_long += figures.too_long
    report.ignored.update(figures.ignored)
    for part, count in figures.missing.items():
        report.missing_parts[f"{flavor}: {part}"] += count
    for version, what, count in figures.unknown:
        report.unknown[f"{flavor} {version}: {what}"] += count


def count_only(adapter: Adapter, file: SourceFile, line_cap: int, report: SweepReport) -> None:
    """Parse a file and count, for a dry run."""
    state: dict[str, object] = {}
    names: set[str] = set()
    records = damaged = too_long = 0
    for block in adapter.read(file, 0, line_cap):
        normalized = adapter.parse(file, block, state)
        state = normalized.state
        add_counts(report, adapter.name, BlockFigures.of(block, normalized))
        records += normalized.records
        damaged += normalized.parse_errors
        too_long += normalized.too_long
        names |= {part.external_id for part in normalized.sessions}
        report.events += sum(len(part.events) for part in normalized.sessions)
    report.sessions += len(names)
    report.bytes_read += file.size
    if not records:
        refuse_no_log(adapter, file, damaged, too_long)
