"""The history for other programs: CSV rows, JSON pieces and metrics. Reads only.

Everything is read run by run: a reader that kept the file for longer would keep a run from
writing.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import json
from collections.abc import Callable, Iterator, Sequence

from appliance import __version__
from appliance.figures import minutes, quantities
from appliance.history import finding_exports, rows
from appliance.history import format as file_format
from appliance.history.imports import ImportRecord
from appliance.history.openmetrics import Gauge, Labels, render
from appliance.history.queries import Reader
from appliance.history.runs_json import figures, result_to_json, run_to_json
from appliance.model import ImportedResult, JobResult, Measurement, RunRecord

_EVERY_RUN = -1  # SQLite: no limit
# Stable: a new column goes to the end.
CSV_COLUMNS = (
    "source",
    "number",
    "line",
    "suite",
    "state",
    "started_at",
    "epoch",
    "machine_type",
    "target",
    "target_kind",
    "device",
    "members",
    "time_factor",
    "fio_version",
    "engine",
    "job",
    "pass",
    "member",
    "direction",
    "rw",
    "block_size_bytes",
    "jobs",
    "iodepth",
    "iops",
    "bandwidth_bytes",
    "io_bytes",
    "total_ios",
    "latency_mean_ns",
    "p50_ns",
    "p99_ns",
    "p99.9_ns",
    "runtime_ms",
    "runtime_asked_ms",
    "errors",
    "cpu_percent",
    "host_cpu_percent",
    "coverage",
    "corrected_iops",
    "published_iops",
    "published_bytes_per_s",
    "valid",
    "findings",
)
# A spreadsheet takes a text that begins so for a formula and computes it (OWASP, "CSV
# Injection"); an apostrophe in front makes it a text. The last four are their full-width forms.
_FORMULA_BEGINS = (
    *("=", "+", "-", "@", "\t", "\r", "\n"),
    *("\uff1d", "\uff0b", "\uff0d", "\uff20"),
)

_Cell = str | int | float | None


# ------------------------------------------------------------------------------------ CSV


def csv_text(reader: Reader) -> Iterator[str]:
    """RFC 4180: a line of names, then one for each result of a run and each imported report."""
    yield _csv_line(CSV_COLUMNS)
    for run in reversed(reader.runs(_EVERY_RUN)):
        for result in reader.summaries([run.id])[run.id]:
            yield _csv_line(_row(_run_cells(run, result)))
    for record in reversed(reader.imports()):
        for report in reader.import_reports(record.id):
            cells = _import_cells(report)
            cells |= {"source": "import", "number": record.id, "started_at": _moment(record.at)}
            yield _csv_line(_row(cells | {"machine_type": record.machine_type}))


def _row(cells: dict[str, _Cell]) -> list[_Cell]:
    return [_safe(cells.get(column)) for column in CSV_COLUMNS]


def _safe(cell: _Cell) -> _Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA_BEGINS):
        return f"'{cell}"
    return cell


def _csv_line(cells: Sequence[_Cell]) -> str:
    made = io.StringIO()
    csv.writer(made).writerow(cells)
    return made.getvalue()


def _run_cells(run: RunRecord, result: JobResult) -> dict[str, _Cell]:
    return {
        "source": "run",
        "number": run.id,
        "suite": run.suite,
        "state": run.state.value,
        "started_at": _moment(run.started_at),
        "epoch": run.epoch_id,
        "machine_type": run.machine_type,
        "target": run.target,
        "target_kind": run.target_kind,
        "device": run.device,
        "members": " ".join(run.members),
        "time_factor": run.time_factor,
        "fio_version": run.fio_version,
        **_cells(result),
        "pass": result.pass_index,
        "member": result.member,
    }


def _import_cells(report: ImportedResult) -> dict[str, _Cell]:
    return {
        "line": report.line,
        "suite": report.file,
        "target": report.target,
        "device": report.device,
        "members": " ".join(report.members),
        "fio_version": report.fio_version,
        **_cells(report),
    }


def _cells(of: Measurement) -> dict[str, _Cell]:
    """What a result has wherever it comes from."""
    percentiles = {
        f"p{percent:g}_ns": quantities.percentile_ns(of, percent) for percent in (50.0, 99.0, 99.9)
    }
    return {
        **figures(of),
        **percentiles,
        "coverage": quantities.coverage(of),
        "corrected_iops": quantities.corrected_iops(of),
        "published_iops": of.published_iops,
        "published_bytes_per_s": of.published_bytes_per_s,
        "valid": int(of.valid),
        "findings": " ".join(finding.code for finding in of.findings),
    }


def _moment(at: float) -> str:
    """Seconds since the epoch in ISO 8601, UTC, to the second."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ----------------------------------------------------------------------------------- JSON


