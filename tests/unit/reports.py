"""Runs made up for reports: figures of a healthy stripe, and everything that can be odd."""

from __future__ import annotations

import dataclasses
import math
import random

from appliance.drift.detection import normal as detection
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    JobResult,
    Measurement,
    Severity,
)
from appliance.model.runs import EpochRecord, Mean, RunRecord, RunState
from appliance.model.slots import Detail
from appliance.report.page import BesideNormal, Material
from tests.unit.histories import difference

KIB, MIB, GIB = 1024, 1024**2, 1024**3
BEGAN = 1_790_000_000.0
JOB_SECONDS = 30
HOSTILE = "[@click=app.quit]X</svg><script>alert(1)</script>\"'&amp; | `x` *y* \u202e\x1b[31m\nZ"
PERCENTILES = {1.0: 0.62, 50.0: 0.95, 90.0: 1.25, 99.0: 2.1, 99.9: 4.4, 99.99: 9.0}

# name, rw, block size, jobs, iodepth, IOPS of the stripe
SMOKE = (
    ("seq-read-1m", "read", MIB, 8, 4, 10_900.0),
    ("rand-read-4k", "randread", 4 * KIB, 8, 32, 811_000.0),
    ("rand-read-4k-qd1", "randread", 4 * KIB, 1, 1, 11_900.0),
    ("seq-write-1m", "write", MIB, 8, 4, 5_200.0),
    ("rand-write-4k", "randwrite", 4 * KIB, 8, 32, 398_000.0),
)
COVERAGE = Finding(
    "COVERAGE",
    Severity.BLOCK,
    "only 70.9 % of the bytes read came from the disks, the rest from a cache, holes or "
    "unwritten extents; 412,279 IOPS is probably true",
    0.709,
    0.98,
    412_279.0,
    "iops",
)
SHORT = Finding("SHORT", Severity.BLOCK, "ran 12.0 s of 30.0 s asked", 12_000, 30_000, unit="ms")
MEMBER = Finding("MEMBER", Severity.WARN, "nvme3n1 took 2.3 × the median await with equal I/O")


