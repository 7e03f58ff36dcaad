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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from appliance.model.measurement import Measurement
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
    yield _csv_line(CSV_COLUMNS)
    for run in _each(reader, "run", reader.run, left_out):
        of_run: dict[str, _Cell] = {
            **{name: getattr(run, name) for name in _OF_RUN},
            "source": "run",
            "number": run.id,
            "started_at": _moment(run.started_at),
            "epoch": run.epoch_id,
            "members": " ".join(run.members),
        }
        results = reader.results(run.id, histograms=False, counters=False, left_out=left_out)
        for result in results:
            of_run |= {"pass": result.pass_index, "member": result.member}
            yield _row({**_cells(result), **of_run})
    for record in _imports(reader):
        of_import: dict[str, _Cell] = {
            "source": "import",
            "number": record.id,
            "started_at": _moment(record.at),
            "machine_type": record.machine_type,
        }
        for report in reader.import_reports(record.id, left_out):
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


def json_text(reader: Reader, left_out: list[str]) -> Iterator[str]:
    """One JSON document with everything but fio's own reports, piece by piece."""

    def run(number: int) -> dict[str, object]:
        return run_document(reader, reader.run(number), left_out)

    def finding(number: int) -> dict[str, object]:
        return drift_document(reader, reader.drift_finding(number))

    parts: dict[str, Iterable[object]] = {
        "epochs": _each(reader, "epoch", lambda number: _epoch(reader.epoch(number)), left_out),
        "runs": _each(reader, "run", run, left_out),
        "imports": (import_document(reader, one, left_out) for one in _imports(reader)),
        "events": pages.log(reader, "event"),
        "drift": _each(reader, "drift_finding", finding, left_out),
        "audit": pages.log(reader, "audit_step"),
    }
    head = {"stripewright": __version__, "schema_version": file_format.SCHEMA_VERSION}
    yield json.dumps(head)[:-1]
    for name, listed in parts.items():
        yield f',\n"{name}": ['
        yield from _listed(json.dumps(one) for one in listed)
        yield "]"
    yield (f',\n"left_out": {json.dumps(left_out)}' if left_out else "") + "}\n"


def _each(
    reader: Reader, table: str, read: Callable[[int], _T], left_out: list[str]
) -> Iterator[_T]:
    """What ``read`` makes of each row of ``table``, oldest first, that can be decoded."""
    for row in reader.all(f"SELECT id FROM {table} ORDER BY id"):  # noqa: S608
        try:
            made = read(row["id"])
        except file_format.UndecodableError as error:
            left_out.append(f"{table.replace('_', ' ')} {row['id']}: {error.message}")
        else:
            yield made


def _imports(reader: Reader) -> list[ImportRecord]:
    return [one for one in reversed(reader.imports()) if one.reports]


def _epoch(epoch: EpochRecord) -> dict[str, object]:
    return {"epoch": epoch.id, **fields(epoch, "opened_at fingerprint changed")}


def _listed(pieces: Iterator[str]) -> Iterator[str]:
    for index, piece in enumerate(pieces):
        yield f"{',' if index else ''}\n{piece}"


def run_document(
    reader: Reader, run: RunRecord, left_out: list[str] | None = None
) -> dict[str, object]:
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
            for result in reader.results(run.id, left_out=left_out)
        ],
        "rates": [dataclasses.asdict(point) for point in points],
        "minutes": [sampling.minute_to_json(minute) for minute in sampling.minute_sums(points)],
    }


def import_document(
    reader: Reader, record: ImportRecord, left_out: list[str] | None = None
) -> dict[str, object]:
    """An imported file with its reports."""
    found = reader.import_reports(record.id, left_out)
    return {**dataclasses.asdict(record), "results": [_imported(one) for one in found]}


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
