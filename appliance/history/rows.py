"""Rows of history.db to and from the frozen values of appliance.model. Pure.

The column names are those of docs/schema.md; keeping both directions side by side is
what keeps them the same.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from appliance.model import (
    Capability,
    DeviceIo,
    DeviceLatency,
    EpochRecord,
    Finding,
    JobResult,
    Provisioned,
    RunRecord,
    RunState,
    Sample,
    Severity,
)

Row = dict[str, Any]

# Columns of result that are fields of JobResult of the same name and type.
_RESULT_FIELDS = (
    "job",
    "direction",
    "engine",
    "block_size_bytes",
    "iops",
    "bandwidth_bytes",
    "io_bytes",
    "total_ios",
    "latency_mean_ns",
    "runtime_ms",
    "runtime_asked_ms",
    "jobs",
    "iodepth",
    "errors",
    "cpu_percent",
    "device_bytes",
)
# The same, of later versions: a file that no writer has opened since does not have them.
_LATER_RESULT_FIELDS = (
    "rw",
    "host_cpu_percent",
    "member",
    "pass_index",
)


def to_json(value: object) -> str:
    """Compact JSON, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def result_row(run_id: int, result: JobResult, *, ended_at: float) -> Row:
    return {
        "run_id": run_id,
        "ended_at": ended_at,
        **{name: getattr(result, name) for name in _RESULT_FIELDS + _LATER_RESULT_FIELDS},
        "published_iops": result.published_iops,
        "published_bytes_per_s": result.published_bytes_per_s,
        "published_basis": result.capability.basis if result.capability else "",
        "published_source": result.capability.source if result.capability else "",
        "percentiles_ns": to_json(result.percentiles_ns),
        "provisioned": result.provisioned and to_json(dataclasses.asdict(result.provisioned)),
        "device_latencies": to_json([dataclasses.asdict(one) for one in result.device_latencies])
        if result.device_latencies
        else None,
        "valid": int(result.valid),
    }


def finding_rows(result_id: int, findings: Iterable[Finding]) -> list[Row]:
    return [
        {
            "result_id": result_id,
            "code": finding.code,
            "severity": finding.severity.value,
            "message": finding.message,
            "measured": finding.measured,
            "limit_value": finding.limit,
            "corrected": finding.corrected,
            "unit": finding.unit,
        }
        for finding in findings
    ]


# Columns of device_delta, which are the keys of JSON documents, and fields of DeviceIo.
_DELTA_FIELDS = {
    "device": "device",
    "read_ios": "read_ios",
    "read_bytes": "read_bytes",
    "read_ms": "read_ticks_ms",
    "write_ios": "write_ios",
    "write_bytes": "write_bytes",
    "write_ms": "write_ticks_ms",
    "in_flight": "in_flight",
    "io_ms": "io_ms",
}


def delta_row(io: DeviceIo) -> Row:
    return {column: getattr(io, name) for column, name in _DELTA_FIELDS.items()}


def delta_rows(result_id: int, device_io: Iterable[DeviceIo]) -> list[Row]:
    return [{"result_id": result_id, **delta_row(io)} for io in device_io]


def sample_rows(run_id: int, samples: Iterable[Sample]) -> list[Row]:
    return [{"run_id": run_id, **dataclasses.asdict(sample)} for sample in samples]


def later_value(row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401 - any column
    """``row[column]``, or ``None`` in a file of a version that did not have it yet."""
    return row[column] if column in row.keys() else None  # noqa: SIM118 - sqlite3.Row


def to_latencies(found: Iterable[Mapping[str, Any]]) -> tuple[DeviceLatency, ...]:
    """What :func:`dataclasses.asdict` made of them, from JSON."""
    return tuple(
        DeviceLatency(
            one["device"],
            one["ios"],
            one["time_us"],
            _bins(one["bins"]),
            tuple((size_bytes, _bins(bins)) for size_bytes, bins in one["by_size"]),
        )
        for one in found
    )


def _bins(rows: Iterable[Sequence[int]]) -> tuple[tuple[int, int, int], ...]:
    return tuple((least, most, ios) for least, most, ios in rows)


def to_result(
    row: Mapping[str, Any],
    *,
    bins: dict[int, int],
    deltas: Iterable[Mapping[str, Any]],
    findings: Iterable[Mapping[str, Any]],
) -> JobResult:
    later = {name: later_value(row, name) for name in _LATER_RESULT_FIELDS}
    provisioned = later_value(row, "provisioned")
    return JobResult(
        **{name: row[name] for name in _RESULT_FIELDS},
        **{name: value for name, value in later.items() if value is not None},
        percentiles_ns=json.loads(row["percentiles_ns"]),
        provisioned=Provisioned(**json.loads(provisioned)) if provisioned else None,
        device_latencies=to_latencies(json.loads(later_value(row, "device_latencies") or "[]")),
        bins=bins,
        capability=_to_capability(row),
        device_io=tuple(
            DeviceIo(**{name: delta[column] for column, name in _DELTA_FIELDS.items()})
            for delta in deltas
        ),
        findings=tuple(
            Finding(
                code=finding["code"],
                severity=Severity(finding["severity"]),
                message=finding["message"],
                measured=finding["measured"],
                limit=finding["limit_value"],
                corrected=finding["corrected"],
                unit=finding["unit"] or "",
            )
            for finding in findings
        ),
    )


def _to_capability(row: Mapping[str, Any]) -> Capability | None:
    known = Capability(
        iops=row["published_iops"],
        bytes_per_s=later_value(row, "published_bytes_per_s"),
        basis=later_value(row, "published_basis") or "",
        source=later_value(row, "published_source") or "",
    )
    return known if known != Capability() else None


def to_run(row: Mapping[str, Any]) -> RunRecord:
    return RunRecord(
        id=row["id"],
        suite=row["suite"],
        state=RunState(row["state"]),
        epoch_id=row["epoch_id"],
        target=row["target"],
        engine=row["engine"] or "",
        fio_version=row["fio_version"] or "",
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        phase=row["phase"] or "",
        job_index=row["job_index"] or 0,
        job_count=row["job_count"] or 0,
        phase_started_at=row["phase_started_at"] or row["started_at"],
        phase_seconds=row["phase_seconds"] or 0.0,
        reason=row["reason"] or "",
        pid=row["pid"],
        device=row["device"] or "",
        members=tuple(json.loads(row["members"] or "[]")),
        machine_type=row["machine_type"] or "",
        time_factor=row["time_factor"] or 1.0,
        notes=tuple(json.loads(row["notes"] or "[]")),
        target_kind=later_value(row, "target_kind") or "filesystem",
        conditions=json.loads(later_value(row, "conditions") or "{}"),
    )


def to_epoch(row: Mapping[str, Any]) -> EpochRecord:
    return EpochRecord(
        id=row["id"],
        opened_at=row["opened_at"],
        fingerprint=json.loads(row["fingerprint"]),
        changed={
            key: (before, after) for key, (before, after) in json.loads(row["changed"]).items()
        },
    )
