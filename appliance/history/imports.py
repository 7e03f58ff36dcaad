"""Imported diaries in history.db: which files, and each report with its verdicts."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.history import rows
from appliance.history.writing import Writer
from appliance.model import (
    Capability,
    DeviceIo,
    Finding,
    ImportedResult,
    Measurement,
    Provisioned,
    Severity,
    Slice,
    Source,
)

# Columns of imported_report that are fields of Measurement, for those who ask with SQL.
_COLUMNS = (
    "job",
    "direction",
    "rw",
    "engine",
    "device",
    "block_size_bytes",
    "jobs",
    "iodepth",
    "iops",
    "bandwidth_bytes",
    "latency_mean_ns",
)
# SQLite's integers have 64 bits with a sign.
_LARGEST_INTEGER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One imported file for one machine type. ``at`` is when, in seconds since the epoch."""

    id: int
    at: float
    file: str
    sha256: str
    machine_type: str
    reports: int
    valid: int


def add(
    writer: Writer, *, file: str, sha256: str, machine_type: str, judged: Sequence[ImportedResult]
) -> int:
    """As :meth:`appliance.history.store.History.add_import` says."""
    fresh = [_report_row(one) for one in judged]
    with writer.transaction():
        known = writer.all(
            "SELECT id FROM imported WHERE sha256 = ? AND machine_type = ?", sha256, machine_type
        )
        if known:
            import_id = int(known[0]["id"])
            if _kept(writer, import_id) == fresh:
                return import_id
            writer.execute("DELETE FROM imported_report WHERE imported_id = ?", import_id)
        else:
            import_id = writer.insert(
                "imported",
                {
                    "at": time.time(),
                    "file": _text(file),
                    "sha256": sha256,
                    "machine_type": machine_type,
                },
            )
        writer.table("imported_report").insert_all(
            {"imported_id": import_id, **row} for row in fresh
        )
    return import_id


def _kept(writer: Writer, import_id: int) -> list[rows.Row]:
    found = writer.all("SELECT * FROM imported_report WHERE imported_id = ? ORDER BY id", import_id)
    return [
        {key: value for key, value in row.items() if key not in {"id", "imported_id"}}
        for row in found
    ]


def _report_row(one: ImportedResult) -> rows.Row:
    return {
        "line": one.line,
        **{name: _column(getattr(one, name)) for name in _COLUMNS},
        "valid": int(one.valid),
        # ASCII only, so that whatever the diary held for text can be kept.
        "evidence": json.dumps(
            {
                field.name: _plain(value)
                for field in dataclasses.fields(Measurement)
                # What is not known is not written: most of it, in most reports.
                if field.name != "findings" and (value := getattr(one, field.name)) != field.default
            },
            separators=(",", ":"),
        ),
        "findings": json.dumps(
            [dataclasses.asdict(finding) for finding in one.findings], separators=(",", ":")
        ),
    }


def _column(value: object) -> object:
    """``value`` as SQLite can hold it; the JSON beside it has it as it was."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


def _text(value: str) -> str:
    """Without the lone surrogates that stand for bytes which are no UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode()


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def to_import(row: Mapping[str, Any]) -> ImportRecord:
    return ImportRecord(
        **{field.name: row[field.name] for field in dataclasses.fields(ImportRecord)}
    )


def to_result(row: Mapping[str, Any]) -> ImportedResult:
    """A row of imported_report with its import's ``file``."""
    found = json.loads(row["evidence"])
    capability, provisioned = found.get("capability"), found.get("provisioned")
    return ImportedResult(
        file=row["file"],
        line=row["line"],
        findings=tuple(
            Finding(**{**finding, "severity": Severity(finding["severity"])})
            for finding in json.loads(row["findings"])
        ),
        **{
            **found,
            "source": Source(found["source"]),
            "members": tuple(found.get("members", ())),
            "expected": tuple(found.get("expected", ())),
            "device_io": tuple(_device_io(one) for one in found.get("device_io", ())),
            "slices": tuple(Slice(**one) for one in found.get("slices", ())),
            "capability": Capability(**capability) if capability else None,
            "provisioned": Provisioned(**provisioned) if provisioned else None,
            "device_latencies": rows.to_latencies(found.get("device_latencies", ())),
        },
    )


def _device_io(found: dict[str, Any]) -> DeviceIo:
    # Files of an earlier version have this as well; nothing ever asked for it.
    return DeviceIo(**{name: value for name, value in found.items() if name != "util_percent"})