def json_text(reader: Reader) -> Iterator[str]:
    """One JSON document with everything but fio's own reports, piece by piece."""
    head = {"stripewright": __version__, "schema_version": file_format.SCHEMA_VERSION}
    yield json.dumps(head)[:-1]
    yield ',\n"epochs": ['
    yield from _listed(
        json.dumps(
            {
                "epoch": epoch.id,
                "opened_at": epoch.opened_at,
                "fingerprint": epoch.fingerprint,
                "changed": epoch.changed,
            }
        )
        for epoch in reader.epochs()
    )
    yield '],\n"runs": ['
    yield from _listed(
        json.dumps(run_document(reader, run)) for run in reversed(reader.runs(_EVERY_RUN))
    )
    yield '],\n"imports": ['
    yield from _listed(
        json.dumps(import_document(reader, record))
        for record in reversed(reader.imports())
        if record.reports
    )
    yield '],\n"events": ['
    yield from _listed(json.dumps(event) for event in reader.log("event"))
    yield '],\n"drift": ['
    yield from _listed(
        json.dumps(finding_exports.document(reader, record))
        for record in reader.drift_findings(include_closed=True)
    )
    yield '],\n"audit": ['
    yield from _listed(json.dumps(step) for step in reader.log("audit_step"))
    yield "]}\n"


def _listed(pieces: Iterator[str]) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        yield f"{',' if index else ''}\n{piece}"


def run_document(reader: Reader, run: RunRecord) -> dict[str, object]:
    """A run with all that is known of it but fio's own reports."""
    points = reader.series(run.id)
    return {
        **run_to_json(run),
        "results": [
            {
                **result_to_json(result, run),
                "histogram": sorted(result.bins.items()),
                "device_deltas": [rows.delta_row(io) for io in result.device_io],
            }
            for result in reader.results(run.id)
        ],
        "rates": [dataclasses.asdict(point) for point in points],
        "minutes": [minutes.to_json(minute) for minute in minutes.sums(points)],
    }


def import_document(reader: Reader, record: ImportRecord) -> dict[str, object]:
    """An imported file with its reports."""
    found = reader.import_reports(record.id)
    return {
        **dataclasses.asdict(record),
        "results": [_imported(one) for one in found],
    }


def _imported(one: ImportedResult) -> dict[str, object]:
    evidence = dataclasses.asdict(one)
    return {
        "file": evidence.pop("file"),
        "line": evidence.pop("line"),
        "findings": evidence.pop("findings"),
        "evidence": evidence,
    }


# -------------------------------------------------------------------------------- metrics


def metrics_text(reader: Reader, *, drift_checked_at: float | None = None) -> str:
    """How runs ended and when, and of each series what was last measured and may be quoted; what
    drift there is. ``drift_checked_at`` is when it was last looked for, seconds since the epoch.
    """
    counts = reader.run_counts()
    states = [{"suite": one.suite, "state": one.state.value} for one in counts]
    runs = Gauge(
        "stripewright_runs",
        "",
        "Runs in the history, by the state they are in.",
        tuple(zip(states, (float(one.count) for one in counts), strict=True)),
    )
    last = Gauge(
        "stripewright_last_run_timestamp_seconds",
        "seconds",
        "When the last run of a suite in this state ended, or began if it has not.",
        tuple(zip(states, (one.last_at for one in counts), strict=True)),
    )
    found = [(_series_labels(run, result), run, result) for run, result in reader.latest_results()]
    return render(
        [
            runs,
            last,
            *(
                Gauge(
                    f"stripewright_result_{name}",
                    unit,
                    f"{summary}, of the last valid result of a series.",
                    tuple(
                        (labels, value)
                        for labels, run, result in found
                        if (value := value_of(run, result)) is not None
                    ),
                )
                for name, unit, summary, value_of in _RESULT_GAUGES
            ),
            *finding_exports.gauges(reader, checked_at=drift_checked_at),
        ]
    )


def _series_labels(run: RunRecord, result: JobResult) -> Labels:
    return {
        "suite": run.suite,
        "target": run.target,
        "job": result.job,
        "direction": result.direction,
        "member": result.member,
    }


def _seconds(latency_ns: float | None) -> float | None:
    return None if latency_ns is None else latency_ns / 1e9


_RESULT_GAUGES: tuple[tuple[str, str, str, Callable[[RunRecord, JobResult], float | None]], ...] = (
    ("iops", "", "I/O operations a second", lambda _, result: result.iops),
    (
        "bandwidth_bytes_per_second",
        "bytes_per_second",
        "Bytes a second",
        lambda _, result: result.bandwidth_bytes,
    ),
    (
        "latency_mean_seconds",
        "seconds",
        "Mean latency from submission to completion",
        lambda _, result: _seconds(result.latency_mean_ns),
    ),
    (
        "latency_p99_seconds",
        "seconds",
        "The 99th percentile of latency",
        lambda _, result: _seconds(quantities.percentile_ns(result, 99.0)),
    ),
    (
        "published_ratio",
        "ratio",
        "I/O operations a second over those that the provider publishes",
        lambda _, result: result.iops / result.published_iops if result.published_iops else None,
    ),
    ("timestamp_seconds", "seconds", "End of the run in Unix time", lambda run, _: run.ended_at),
)
