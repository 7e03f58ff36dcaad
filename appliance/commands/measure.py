"""``suites``, ``bench run`` and ``results``: measure, and show what was measured."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from appliance import text
from appliance.bench.document import result_to_json, run_to_json
from appliance.bench.progress import Progress, progress_line
from appliance.bench.validity import percentile_ns
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_REFUSED
from appliance.model import JobResult, RunRecord, RunState, Severity

_EXIT = {
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
                "seconds": sum(job.runtime_seconds for job in suite.jobs),
                "jobs": [job.name for job in suite.jobs],
            }
            for suite in known
        ]
        print(json.dumps({"suites": document}, indent=2))
        return EXIT_OK
    rows: list[tuple[str, ...]] = [("SUITE", "MEASURES FOR", "WHAT")]
    for suite in known:
        seconds = sum(job.runtime_seconds for job in suite.jobs)
        rows.append((suite.name, text.duration(seconds), suite.summary))
    print(text.table(rows))
    return EXIT_OK


def run(suite_name: str, *, target: str | None, db: Path, time_factor: float, as_json: bool) -> int:
    """Run a suite to its end, showing progress on stderr, and print its results."""
    from appliance.bench.runner import default_target, run_suite
    from appliance.bench.suite import load_suite
    from appliance.history import queries

    suite = load_suite(suite_name)
    show = _Progress()
    run_id = run_suite(
        suite,
        target=default_target() if target is None else target,
        db=db,
        time_factor=time_factor,
        on_progress=show,
    )
    show.finish()
    with queries.open_readonly(db) as reader:
        record, results_of_run = reader.run(run_id), reader.results(run_id)
    if as_json:
        print(json.dumps(_run_document(record, results_of_run), indent=2))
    else:
        print(run_text(record, results_of_run))
    return _EXIT[record.state]


def reap(db: Path) -> int:
    """Mark runs whose process is gone as aborted, and remove the files they left."""
    from appliance.bench import runner

    runner.reap(db)
    return EXIT_OK


def results(db: Path, *, run_id: int | None, as_json: bool) -> int:
    """Print the last runs, or one run, with every verdict."""
    from appliance.history import queries

    with queries.open_readonly(db) as reader:
        runs = reader.runs(limit=5) if run_id is None else (reader.run(run_id),)
        found = [(record, reader.results(record.id)) for record in runs]
    if as_json:
        print(json.dumps({"runs": [_run_document(*pair) for pair in found]}, indent=2))
    elif not found:
        print("no runs yet; start one: stripewright bench run smoke")
    else:
        print("\n\n".join(run_text(*pair) for pair in found))
    return EXIT_OK


def run_text(record: RunRecord, found: tuple[JobResult, ...]) -> str:
    """One run as a heading, a table of its results and each finding in words."""
    took = (
        "" if record.ended_at is None else f", {text.duration(record.ended_at - record.started_at)}"
    )
    lines = [
        f"run {record.id}: {record.suite} {record.state}, {text.moment(record.started_at)}{took},"
        f" {text.printable(record.target)}, {record.fio_version} {record.engine}".rstrip()
    ]
    if record.scaled:
        lines.append(f"  {record.scaled}")
    if record.reason:
        lines.append(f"  {text.printable(record.reason)}")
    lines += [f"  note: {text.printable(note)}" for note in record.notes]
    if found:
        rows: list[tuple[str, ...]] = [
            ("JOB", "IOPS", "BANDWIDTH", "MEAN", "p99", "COVERAGE", "VERDICT")
        ]
        rows += [_result_row(result) for result in found]
        lines.append(text.table(rows))
    for result in found:
        lines += [
            f"  {result.job} {finding.code} ({finding.severity}): {text.printable(finding.message)}"
            for finding in result.findings
        ]
    return "\n".join(lines)


def _result_row(result: JobResult) -> tuple[str, ...]:
    p99 = percentile_ns(result, 99.0)
    coverage = "-" if result.coverage is None else f"{result.coverage * 100:.1f} %"
    return (
        result.job,
        text.count(result.iops),
        text.bandwidth(result.bandwidth_bytes),
        text.latency(result.latency_mean_ns),
        "-" if p99 is None else text.latency(p99),
        coverage,
        verdict(result),
    )


def verdict(result: JobResult) -> str:
    """A glyph, a word and the codes: ``✓ valid``, ``✗ blocked COVERAGE``."""
    codes = " ".join(finding.code for finding in result.findings)
    if not result.valid:
        return f"✗ blocked {codes}"
    if any(finding.severity is Severity.WARN for finding in result.findings):
        return f"! valid {codes}"
    return f"✓ valid {codes}".rstrip()


def _run_document(record: RunRecord, found: tuple[JobResult, ...]) -> dict[str, object]:
    return {**run_to_json(record), "results": [result_to_json(result, record) for result in found]}


class _Progress:
    """Shows a run's progress: one changing line on a terminal, a line a phase otherwise."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last_phase = ""

    def __call__(self, progress: Progress) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns
            print(f"\r{progress_line(progress, width)}\x1b[K", end="", file=sys.stderr, flush=True)
        elif progress.phase != self._last_phase:
            self._last_phase = progress.phase
            print(progress_line(progress, 100), file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._terminal:
            print(file=sys.stderr)
