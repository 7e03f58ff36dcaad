"""What the tests of history.db share: a result with everything in it, a run, a look inside."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance.bench.suite import load_suite
from appliance.history.store import History
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    JobResult,
    Measurement,
    Provisioned,
    Severity,
)
from appliance.model.runs import Counters

FINGERPRINT = {
    "serials": "AWS1,AWS2",
    "stripe": "md-raid0 chunk=262144 members=2",
    "filesystem": "xfs",
    "mount_options": "rw,nodev",
    "kernel": "6.12.1",
    "fio": "fio-3.39",
    "machine_type": "i3.4xlarge",
}

RESULT = JobResult(
    job="rand-read-4k",
    direction="read",
    engine="io_uring",
    block_size_bytes=4096,
    iops=581_387.0,
    bandwidth_bytes=2.4e9,
    io_bytes=4096 * 1000,
    total_ios=1000,
    latency_mean_ns=879_880.5,
    percentiles_ns={"1.000000": 1000, "99.000000": 2_008_000},
    bins={1000: 10, 2_000_000: 990},
    runtime_ms=30_000,
    runtime_asked_ms=30_000,
    jobs=16,
    iodepth=32,
    errors=0,
    cpu_percent=55.5,
    device_bytes=4096 * 709,
    device_io=tuple(
        DeviceIo.of(Counters(*counted))
        for counted in (
            ("md0", 709, 4096 * 709, 5, 0, 0, 0, 0, 30_000),
            ("nvme0n1", 355, 4096 * 355, 5, 0, 0, 0, 1, 29_000),
        )
    ),
    findings=(
        Finding("COVERAGE", Severity.BLOCK, "71 %", 0.709, 0.98, 412_279.0, "iops"),
        Finding("DEPTH", Severity.WARN, "a reason"),
    ),
    capability=Capability(
        iops=825_000.0,
        bytes_per_s=3.8e9,
        basis="2 × 412,500 (i3.4xlarge)",
        source="where it is from",
    ),
    rw="randread",
    host_cpu_percent=12.5,
    member="nvme0n1",
    pass_index=2,
    provisioned=Provisioned(volume_iops_us=7, instance_throughput_us=9),
)


def select(db: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(db)
    try:
        with connection:
            return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def begin(history: History, suite: str = "smoke", time_factor: float = 0.5) -> int:
    return history.begin_run(
        load_suite(suite),
        target="/mnt/scratch/.stripewright-bench",
        device="md0",
        members=("nvme0n1", "nvme1n1"),
        machine_type="i3.4xlarge",
        fio_version="fio-3.39",
        time_factor=time_factor,
    )


def report(line: int = 1, findings: Sequence[Finding] = (), **known: Any) -> Measurement:
    """An imported report: 4k random reads of a stripe of two disks, unless told otherwise."""
    asked: dict[str, Any] = {
        "job": "randread",
        "direction": "read",
        "rw": "randread",
        "engine": "libaio",
        "block_size_bytes": 4096,
        "jobs": 16,
        "iodepth": 32,
        "iops": 824_600.0,
        "device": "md0",
        "members": ("nvme0n1", "nvme1n1"),
    }
    return Measurement(file="diary.txt", line=line, findings=tuple(findings), **{**asked, **known})


def difference(*counted: Any) -> DeviceIo:
    """What a device did, by the counters of the block layer."""
    return DeviceIo.of(Counters(*counted))
