"""The history for other programs: CSV rows and JSON pieces. Reads only.

Everything is read run by run: a reader that kept the file for longer would keep a run from
writing. What cannot be decoded is left out of the whole history's exports, and named in
``left_out``: one wrong value damages nothing else.
"""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

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
from appliance.model.measurement import JobResult, Measurement
from appliance.model.runs import EpochRecord, RunRecord
from appliance.text import fields

_T = TypeVar("_T")
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


def csv_text(reader: Reader, left_out: list[str]) -> Iterator[str]:
    """RFC 4180: a line of names, then one for each result of a run and each imported report."""

    def run(number: int) -> tuple[str, ...]:
        found = reader.run(number)
        of_run: dict[str, _Cell] = {
            **{name: getattr(found, name) for name in _OF_RUN},
            "source": "run",
            "number": number,
            "started_at": _moment(found.started_at),
            "epoch": found.epoch_id,
            "members": " ".join(found.members),
        }

        def row(result: JobResult) -> str:
            place: dict[str, _Cell] = {"pass": result.pass_index, "member": result.member}
            return _row({**_cells(result), **of_run, **place})

        return reader.results_as(row, number, left_out, histograms=False, counters=False)

    def imported(record: ImportRecord) -> tuple[str, ...]:
        of_import: dict[str, _Cell] = {
            "source": "import",
            "number": record.id,
            "started_at": _moment(record.at),
            "machine_type": record.machine_type,
        }
        return reader.import_reports_as(
            lambda report: _row({**_cells(report), **of_import}), record.id, left_out
        )

    yield _csv_line(CSV_COLUMNS)
    for lines in _each(reader, "run", run, left_out):
        yield from lines
    for lines in _each_import(reader, imported, left_out):
        yield from lines


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


def json_text(reader: Reader, left_out: list[str]) -> Iterator[str]:
    """One JSON document with everything but fio's own reports, piece by piece."""

    def epoch(number: int) -> str:
        return json.dumps(_epoch(reader.epoch(number)))

    def run(number: int) -> str:
        return json.dumps(run_document(reader, reader.run(number), left_out))

    def imported(record: ImportRecord) -> str:
        return json.dumps(import_document(reader, record, left_out))

    def finding(number: int) -> str:
        return json.dumps(drift_document(reader, reader.drift_finding(number)))

    parts: dict[str, Iterator[str]] = {
        "epochs": _each(reader, "epoch", epoch, left_out),
        "runs": _each(reader, "run", run, left_out),
        "imports": _each_import(reader, imported, left_out),
        "events": map(json.dumps, pages.log(reader, "event")),
        "drift": _each(reader, "drift_finding", finding, left_out),
        "audit": map(json.dumps, pages.log(reader, "audit_step")),
    }
    head = {"stripewright": __version__, "schema_version": file_format.SCHEMA_VERSION}
    yield json.dumps(head)[:-1]
    for name, listed in parts.items():
        yield f',\n"{name}": ['
        yield from _listed(listed)
        yield "]"
    yield (f',\n"left_out": {json.dumps(left_out)}' if left_out else "") + "}\n"


def _each(
    reader: Reader, table: str, read: Callable[[int], _T], left_out: list[str]
) -> Iterator[_T]:
    """What ``read`` makes of each row of ``table``, oldest first, that can be shown."""
    for row in reader.all(f"SELECT id FROM {table} ORDER BY id"):  # noqa: S608
        yield from _shown(reader, table, row["id"], partial(read, row["id"]), left_out)


def _each_import(
    reader: Reader, read: Callable[[ImportRecord], _T], left_out: list[str]
) -> Iterator[_T]:
    for record in reversed(reader.imports()):
        if record.reports:
            yield from _shown(reader, "import", record.id, partial(read, record), left_out)


def _shown(
    reader: Reader, table: str, number: int, make: Callable[[], _T], left_out: list[str]
) -> Iterator[_T]:
    """What ``make`` makes of a row; nothing if the row is damaged."""
    made = []
    with reader.leaving_out(f"{table.replace('_', ' ')} {number}", left_out):
        made.append(make())
    yield from made


def _epoch(epoch: EpochRecord) -> dict[str, object]:
    return {"epoch": epoch.id, **fields(epoch, "opened_at fingerprint changed")}


def _listed(pieces: Iterator[str]) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        yield f"{',' if index else ''}\n{piece}"


def run_document(
    reader: Reader, run: RunRecord, left_out: list[str] | None = None
) -> dict[str, object]:
    """A run with all that is known of it but fio's own reports."""

    def shown(result: JobResult) -> dict[str, object]:
        return {
            **result_to_json(result, run),
            "histogram": sorted(result.bins.items()),
            "device_deltas": [rows.delta_row(io) for io in result.device_io],
        }

    rates: dict[str, object] = {"rates": [], "minutes": []}
    with reader.leaving_out(f"rates of run {run.id}", left_out):
        points = reader.series(run.id)
        rates = {
            "rates": [dataclasses.asdict(point) for point in points],
            "minutes": [sampling.minute_to_json(one) for one in sampling.minute_sums(points)],
        }
    return {
        **run_to_json(run),
        "results": reader.results_as(shown, run.id, left_out),
        **rates,
    }


def import_document(
    reader: Reader, record: ImportRecord, left_out: list[str] | None = None
) -> dict[str, object]:
    """An imported file with its reports."""
    found = reader.import_reports_as(_imported, record.id, left_out)
    return {**dataclasses.asdict(record), "results": found}


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
