"""Series, runs and counters for the tests of drift in performance."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence

from appliance.drift.series import performance, series_state
from appliance.drift.series import series_state as drift_series
from appliance.model.confirmations import Confirmation, Verdict
from appliance.model.findings import SeriesKey
from appliance.model.measurement import DeviceIo, JobResult
from appliance.model.runs import RunRecord, RunState
from appliance.model.slots import Attempt, Detail, Slot, Span
from tests.unit.histories import RESULT, difference

KEY = SeriesKey("smoke", "/mnt/scratch/.stripewright-bench", "rand-read-4k", "read")
QD1 = dataclasses.replace(KEY, job="rand-read-4k-qd1")
MEMBERS = ("nvme1n1", "nvme2n1", "nvme3n1", "nvme4n1")
SERIALS = ("AWS11", "AWS22", "AWS33", "AWS44")
FINGERPRINT = {"serials": ",".join(SERIALS), "machine_type": "i3.8xlarge"}
# Every six hours, from the first of January 2026.
BEGAN = 1_767_225_600.0
INTERVAL = 6 * 3600.0
NORMAL = 800_000.0
SLOWER = 0.9 * NORMAL
SUBJECT = "smoke/rand-read-4k read"


def series(values: Sequence[float | None], *, first_run: int = 1) -> tuple[Slot, ...]:
    """One slot a value, six hours apart; ``None`` is a slot that is not valid."""
    return tuple(
        Slot(
            first_run + index,
            BEGAN + (first_run + index - 1) * INTERVAL,
            NORMAL if value is None else value,
            value is not None,
        )
        for index, value in enumerate(values)
    )


def noise(count: int, *, level: float = NORMAL, share: float = 0.01, seed: int = 1) -> list[float]:
    """``count`` values about ``level`` with a normal scatter of ``share`` of it."""
    source = random.Random(seed)  # noqa: S311
    return [source.gauss(level, share * level) for _ in range(count)]


def span(found: Mapping[SeriesKey, tuple[Slot, ...]], attempts: Sequence[Attempt] = ()) -> Span:
    return Span(7, BEGAN, FINGERPRINT, found, tuple(attempts))


def run(run_id: int, **known: object) -> RunRecord:
    return dataclasses.replace(
        RunRecord(
            id=run_id,
            suite="smoke",
            state=RunState.COMPLETE,
            epoch_id=7,
            target=KEY.target,
            engine="io_uring",
            fio_version="fio-3.39",
            started_at=BEGAN + (run_id - 1) * INTERVAL,
            ended_at=None,
            phase="",
            job_index=0,
            job_count=5,
            phase_started_at=0.0,
            phase_seconds=0.0,
            reason="",
            pid=1,
            device="md0",
            members=MEMBERS,
            machine_type="i3.8xlarge",
        ),
        **known,  # type: ignore[arg-type]
    )


def result(key: SeriesKey = KEY, *, awaits_ms: Sequence[float] = (), **known: object) -> JobResult:
    """A valid result; ``awaits_ms`` are those of its members, with a million I/Os each."""
    shallow = key.job.endswith("qd1")
    fresh = dataclasses.replace(
        RESULT,
        job=key.job,
        direction=key.direction,
        member=key.member,
        iops=NORMAL,
        findings=(),
        jobs=1 if shallow else 8,
        iodepth=1 if shallow else 32,
        total_ios=1_000_000 * max(1, len(awaits_ms)),
        pass_index=1,
        provisioned=None,
        capability=None,
        cpu_percent=20.0,
        host_cpu_percent=20.0,
        percentiles_ns={"99.000000": 1_000_000, "99.500000": 1_100_000, "99.900000": 1_500_000},
        bins={},
        device_io=counters(awaits_ms, key.direction),
    )
    return dataclasses.replace(fresh, **known)  # type: ignore[arg-type]


def counters(awaits_ms: Sequence[float], direction: str = "read") -> tuple[DeviceIo, ...]:
    """What members with these awaits counted for a million I/Os each."""
    count = 1_000_000
    found = []
    for name, ms in zip(MEMBERS, awaits_ms, strict=False):
        did = (count, 4096 * count, round(ms * count))
        read, write = (did, (0, 0, 0)) if direction == "read" else ((0, 0, 0), did)
        found.append(difference(name, *read, *write, 0, 30_000))
    return tuple(found)


def detail(run_id: int, *results: JobResult, **known: object) -> Detail:
    return Detail(run(run_id, **known), results)


def judge(
    found,
    *,
    approvals=(),
    confirmations=(),
    details=None,
    happenings=(),
    now=0.0,
    up_since=None,
    attempts=(),
    records=(),
    bins=lambda _, __: {},
):
    """Every fact of an epoch with these series; what else is known of it by keyword."""
    of = span(found, attempts)
    surveys = drift_series.survey(of, approvals, confirmations)
    wanted = performance.wanted(of, surveys)
    make = details or (lambda run_id: detail(run_id, *(result(key) for key in found)))
    known = series_state.Known(
        confirmations=confirmations,
        details={run_id: make(run_id) for run_id in wanted},
        happenings=lambda _, __: happenings,
        records=records,
        bins=bins,
    )
    return performance.judge(of, surveys, known, now=now, up_since=up_since)


def stepped(*parts, seed=1):
    """A series of (slots, level) one after the other, with 1 % noise."""
    values = []
    for index, (count, level) in enumerate(parts):
        values += noise(count, level=level, seed=seed + index)
    return series(values)


def confirmed(fact, verdict=Verdict.CONFIRMED, *, run_id=10_000):
    return Confirmation(
        fact.code, fact.subject, fact.identity, KEY.target,
        int(fact.evidence["change_run"]), run_id, 0.0, verdict, "what they said",
    )  # fmt: skip
