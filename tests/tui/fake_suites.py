"""Suites and a schedule made up for the screens: clearly an example, the same in every test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from appliance.bench import timetable
from appliance.bench.live_file import LiveJob
from appliance.client.schedule_requests import ScheduleNow
from appliance.errors import OperatorError
from appliance.history.pages import RunSummary
from appliance.model.measurement import Severity
from appliance.model.runs import Job, RunRecord, RunState, Suite
from tui.sources.suites import Catalog

WALL = 1_790_000_000.0  # as tests.tui.fakes has it
KIB, GIB = 1024, 1024**3

SMOKE = Suite(
    name="smoke",
    summary="Sequential and random throughput and queue-depth-1 read latency",
    jobs=(
        Job("seq-read-1m", "read", 1024 * KIB, 4, 8, 30),
        Job("rand-read-4k", "randread", 4 * KIB, 32, 8, 30),
        Job("rand-read-4k-qd1", "randread", 4 * KIB, 1, 1, 30),
        Job("seq-write-1m", "write", 1024 * KIB, 4, 8, 30),
        Job("rand-write-4k", "randwrite", 4 * KIB, 32, 8, 30),
    ),
    content_hash="0" * 64,
)
FULL = Suite(
    name="full",
    summary="All sizes and patterns, a queue depth sweep and latency, in 3 shuffled passes",
    jobs=(
        Job("rand-mix-4k", "randrw", 4 * KIB, 32, 8, 40, read_percent=70),
        *(
            Job(f"rand-read-4k-qd{depth}", "randread", 4 * KIB, depth, 1, 40)
            for depth in range(1, 19)
        ),
    ),
    content_hash="1" * 64,
    passes=3,
    steady=True,
)
PROBE = Suite(
    name="latency-probe",
    summary="One read at a time, a while apart",
    jobs=(
        Job("probe", "randread", 4 * KIB, 1, 1, 60, "psync", think_time_ms=5),
        Job("probe-16k", "randread", 16 * KIB, 1, 1, 60, "psync"),
    ),
    content_hash="2" * 64,
    files=1,
    file_size_bytes=2 * GIB,
)


def last_run(suite: str, number: int, **changes: object) -> RunRecord:
    values: dict[str, object] = {
        "id": number,
        "suite": suite,
        "state": RunState.COMPLETE,
        "epoch_id": 3,
        "target": "/mnt/scratch/.stripewright-bench",
        "engine": "io_uring",
        "fio_version": "fio-3.39",
        "started_at": WALL - 1500,
        "ended_at": WALL - 1302,
        "phase": "rand-write-4k",
        "job_index": 5,
        "job_count": 5,
        "phase_started_at": WALL - 1330,
        "phase_seconds": 30.0,
        "reason": "",
        "pid": 812,
        **changes,
    }
    return RunRecord(**values)  # type: ignore[arg-type]


CATALOG = Catalog(
    (FULL, PROBE, SMOKE),
    {
        "smoke": RunSummary(last_run("smoke", 41), 5, 4, "COVERAGE", Severity.BLOCK),
        "full": RunSummary(
            last_run(
                "full",
                37,
                state=RunState.SKIPPED,
                started_at=WALL - 200_000,
                ended_at=WALL - 199_000,
                reason="nvme2n1 is 80 % busy with something else",
            ),
            0,
            0,
        ),
    },
)
SCHEDULE = ScheduleNow(
    rows=tuple(timetable.describe(timetable.Schedule())),
    next_at={
        "stripewright-bench@smoke.timer": WALL + 15_120,
        "stripewright-bench@full.timer": WALL + 200_000,
        "stripewright-drift.timer": WALL + 100,
    },
    problem="",
    text="",
)


def told(**changes: object) -> LiveJob:
    """What run 42 of the fakes tells of its present job."""
    values: dict[str, object] = {
        "run_id": 42,
        "suite": "smoke",
        "job": "rand-read-4k",
        "direction": "read",
        "pass_index": 1,
        "member": "",
        "at": WALL - 3,
        "elapsed_seconds": 9.0,
        "ios": 3_712_345,
        "iops": 412_279.0,
        "latency_mean_ns": 620_000.0,
        "percentiles_ns": {
            "50.000000": 580_000,
            "99.000000": 1_240_000,
            "99.900000": 2_900_000,
        },
        **changes,
    }
    return LiveJob(**values)  # type: ignore[arg-type]


@dataclass
class FakeSuites:
    """Answers from fields; ``problems`` raises by method, ``hang`` is called before."""

    found: Catalog = CATALOG
    now: ScheduleNow = SCHEDULE
    problems: dict[str, OperatorError] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    hang: Callable[[str], None] = lambda _: None

    def _call(self, name: str) -> None:
        self.calls.append(name)
        self.hang(name.partition(" ")[0])
        problem = self.problems.get(name.partition(" ")[0])
        if problem is not None:
            raise problem

    def catalog(self) -> Catalog:
        self._call("catalog")
        return self.found

    def schedule(self) -> ScheduleNow:
        self._call("schedule")
        return self.now

    def set_schedule(self, wanted: str) -> None:
        self._call(f"set_schedule {wanted}")
