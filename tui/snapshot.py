"""What the screens draw: one frozen picture of the machine, made by the feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # What only types need is not loaded before the first paint, here and in what draws it.
    from appliance.bench.live_file import LiveJob
    from appliance.client.machine_status import Status, VolumeStatus
    from appliance.client.plan_requests import ApplyProgress
    from appliance.model.measurement import JobResult
    from appliance.model.runs import RunRecord, Sample, Suite
    from tui.tracks import Second

# So far back the live figures go.
TREND_SECONDS = 300


@dataclass(frozen=True, slots=True)
class LiveDevice:
    """One row of live figures: a volume, or (``member``) a disk of the volume above it.

    ``other_ios`` are the discards and flushes that it completed in the time of ``sample``.
    """

    label: str
    device: str
    member: bool
    sample: Sample | None
    other_ios: int = 0


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
    # What every device did in each of the last TREND_SECONDS.
    seconds: tuple[Second, ...] = ()
    # The figures so far of the jobs that are being measured; not judged yet.
    live_jobs: tuple[LiveJob, ...] = ()
    run_results: tuple[JobResult, ...] = ()
    run_suite: Suite | None = None
    # The suite that was asked to start, and its volume where one was named.
    starting: str = ""
    starting_volume: str = ""
    start_problem: str = ""
    # The plan that is being carried out, by any operator.
    applying: ApplyProgress | None = None
    # Changes whenever the history has something new; empty until it was read.
    history_mark: str = ""

    @property
    def live_volumes(self) -> list[str]:
        """The names of the volumes that have live figures."""
        return [device.label for device in self.live if not device.member]

    @property
    def running(self) -> RunRecord | None:
        return None if self.status is None else self.status.running

    @property
    def mounted_volumes(self) -> tuple[VolumeStatus, ...]:
        """The volumes that a suite can measure."""
        volumes = () if self.status is None else self.status.volumes
        return tuple(volume for volume in volumes if volume.mounted)

    @property
    def mounted_volume(self) -> VolumeStatus | None:
        """The volume that a suite measures if none is named: the first that is mounted."""
        return next(iter(self.mounted_volumes), None)