def result(
    asked: tuple[str, str, int, int, int, float],
    *,
    members: tuple[str, ...] = ("nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1"),
    seed: int = 0,
    **changes: object,
) -> JobResult:
    """One valid result; its latency fits its depth, its members share the work."""
    name, rw, block, jobs, depth, iops = asked
    dice = random.Random(f"{name}{seed}")  # noqa: S311 - figures, not secrets
    direction = "write" if "write" in rw else "read"
    iops *= 1 + dice.gauss(0, 0.006)
    mean_ns = jobs * depth / iops * 1e9
    total = int(iops * JOB_SECONDS)
    bins = {
        int(mean_ns * math.exp(step / 14) * 0.92): max(1, int(total * math.exp(-(step**2) / 9) / 6))
        for step in range(-9, 16)
    }
    deltas = []
    for slot, member in enumerate(members):
        ios = int(total / len(members) * (1 + dice.gauss(0, 0.004)))
        took_ms = int(ios * mean_ns / 1e6 * (2.3 if slot == 2 and "write" in name else 1))
        size = int(total * block / len(members) * (1 + dice.gauss(0, 0.002)))
        reads, writes = (ios, size, took_ms), (0, 0, 0)
        if direction == "write":
            reads, writes = writes, reads
        deltas.append(difference(member, *reads, *writes, 0, JOB_SECONDS * 990))
    made = JobResult(
        job=name,
        direction=direction,
        engine="io_uring",
        block_size_bytes=block,
        iops=iops,
        bandwidth_bytes=iops * block,
        io_bytes=total * block,
        total_ios=total,
        latency_mean_ns=mean_ns,
        percentiles_ns={f"{p:.6f}": int(mean_ns * of_mean) for p, of_mean in PERCENTILES.items()},
        bins=bins,
        runtime_ms=JOB_SECONDS * 1000,
        runtime_asked_ms=JOB_SECONDS * 1000,
        jobs=jobs,
        iodepth=depth,
        errors=0,
        cpu_percent=40.0,
        device_bytes=total * block,
        device_io=tuple(deltas),
        capability=Capability(
            iops=825_000.0,
            basis="4 × 206,250 (i3.8xlarge)",
            source="provider's guide to instance types",
        )
        if rw == "randread"
        else None,
        rw=rw,
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def run(run_id: int = 41, **changes: object) -> RunRecord:
    made = RunRecord(
        id=run_id,
        suite="smoke",
        state=RunState.COMPLETE,
        epoch_id=3,
        target="/mnt/scratch/.stripewright-bench",
        engine="io_uring",
        fio_version="fio-3.39",
        started_at=BEGAN + 21_600 * run_id,
        ended_at=BEGAN + 21_600 * run_id + 190,
        phase="rand-write-4k",
        job_index=5,
        job_count=5,
        phase_started_at=BEGAN,
        phase_seconds=30.0,
        reason="",
        pid=812,
        device="md127",
        members=("nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1"),
        machine_type="i3.8xlarge",
        conditions={"scheduler": "none", "write_cache": "write through"},
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


EPOCH = EpochRecord(
    3,
    BEGAN - 90_000,
    {
        "serials": "AWS1A,AWS2B,AWS3C,AWS4D",
        "stripe": "md-raid0 chunk=262144 members=4",
        "filesystem": "xfs sunit=262144 swidth=1048576",
        "mount_options": "rw,nosuid,nodev,noatime",
        "kernel": "6.12.117",
        "fio": "fio-3.39",
        "machine_type": "i3.8xlarge",
    },
    {"serials": ("AWS9,AWS8,AWS7,AWS6", "AWS1A,AWS2B,AWS3C,AWS4D")},
)


def results(seed: int = 0, members: int = 4) -> tuple[JobResult, ...]:
    names = tuple(f"nvme{n}n1" for n in range(1, members + 1))
    return tuple(result(job, members=names, seed=seed) for job in SMOKE)


def mean(at: float, seconds: float, device: str, read: float, write: float) -> Mean:
    """Bytes a second over ``seconds`` that begin at ``at``."""
    return Mean(at + 0.5, seconds, device, 0.0, 0.0, read, write, 0.0, 0.0)  # type: ignore[arg-type]


def rates(
    of: RunRecord, found: tuple[JobResult, ...], *, job_seconds: int = JOB_SECONDS
) -> tuple[tuple[Mean, ...], tuple[float, ...]]:
    """Samples of a run that writes its files for 20 s and then does ``found``; its jobs' ends."""
    dice = random.Random(7)  # noqa: S311
    made: list[Mean] = []
    ended = []
    second = of.started_at

    def tick(read: float, write: float) -> None:
        nonlocal second
        wave = 1 + dice.gauss(0, 0.02)
        made.append(mean(second, 1, of.device, read * wave, write * wave))
        for slot, member in enumerate(of.members):
            share = (1 + dice.gauss(0, 0.01)) / len(of.members)
            lame = 0.95 if slot == 2 else 1.0
            made.append(mean(second, 1, member, read * share * lame, write * share * lame))
        second += 1

    for _ in range(20):
        tick(0.0, 4.1 * GIB)
    for one in found:
        for _ in range(job_seconds):
            rate = one.bandwidth_bytes
            tick(rate if one.direction == "read" else 0.0, rate if one.direction == "write" else 0)
        ended.append(second)
        tick(0.0, 0.0)
    return tuple(made), tuple(ended)


def past(count: int, before: int = 41) -> tuple[Detail, ...]:
    """``count`` earlier complete runs, the latest just before run ``before``."""
    return tuple(
        Detail(run(before - back), results(seed=before - back)) for back in range(count, 0, -1)
    )


def normals(earlier: tuple[Detail, ...]) -> dict[tuple[str, str, str], BesideNormal]:
    """What is normal after ``earlier`` runs."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for one in earlier:
        for found in one.results:
            values.setdefault((found.job, found.direction, found.member), []).append(found.iops)
    return {
        key: BesideNormal(
            len(known),
            detection.learn(list(enumerate(known))) if len(known) >= detection.LEAST else None,
        )
        for key, known in values.items()
    }


def material(*, earlier: int = 30, **changes: object) -> Material:
    """A complete run on four members; its members' third is slow when it writes."""
    of, found = run(), list(results())
    found[1] = dataclasses.replace(
        found[1], iops=581_387.0, device_bytes=int(found[1].io_bytes * 0.709), findings=(COVERAGE,)
    )
    found[4] = dataclasses.replace(found[4], findings=(MEMBER,))
    samples, ended = rates(of, tuple(found))
    made = Material(
        run=of,
        results=tuple(found),
        epoch=EPOCH,
        host="db-7",
        rates=samples,
        ended_at=ended,
        others=past(earlier),
        normals=normals(past(earlier)),
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def judged() -> tuple[Measurement, ...]:
    """Two reports of an imported file: a stripe's, and a cached one of a single disk.

    The figures are those of a published diary (docs/measurement-method.md, COVERAGE).
    """
    single = Measurement(
        file="diary.txt",
        line=40,
        findings=(COVERAGE,),
        job="fio_test_file",
        direction="read",
        rw="randread",
        engine="libaio",
        fio_version="fio-2.14",
        direct=True,
        block_size_bytes=4096,
        jobs=16,
        iodepth=32,
        iops=581_387.0,
        bandwidth_bytes=581_387.0 * 4096,
        total_ios=104_651_512,
        runtime_ms=180_000,
        latency_mean_ns=879_900.0,
        percentiles_ns={"1.000000": 1000, "50.000000": 1_080_000, "99.000000": 2_008_000},
        device="nvme0n1",
        members=("nvme0n1",),
        device_io=(DeviceIo("nvme0n1", 74_211_417, 0, read_ticks_ms=65_000_000),),
        machine_type="i3.8xlarge",
        capability=Capability("instance-store", iops=412_500.0, basis="1 × 412,500"),
    )
    stripe = dataclasses.replace(
        single,
        line=12,
        findings=(),
        iops=824_691.0,
        bandwidth_bytes=824_691.0 * 4096,
        total_ios=148_444_000,
        latency_mean_ns=619_900.0,
        percentiles_ns={"50.000000": 572_000, "99.000000": 1_192_000},
        device="md0",
        members=("nvme0n1", "nvme1n1"),
        device_io=(
            DeviceIo("md0", 148_443_000, 0),
            DeviceIo("nvme0n1", 74_221_000, 0, read_ticks_ms=46_017_020),
            DeviceIo("nvme1n1", 74_222_000, 0, read_ticks_ms=28_204_360),
        ),
        capability=Capability(
            "instance-store",
            iops=825_000.0,
            basis="2 × 412,500",
            measured_iops=822_000.0,
            measured_source="somebody's table",
        ),
    )
    return stripe, single
