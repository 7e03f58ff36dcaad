"""A machine made up for the screens: clearly an example, and the same in every test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from appliance.client.machine_status import Health, Status, VolumeStatus
from appliance.drift.check_summary import DriftSummary
from appliance.drift.looks.observation import Health as SmartLog
from appliance.errors import OperatorError
from appliance.model.disks import Disk, DiskKind, Machine, Signature
from appliance.model.measurement import Capability, Finding, JobResult, Severity
from appliance.model.runs import EpochRecord, Job, RunRecord, RunState, Sample
from tests.tui.fake_drift import FakeDrift
from tests.tui.fake_log import FakeLog
from tests.tui.fake_results import FakeResults
from tests.tui.fake_suites import SMOKE
from tui.app import StripewrightApp
from tui.snapshot import LiveDevice, Snapshot
from tui.terminal import RICH_THEME, Policy
from tui.tracks import Second, second_of
from tui.world import World

KIB, GIB = 1024, 1024**3
DISK_BYTES = 3_750_000_000_000
WALL = 1_790_000_000.0  # seconds since the epoch
NOW = 1000.0  # of the feed's clock
NVME = "Amazon EC2 NVMe Instance Storage"


def disk(number: int, **changes: object) -> Disk:
    made = Disk(
        path=f"/dev/nvme{number}n1",
        id=f"nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{number:05d}EXAMPLE",
        model=NVME,
        serial=f"AWS{number:05d}EXAMPLE",
        size_bytes=DISK_BYTES,
        transport="nvme",
        kind=DiskKind.INSTANCE_STORE,
        claimable=True,
        reason="instance storage: the model is exactly 'Amazon EC2 NVMe Instance Storage'",
        signatures=(Signature("linux_raid_member", 4096, "stripewright:scratch"),),
        blank=False,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


ROOT_DISK = disk(
    0,
    id="nvme-Amazon_Elastic_Block_Store_vol0123EXAMPLE",
    model="Amazon Elastic Block Store",
    serial="vol0123EXAMPLE",
    size_bytes=16 * GIB,
    kind=DiskKind.SYSTEM,
    claimable=False,
    holds_root=True,
    reason="the system runs from it: / is mounted from /dev/nvme0n1p2",
    signatures=(Signature("gpt", 512),),
    partitions=("/dev/nvme0n1p1", "/dev/nvme0n1p2"),
)
FOREIGN_DISK = disk(
    5,
    claimable=False,
    reason="holds an ext4 signature at 0x438 that is not ours; nothing will be written to it",
    signatures=(Signature("ext4", 0x438, "old-data"),),
)
MEMBERS = tuple(disk(number) for number in range(1, 5))

VOLUME = VolumeStatus(
    name="scratch",
    decision="assemble",
    outcome="mounted",
    reason="a complete array of ours",
    hint="",
    device="/dev/md/scratch",
    mount="/mnt/scratch",
    mounted=True,
    level="raid0",
    members=tuple(member.path for member in MEMBERS),
    member_serials=tuple(member.serial for member in MEMBERS),
    chunk_bytes=256 * KIB,
    sunit_bytes=256 * KIB,
    swidth_bytes=1024 * KIB,
    size_bytes=4 * DISK_BYTES,
    free_bytes=int(3.9 * DISK_BYTES),
)


def result(job: Job, iops: float, mean_ns: float, *findings: Finding) -> JobResult:
    direction = "write" if "write" in job.rw else "read"
    return JobResult(
        job=job.name,
        direction=direction,
        engine="io_uring",
        block_size_bytes=job.block_size_bytes,
        iops=iops,
        bandwidth_bytes=iops * job.block_size_bytes,
        io_bytes=int(iops * job.block_size_bytes * 30),
        total_ios=int(iops * 30),
        latency_mean_ns=mean_ns,
        percentiles_ns={
            "1.000000": int(mean_ns * 0.6),
            "50.000000": int(mean_ns * 0.9),
            "99.000000": int(mean_ns * 2.1),
            "99.900000": int(mean_ns * 4.5),
        },
        bins={},
        runtime_ms=30_000,
        runtime_asked_ms=30_000,
        jobs=job.jobs,
        iodepth=job.iodepth,
        rw=job.rw,
        errors=0,
        cpu_percent=40.0,
        device_bytes=None,
        device_io=(),
        findings=findings,
        capability=Capability(iops=1_600_000) if job.rw == "randread" else None,
    )


COVERAGE = Finding(
    "COVERAGE",
    Severity.BLOCK,
    "only 70.9 % of the bytes read came from the disks, the rest from a cache, holes or "
    "unwritten extents; 412,279 IOPS is probably true",
)
DEPTH = Finding(
    "DEPTH",
    Severity.WARN,
    "0.9 I/Os in flight of 1 asked: the workers spent 8 % of the time between two I/Os, not "
    "waiting for the disk; IOPS is what this machine could ask for, latency stands",
)

RESULTS = (
    result(SMOKE.jobs[0], 7_480, 4_270_000),
    result(SMOKE.jobs[1], 581_387, 440_000, COVERAGE),
    result(SMOKE.jobs[2], 11_030, 83_400, DEPTH),
    result(SMOKE.jobs[3], 3_910, 8_180_000),
    result(SMOKE.jobs[4], 802_000, 318_000),
)


def run_record(**changes: object) -> RunRecord:
    made = RunRecord(
        id=41,
        suite="smoke",
        state=RunState.COMPLETE,
        epoch_id=3,
        target="/mnt/scratch/.stripewright-bench",
        engine="io_uring",
        fio_version="fio-3.39",
        started_at=WALL - 1500,
        ended_at=WALL - 1300,
        phase="rand-write-4k",
        job_index=5,
        job_count=5,
        phase_started_at=WALL - 1330,
        phase_seconds=30.0,
        reason="",
        pid=812,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


RUNNING = run_record(
    id=42,
    state=RunState.RUNNING,
    started_at=WALL - 88,
    ended_at=None,
    phase="rand-read-4k",
    job_index=2,
    phase_started_at=WALL - 12,
)


def smart(worn: int, **changes: int | None) -> SmartLog:
    made = SmartLog(0, 100, 10, worn, 0, 41, first_media_errors=0)
    return replace(made, **changes)  # type: ignore[arg-type]


STATUS = Status(
    health=Health.OK,
    summary="scratch is mounted at /mnt/scratch, 4 of 4 disks",
    hint="",
    machine=Machine("aws", "i4i.16xlarge", "Amazon EC2", "6.12.0", 64, "boot", 4),
    disks=(ROOT_DISK, *MEMBERS, FOREIGN_DISK),
    volumes=(VOLUME,),
    decided_at=WALL - 86_400,
    epoch=EpochRecord(3, WALL - 86_400, {}, {}),
    running=None,
    last_run=run_record(),
    last_results=RESULTS,
    next_run_at=WALL + 15_120,
    history_problem="",
    drift=DriftSummary(checked_at=WALL - 120),
    smart={one.id: smart(number) for number, one in enumerate(MEMBERS, 1)},
)


def sample(device: str, read_bytes: float, write_bytes: float = 0.0) -> Sample:
    return Sample(
        at_ns=0,
        device=device,
        read_iops=read_bytes / 4096,
        write_iops=write_bytes / 4096,
        read_bytes_per_s=read_bytes,
        write_bytes_per_s=write_bytes,
        await_ms=0.31,
        util=0.98,
    )


def live(read_bytes: float = 1.6 * GIB, members: int = 4) -> tuple[LiveDevice, ...]:
    rows = [LiveDevice("scratch", "md127", False, sample("md127", read_bytes))]
    for number in range(1, members + 1):
        name = f"nvme{number}n1"
        rows.append(LiveDevice(name, name, True, sample(name, read_bytes / members)))
    return tuple(rows)


@cache
def seconds(members: int = 4, slow: int = 0) -> tuple[Second, ...]:
    """Five minutes: idle, writing the files, then reading; at member ``slow`` (counted from 1) I/O
    waits five times as long in the last minute.
    """
    made: list[Second] = []
    for second in range(1, 301):
        wave = 1 + 0.08 * ((second * 7919) % 13 - 6) / 6
        read = 1.6 * GIB * wave if second >= 210 else 0.0
        write = 0.9 * GIB * wave if 90 <= second < 200 else 0.0
        rows = []
        for number, one in enumerate(live(members=members)):
            share = members if one.member else 1
            found = sample(one.device, read / share, write / share)
            times = 5 if slow and number == slow and second > 240 else 1
            rows.append(replace(one, sample=replace(found, await_ms=0.31 * wave * times)))
        at = NOW - 300 + second
        made.append(second_of(rows, at, made[-1] if made else None))
    return tuple(made)


def snapshot(status: Status | None = STATUS, **changes: object) -> Snapshot:
    made = Snapshot(
        taken_at=NOW,
        status=status,
        status_at=NOW,
        live=live(),
        live_at=NOW,
        seconds=seconds(),
        history_mark="41",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def running_snapshot() -> Snapshot:
    return snapshot(replace(STATUS, running=RUNNING), run_results=RESULTS[:1], run_suite=SMOKE)


REFUSED_STATUS = replace(
    STATUS,
    health=Health.REFUSED,
    summary=(
        "scratch: /dev/nvme5n1 holds an ext4 signature at 0x438 that is not ours; "
        "nothing was written to any disk"
    ),
    hint="save or erase what is on /dev/nvme5n1 (wipefs), then reboot",
    volumes=(),
    last_run=None,
    last_results=(),
    epoch=None,
)


@dataclass
class FakeFeed:
    """Posts only what a test gives it."""

    post: Callable[[Snapshot], object]
    first: Snapshot | None = None
    calls: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.calls.append("start")
        if self.first is not None:
            self.post(self.first)

    def stop(self) -> None:
        self.calls.append("stop")

    def hurry(self) -> None:
        self.calls.append("hurry")

    def expect_run(self, suite: str, volume: str) -> None:
        self.calls.append(f"expect {suite} {volume}".strip())


@dataclass
class FakeControl:
    """Notes what was asked, and fails with ``problem`` if one is set."""

    problem: OperatorError | None = None
    calls: list[str] = field(default_factory=list)

    def start(self, suite: str, volume: str) -> None:
        self._ask(f"start {suite} {volume}".strip())

    def stop(self, suite: str, volume: str, pid: int) -> None:
        self._ask(f"stop {pid or suite} {volume}".strip())

    def _ask(self, call: str) -> None:
        self.calls.append(call)
        if self.problem is not None:
            raise self.problem


@dataclass
class Stage:
    """An application with everything around it faked."""

    app: StripewrightApp
    control: FakeControl
    feed: FakeFeed
    clock: list[float]

    def give(self, snapshot: Snapshot) -> None:
        self.feed.post(snapshot)


def stage(
    first: Snapshot | None = None,
    *,
    control: FakeControl | None = None,
    policy: Policy | None = None,
    unable: str = "",
    **others: object,
) -> Stage:
    """An application on ``first``; ``others`` are further fields of its :class:`World`."""
    # It uses the machine that is made up here.
    from tests.tui.fake_layout import FakeLayouts
    from tests.tui.fake_overview import FakeOverview
    from tests.tui.fake_suites import FakeSuites

    feeds: list[FakeFeed] = []
    clock = [NOW]

    def make_feed(post: Callable[[Snapshot], object]) -> FakeFeed:
        feeds.append(FakeFeed(post, first))
        return feeds[0]

    the_control = control or FakeControl()
    app = StripewrightApp(
        World(
            feed=make_feed,
            control=the_control,
            policy=policy or Policy(ascii_only=False, theme=RICH_THEME, remote=True),
            unable=unable,
            clock=lambda: clock[0],
            wall=lambda: WALL + clock[0] - NOW,
            host="example",
            **{
                "in_background": lambda work: work(),
                "overview": FakeOverview(),
                "drift": FakeDrift(),
                "log": FakeLog(),
                "results": FakeResults(),
                "layouts": FakeLayouts(),
                "suites": FakeSuites(),
                **others,
            },
        )
    )
    return Stage(app, the_control, feeds[0], clock)


def screen_text(app: StripewrightApp) -> str:
    """What a terminal would show, as plain text."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in lines)
