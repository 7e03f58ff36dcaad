"""A history made up for the Results screen: smoke runs of two epochs, an import, a finding.

Clearly an example, and the same in every test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance.drift.detection.normal import learn
from appliance.drift.series.run_figures import Change, RunFigures
from appliance.drift.series.trends import Stretch, Trend
from appliance.errors import OperatorError
from appliance.figures import comparison, selection, sides
from appliance.figures.metric import Metric
from appliance.figures.sides import Chosen
from appliance.history.pages import Page, RunSummary
from appliance.history.queries import ImportRecord
from appliance.model.findings import DriftSeverity, DriftState, Fact, FindingRecord, SeriesKey
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    Finding,
    JobResult,
    Measurement,
    Provisioned,
    Severity,
)
from appliance.model.runs import EpochRecord, RunRecord, RunState
from appliance.model.slots import Slot
from tui.sources.results import Asked, Comparison, EpochRow, RunDetail

WALL = 1_790_000_000.0  # as tests.tui.fakes has it
SIX_HOURS = 21_600.0
TARGET = "/mnt/scratch/.stripewright-bench"
STRIPES = {2: "md-raid0 chunk=262144 members=2", 3: "md-raid0 chunk=262144 members=4"}
MEMBERS = tuple(f"nvme{number}n1" for number in range(1, 5))
LAST, FIRST, NEW_LAYOUT = 241, 1, 121
PAGE = 100
KEY = SeriesKey("smoke", TARGET, "rand-read-4k", "read")
KEYS = (
    KEY,
    replace(KEY, job="seq-write-1m", direction="write"),
    replace(KEY, member="nvme1n1"),
)
WORKLOADS = {
    KEYS[0]: "randread 4 KiB QD 32 × 8",
    KEYS[1]: "write 1 MiB QD 32 × 8",
}
COVERAGE = Finding(
    "COVERAGE",
    Severity.BLOCK,
    "only 70.9 % of the bytes read came from the disks, the rest from a cache, holes or "
    "unwritten extents; 412,279 IOPS is probably true",
    corrected=412_279.0,
    unit="iops",
)
DEPTH = Finding("DEPTH", Severity.WARN, "0.9 I/Os in flight of 1 asked")
IMPORTS = (ImportRecord(1, WALL - 3 * SIX_HOURS - 60, "i3.txt", "0" * 64, "i3.4xlarge", 9, 7),)


def epoch(number: int) -> EpochRecord:
    first = FIRST if number == 2 else NEW_LAYOUT
    changed = {} if number == 2 else {"stripe": (STRIPES[2], STRIPES[3])}
    known = {"stripe": STRIPES[number], "filesystem": "xfs sunit=262144 swidth=1048576"}
    return EpochRecord(number, _at(first) - 60, known, changed)


def _at(number: int) -> float:
    return WALL - (LAST - number) * SIX_HOURS


def run(number: int, **changes: object) -> RunRecord:
    made = RunRecord(
        id=number,
        suite="full" if number % 20 == 0 else "smoke",
        state=RunState.SKIPPED if number % 50 == 0 else RunState.COMPLETE,
        epoch_id=3 if number >= NEW_LAYOUT else 2,
        target=TARGET,
        engine="io_uring",
        fio_version="fio-3.39",
        started_at=_at(number),
        ended_at=_at(number) + 200,
        phase="",
        job_index=0,
        job_count=0,
        phase_started_at=_at(number),
        phase_seconds=0.0,
        reason="the disks were busy with something else" if number % 50 == 0 else "",
        pid=1,
        device="md127",
        members=MEMBERS,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def summary(number: int) -> RunSummary:
    if number % 50 == 0:
        return RunSummary(run(number), 0, 0)
    if number % 7 == 3:
        return RunSummary(run(number), 5, 4, "COVERAGE", Severity.BLOCK)
    return RunSummary(run(number), 5, 5)


def figures(number: int) -> RunFigures:
    """Of the random reads; from run 201 on they are 8 % slower, and run 240 writes slowly."""
    slower, layout = number > 200, 2 if number < NEW_LAYOUT else 1
    past = slots(max(FIRST, number - 11), number, 8e5 / layout)
    recent = tuple(slot.value for slot in past if slot.valid)
    changes = [Change(KEYS[0], WORKLOADS[KEYS[0]], -0.081 if slower else 0.004, -int(slower))]
    if number == LAST - 1:
        changes.insert(0, Change(KEYS[1], WORKLOADS[KEYS[1]], -0.304, -1))
    return RunFigures(
        key=KEYS[0],
        workload=WORKLOADS[KEYS[0]],
        is_large=False,
        valid=number % 7 != 3,
        iops=recent[-1],
        bandwidth_bytes=recent[-1] * 4096,
        p99_ns=1_200_000.0,
        recent=recent,
        changes=tuple(changes),
    )


def _has(one: RunSummary, words: Sequence[str]) -> bool:
    text = f"{one.run.id} {one.run.suite} {one.run.state} {one.code}".lower()
    return all(word in text for word in words)


def result(job: str, iops: float, *findings: Finding, **changes: object) -> JobResult:
    write = "write" in job
    size = 4096 if "4k" in job else 1024**2
    ios = int(iops * 30)
    share = ios // len(MEMBERS)
    await_ms = (9, 9, 10, 31)
    made = JobResult(
        job=job,
        direction="write" if write else "read",
        engine="io_uring",
        block_size_bytes=size,
        iops=iops,
        bandwidth_bytes=iops * size,
        io_bytes=ios * size,
        total_ios=ios,
        latency_mean_ns=440_000.0,
        percentiles_ns={"1.000000": 180_000, "50.000000": 400_000, "99.000000": 1_200_000},
        bins=bins(400_000.0, ios),
        runtime_ms=30_000,
        runtime_asked_ms=30_000,
        jobs=8,
        iodepth=32,
        errors=0,
        cpu_percent=40.0,
        device_bytes=int(0.709 * ios * size) if findings else ios * size,
        device_io=tuple(
            DeviceIo(
                name,
                share,
                share,
                read_ticks_ms=share * spent // 20,
                write_ticks_ms=share * spent // 20,
                read_bytes=share * size,
                write_bytes=0,
            )
            for name, spent in zip(("md127", *MEMBERS), (9, *await_ms), strict=True)
        ),
        findings=findings,
        capability=Capability(
            iops=1_600_000.0 if "4k" in job else None, basis="4 × 400,000 (i4i.16xlarge)"
        ),
        rw=("rand" if "rand" in job else "") + ("write" if write else "read"),
        provisioned=Provisioned(volume_iops_us=1_200_000),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def bins(middle_ns: float, ios: int) -> dict[int, int]:
    """A hump about ``middle_ns`` with a slow tail."""
    made = {}
    for step in range(-120, 270):
        height = math.exp(-((step / 54) ** 2)) + 0.02 * math.exp(-(((step - 180) / 30) ** 2))
        made[round(middle_ns * 1.01**step)] = max(1, round(ios * height / 96))
    return made


RESULTS = (
    result("seq-read-1m", 7_480),
    result("rand-read-4k", 581_387, COVERAGE),
    result("rand-read-4k-qd1", 11_030, DEPTH),
    result("seq-write-1m", 3_910),
    result("rand-write-4k", 802_000),
)


def slots(first: int, last: int, level: float) -> tuple[Slot, ...]:
    made = []
    for number in range(first, last + 1):
        noise = 1 + 0.01 * ((number * 7919) % 13 - 6) / 6
        slower = 0.92 if number > 200 else 1.0
        valid = number % 29 != 3
        value = level * noise * slower if valid else 1.4 * level
        made.append(Slot(number, _at(number), value, valid))
    return tuple(made)


def trend(key: SeriesKey = KEY) -> Trend:
    stretches = []
    for number, first, last, level in (
        (2, FIRST, NEW_LAYOUT - 1, 410_000.0),
        (3, NEW_LAYOUT, LAST, 800_000.0),
    ):
        found = slots(first, last, level)
        early = [slot.value for slot in found[:40] if slot.valid]
        normal = learn(list(enumerate(early)))
        stretches.append(Stretch(epoch(number), found, normal, found[0].started_at))
    return Trend(key, tuple(stretches), (SLOWER,) if key == KEY else ())


SLOWER = FindingRecord(
    7,
    Fact(
        code="PERF-SLOWER",
        subject=str(KEY),
        summary=f"{KEY}: -8.0% since 2026-09-11 (run 201), now 736.0k IOPS",
        identity="run 203",
        severity=DriftSeverity.WARNING,
        evidence={"change_run": 201},
    ),
    DriftState.CONFIRMED,
    3,
    _at(203),
    _at(LAST),
)


def report(line: int, *findings: Finding) -> Measurement:
    return Measurement(
        file="i3.txt",
        line=line,
        findings=findings,
        job="randread",
        direction="read",
        rw="randread",
        block_size_bytes=4096,
        jobs=16,
        iodepth=32,
        iops=824_600.0,
        latency_mean_ns=620_000.0,
        device="md0",
    )


def side(name: str, scale: float, *, what: str = "") -> Chosen:
    number = int(name.rpartition(":")[2] or 0)
    measured = run(max(1, number))
    results = [
        replace(
            one, iops=one.iops * scale, findings=() if one.job != "rand-read-4k" else one.findings
        )
        for one in RESULTS
    ]
    observations = selection.of_run(
        measured,
        results,
        layout=STRIPES[measured.epoch_id or 2],
        rates=[[100.0 + (n * 37) % 5 for n in range(30)]] * len(results),
    )
    return Chosen(what or f"{name}: smoke complete", (), tuple(observations))


@dataclass
class FakeResults:
    """Answers from above; notes what was asked, and fails with ``problem`` if one is set."""

    last: int = LAST
    problem: OperatorError | None = None
    before_answer: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)

    def _ask(self, call: str) -> None:
        self.calls.append(call)
        self.before_answer()
        if self.problem is not None:
            raise self.problem

    def page(self, asked: Asked, skip: int, limit: int) -> Page:
        words = " ".join(asked.words)
        order = "" if asked == Asked(asked.words) else f" by {asked.order} {asked.descending}"
        self._ask(f"page {skip}{order}{f' of {words}' if words else ''}")
        numbers = (
            range(self.last, FIRST - 1, -1) if asked.descending else range(FIRST, self.last + 1)
        )
        every = [summary(number) for number in numbers]
        found = [one for one in every if _has(one, asked.words)]
        runs = tuple(found[skip : skip + min(limit, PAGE)])
        return Page(runs, skip + len(runs) < len(found), STRIPES, len(found), self.last)

    def figures(self, run_ids: Sequence[int]) -> Mapping[int, RunFigures]:
        self._ask(f"figures of {len(run_ids)}")
        return {number: figures(number) for number in run_ids}

    def imports(self) -> tuple[ImportRecord, ...]:
        return IMPORTS

    def run(self, run_id: int) -> RunDetail:
        self._ask(f"run {run_id}")
        layout = "md-raid0 of 4, chunk 256 KiB"
        if run_id % 50 == 0:
            return RunDetail(run(run_id), (), layout)
        return RunDetail(run(run_id), RESULTS, layout, figures(run_id), (SLOWER,))

    def imported(self, import_id: int) -> tuple[Measurement, ...]:
        self._ask(f"import {import_id}")
        return (report(1), report(40, COVERAGE))

    def series(self, metric: Metric) -> Mapping[SeriesKey, tuple[str, Stretch] | None]:
        self._ask(f"series {metric}")
        known = {key: (WORKLOADS[key], trend(key).stretches[-1]) for key in KEYS[:2]}
        return {key: known.get(key) for key in KEYS}

    def trend(self, key: SeriesKey, metric: Metric) -> Trend:
        self._ask(f"trend {key} {metric}")
        return trend(key)

    def epochs(self) -> tuple[EpochRow, ...]:
        self._ask("epochs")
        return (EpochRow(epoch(3), 119), EpochRow(epoch(2), 118))

    def compare(self, a: str, b: str, metric: Metric) -> Comparison:
        self._ask(f"compare {a or '-'} {b} {metric}")
        a = a or str(int(b) - 1)
        left, right = side(a, 1.0), side(b, 0.9)
        rows = comparison.compare(left.observations, right.observations)
        worded = sides.in_words((left, right), rows, metric)
        return Comparison(a, left, b, right, worded, metric)

    def export(self, what: str, output: Path) -> str:
        self._ask(f"export {what}")
        if output in self.written:
            raise OperatorError(f"{output} exists and was left as it is", "type another name")
        self.written.append(output)
        return f"{output}: a report, as a page, 31.4 KiB"
