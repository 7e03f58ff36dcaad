"""``results``: what was measured, with verdicts; and a run in words and as JSON, for others."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import text
from appliance.cli.command import Command, number_of
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK

if TYPE_CHECKING:
    from appliance.history.queries import ImportRecord
    from appliance.model.measurement import JobResult, Measurement
    from appliance.model.runs import RunRecord

# How many runs and imports are shown unless one is named.
_LAST = 5


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--run", type=number_of("a run"), metavar="ID", help="this run (default: the last five)"
    )
    parser.add_argument("--suite", default="", metavar="SUITE", help="the last five of this suite")


def results(*, run: int | None, suite: str, db: Path, as_json: bool) -> int:
    """Print one run, or the last runs (of ``suite``, if it is given) and imports."""
    from dataclasses import asdict

    from appliance.history import queries
    from appliance.model import advice

    with queries.open_readonly(db) as reader:
        runs = reader.runs(_LAST, suite=suite) if run is None else (reader.run(run),)
        found = [(record, reader.results(record.id)) for record in runs]
        imports = reader.imports()[:_LAST] if run is None and not suite else ()
    if as_json:
        document: dict[str, object] = {"runs": [run_document(*pair) for pair in found]}
        if run is None:
            document["imports"] = [asdict(one) for one in imports]
        print_json(document)
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
    # Negative if the clock was put back meanwhile: then it is not known.
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
        heading = ("JOB", "IOPS", "BANDWIDTH", "MEAN", "p99", "COVERAGE", "VERDICT")
        lines.append(text.table([heading, *map(_result_row, found)], fold=True))
    for result in found:
        lines += findings_text(_what(result), result)
    return "\n".join(lines)


def findings_text(what: str, result: Measurement) -> list[str]:
    """Each finding on ``what`` in words."""
    return [
        line
        for one in result.findings
        for line in text.wrapped(
            f"  {what} {one.code} ({one.severity}): {one.message}", indent="    "
        )
    ]


def _result_row(result: JobResult) -> tuple[str, ...]:
    from appliance.figures.quantities import percentile_ns

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
    if any(finding.severity == "warn" for finding in result.findings):
        return f"! valid {codes}"
    return f"✓ valid {codes}".rstrip()


def run_document(record: RunRecord, found: tuple[JobResult, ...]) -> dict[str, object]:
    from appliance.history.json_documents import result_to_json, run_to_json

    return {**run_to_json(record), "results": [result_to_json(result, record) for result in found]}


COMMANDS = (
    Command("results", results, "show results with their verdicts", "results --suite smoke",
        _arguments, db=True),
)  # fmt: skip
