"""The history for other programs: CSV rows and JSON pieces. Reads only.

Everything is read run by run: a reader that kept the file for longer would keep a run from
writing.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import json
from collections.abc import Iterator, Sequence

from appliance import __version__
from appliance.figures import quantities, sampling
from appliance.history import format as file_format
from appliance.history import pages, rows
from appliance.history.json_documents import (
    FIGURES,
    drift_to_json,
    figures,
    result_to_json,
    run_to_json,
)
from appliance.history.queries import ImportRecord, Reader
from appliance.model.findings import FindingRecord
from appliance.model.measurement import Measurement
from appliance.model.runs import RunRecord

_EVERY_RUN = -1  # SQLite: no limit
# In this order for good: what is new in FIGURES goes to the end.
_FIRST_COLUMNS = (
    *("source", "number", "line", "suite", "state", "started_at", "epoch", "machine_type"),
    *("target", "target_kind", "device", "members", "time_factor", "fio_version", "engine"),
    *("job", "pass", "member", "direction", "rw", "block_size_bytes", "jobs", "iodepth"),
    *("iops", "bandwidth_bytes", "io_bytes", "total_ios", "latency_mean_ns", "p50_ns"),
    *("p99_ns", "p99.9_ns", "runtime_ms", "runtime_asked_ms", "errors", "cpu_percent"),
    *("host_cpu_percent", "coverage", "corrected_iops", "published_iops"),
    *("published_bytes_per_s", "valid", "findings"),
)
# Columns that are of the run itself.
_OF_RUN = (
    *("suite", "state", "machine_type", "target", "target_kind", "device", "time_factor"),
    "fio_version",
)
CSV_COLUMNS = (*_FIRST_COLUMNS, *(name for name in FIGURES if name not in _FIRST_COLUMNS))
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
        of_run: dict[str, _Cell] = {
            **{name: getattr(run, name) for name in _OF_RUN},
            "source": "run",
            "number": run.id,
            "started_at": _moment(run.started_at),
            "epoch": run.epoch_id,
            "members": " ".join(run.members),
        }
        for result in reader.summaries([run.id])[run.id]:
            of_run |= {"pass": result.pass_index, "member": result.member}
            yield _row({**_cells(result), **of_run})
    for record in reversed(reader.imports()):
        of_import: dict[str, _Cell] = {
            "source": "import",
            "number": record.id,
            "started_at": _moment(record.at),
            "machine_type": record.machine_type,
        }
        for report in reader.import_reports(record.id):
            yield _row({**_cells(report), **of_import})


def _row(cells: dict[str, _Cell]) -> str:
    return _csv_line([_safe(cells.get(column)) for column in CSV_COLUMNS])


def _safe(cell: _Cell) -> _Cell:
    if isinstance(cell, str) and cell.startswith(_FORMULA_BEGINS):
        return f"'{cell}"
    return cell


def _csv_line(cells: Sequence[_Cell]) -> str:
    made = io.StringIO()
    csv.writer(made).writerow(cells)
    return made.getvalue()


def _cells(of: Measurement) -> dict[str, _Cell]:
    """What a result has wherever it comes from; of a run's its place is in the run."""
    percentiles = {
        f"p{percent:g}_ns": quantities.percentile_ns(of, percent) for percent in (50.0, 99.0, 99.9)
    }
    return {
        **figures(of),
        **percentiles,
        "line": of.line or None,
        "suite": of.file,
        "target": of.target,
        "device": of.device,
        "members": " ".join(of.members),
        "fio_version": of.fio_version,
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
    yield from _listed(json.dumps(event) for event in pages.log(reader, "event"))
    yield '],\n"drift": ['
    yield from _listed(
        json.dumps(drift_document(reader, record))
        for record in reader.drift_findings(include_closed=True)
    )
    yield '],\n"audit": ['
    yield from _listed(json.dumps(step) for step in pages.log(reader, "audit_step"))
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
        "minutes": [sampling.minute_to_json(minute) for minute in sampling.minute_sums(points)],
    }


def import_document(reader: Reader, record: ImportRecord) -> dict[str, object]:
    """An imported file with its reports."""
    found = reader.import_reports(record.id)
    return {
        **dataclasses.asdict(record),
        "results": [_imported(one) for one in found],
    }


def _imported(one: Measurement) -> dict[str, object]:
    evidence = dataclasses.asdict(one)
    for device in evidence["device_io"]:
        # Known of our own counters alone.
        del device["in_flight"], device["io_ms"]
    findings = evidence.pop("findings")
    head = {"file": evidence.pop("file"), "line": evidence.pop("line")}
    return {**head, "evidence": evidence, "findings": findings}


def drift_document(reader: Reader, record: FindingRecord) -> dict[str, object]:
    """A finding of drift with every change of its state."""
    return {
        **drift_to_json(record),
        "transitions": [dataclasses.asdict(one) for one in reader.drift_transitions(record.id)],
    }
