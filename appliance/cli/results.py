"""``suites`` and ``results``: what can be measured, and what was measured."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_REFUSED
from appliance.figures.quantities import percentile_ns
from appliance.history.json_documents import result_to_json, run_to_json
from appliance.model import (
    JobResult,
    Measurement,
    RunRecord,
    RunState,
    Severity,
    Suite,
    advice,
)

if TYPE_CHECKING:
    from appliance.history.queries import ImportRecord

# How many runs and imports are shown unless one is named.
_LAST = 5
EXIT_OF_STATE = {
    RunState.COMPLETE: EXIT_OK,
    RunState.SKIPPED: EXIT_REFUSED,
    RunState.ABORTED: EXIT_FAILED,
    RunState.FAILED: EXIT_FAILED,
    RunState.RUNNING: EXIT_FAILED,
}


def suites(*, as_json: bool) -> int:
    """List the suites with what they do and how long they take."""
    from appliance.bench.suite import load_suite, suite_names

    known = [load_suite(name) for name in suite_names()]
    if as_json:
        document = [
            {
                "name": suite.name,
                "summary": suite.summary,
                "seconds": _seconds(suite),
                "passes": suite.passes,
                "jobs": [job.name for job in suite.jobs],
            }
            for suite in known
        ]
        print(json.dumps({"suites": document}, indent=2))
        return EXIT_OK
    rows: list[tuple[str, ...]] = [("SUITE", "MEASURES FOR", "WHAT")]
    for suite in known:
        rows.append((suite.name, text.duration(_seconds(suite)), suite.summary))
    print(text.table(rows, fold=True))
    return EXIT_OK


def _seconds(suite: Suite) -> float:
    """Run time of every job in every pass, without preparation."""
    return suite.passes * sum(job.runtime_seconds for job in suite.jobs)


def reap(db: Path) -> int:
    """Mark runs whose process is gone as aborted, and remove the files they left."""
    from appliance.bench import runner
    from appliance.history import queries

    # A history that is not there has nothing to mark, and a mistyped name must not make one.
    with queries.open_readonly(db):
        pass
    count = runner.reap(db)
    print(f"runs whose process is gone, marked as aborted: {count or 'none'}")
    return EXIT_OK


def results(db: Path, *, run_id: int | None, suite: str, as_json: bool) -> int:
    """Print one run, or the last runs (of ``suite``, if it is given) and imports."""
    from appliance.history import queries

    with queries.open_readonly(db) as reader:
        runs = reader.runs(_LAST, suite=suite) if run_id is None else (reader.run(run_id),)
        found = [(record, reader.results(record.id)) for record in runs]
        imports = reader.imports()[:_LAST] if run_id is None and not suite else ()
    if as_json:
        document: dict[str, object] = {"runs": [run_document(*pair) for pair in found]}
        if run_id is None:
            document["imports"] = [dataclasses.asdict(one) for one in imports]
        print(json.dumps(document, indent=2))
        return EXIT_OK
    parts = [run_text(*pair) for pair in found]
    if not parts:
        of = f" of suite {text.printable(suite)}" if suite else ""
        start = advice.run_suite(text.printable(suite or "smoke"))
        parts = [f"no runs{of} yet; start one: {start}"]
    if imports:
        parts.append("\n".join(_import_line(one) for one in imports))
    print("\n\n".join(parts))
    return EXIT_OK


def _import_line(one: ImportRecord) -> str:
    machine = f", {text.printable(one.machine_type)}" if one.machine_type else ""
    return (
        f"import {one.id}: {text.printable(one.file)}{machine}, {text.moment(one.at)},"
        f" {one.valid} of {one.reports} results valid"
    )


def run_text(record: RunRecord, found: tuple[JobResult, ...]) -> str:
    """One run as a heading, a table of its results and each finding in words."""
    seconds = -1.0 if record.ended_at is None else record.ended_at - record.started_at
    # Negative as well if the clock was put back meanwhile: then nobody knows.
    took = f", {text.duration(seconds)}" if seconds >= 0 else ""
    lines = text.wrapped(
        f"run {record.id}: {record.suite} {record.state}, {text.moment(record.started_at)}{took},"
        f" {record.target}, {record.fio_version} {record.engine}".rstrip(),
        indent="  ",
    )
    said = [record.scaled, record.reason, *(f"note: {note}" for note in record.notes)]
    for sentence in said:
        lines += text.wrapped(f"  {sentence}" if sentence else "", indent="    ")
    if found:
        rows: list[tuple[str, ...]] = [
            ("JOB", "IOPS", "BANDWIDTH", "MEAN", "p99", "COVERAGE", "VERDICT")
        ]
        rows += [_result_row(result) for result in found]
        lines.append(text.table(rows, fold=True))
    for result in found:
        for finding in result.findings:
            lines += text.wrapped(
                f"  {_what(result)} {finding.code} ({finding.severity}): {finding.message}",
                indent="    ",
            )
    return "\n".join(lines)


def _result_row(result: JobResult) -> tuple[str, ...]:
    p99 = percentile_ns(result, 99.0)
    coverage = "-" if result.coverage is None else f"{result.coverage * 100:.1f} %"
    return (
        _what(result),
        text.count(result.iops),
        text.bandwidth(result.bandwidth_bytes),
        text.latency(result.latency_mean_ns),
        "-" if p99 is None else text.latency(p99),
        coverage,
        verdict(result),
    )


def _what(result: JobResult) -> str:
    """The job, its direction where it has two, the disk where it is one of a stripe's."""
    both = result.rw in {"rw", "randrw"}
    return (
        result.job
        + (f" {result.direction}" if both else "")
        + (f" on {result.member}" if result.member else "")
        + (f" #{result.pass_index}" if result.pass_index > 1 else "")
    )


def verdict(result: Measurement) -> str:
    """A glyph, a word and the codes: ``✓ valid``, ``✗ blocked COVERAGE``."""
    codes = " ".join(finding.code for finding in result.findings)
    if not result.valid:
        return f"✗ blocked {codes}"
    if any(finding.severity is Severity.WARN for finding in result.findings):
        return f"! valid {codes}"
    return f"✓ valid {codes}".rstrip()


def run_document(record: RunRecord, found: tuple[JobResult, ...]) -> dict[str, object]:
    return {**run_to_json(record), "results": [result_to_json(result, record) for result in found]}
