"""What the screens draw: one frozen picture of the machine, made by the feed."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.model import JobResult, RunRecord, Sample, Suite
from appliance.status import Status, VolumeStatus

# So far back the live figures go.
TREND_SECONDS = 300


@dataclass(frozen=True, slots=True)
class LiveDevice:
    """One row of live figures: a volume, or (``member``) a disk of the volume above it."""

    label: str
    device: str
    member: bool
    sample: Sample | None


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Rates of the first volume at one moment of the feed's clock."""

    at: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_iops: float
    write_iops: float
    await_ms: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the screens draw. Times ending in ``_at`` are of the feed's monotonic clock."""

    taken_at: float
    status: Status | None = None
    status_at: float | None = None
    status_problem: str = ""
    live: tuple[LiveDevice, ...] = ()
    live_at: float | None = None
    live_problem: str = ""
    trend: tuple[TrendPoint, ...] = ()
    run_results: tuple[JobResult, ...] = ()
    run_suite: Suite | None = None
    starting: str = ""
    start_problem: str = ""
    # Changes whenever the history has something new; empty until it was read.
    history_mark: str = ""

    @property
    def running(self) -> RunRecord | None:
        return None if self.status is None else self.status.running

    @property
    def mounted_volume(self) -> VolumeStatus | None:
        """The volume that a suite would write to: the first that is mounted."""
        volumes = () if self.status is None else self.status.volumes
        return next((volume for volume in volumes if volume.mounted), None)
