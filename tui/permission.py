"""What the operator may do now, and if not, why not; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.snapshot import Snapshot

if TYPE_CHECKING:
    from appliance.client.machine_status import VolumeStatus
    from appliance.model.runs import Suite


@dataclass(frozen=True, slots=True)
class Permission:
    """``reason`` is empty when allowed, else one sentence for the operator."""

    reason: str = ""

    @property
    def allowed(self) -> bool:
        return not self.reason


def may_start(snapshot: Snapshot | None, suite: str, unable: str) -> Permission:
    """Whether ``suite`` can be started. ``unable`` is why nothing can be done here, or empty."""
    if unable:
        return Permission(unable)
    if snapshot is None or snapshot.status is None:
        return Permission("the state of this machine has not been read yet")
    if snapshot.starting:
        return Permission(f"suite {snapshot.starting} is starting")
    if snapshot.running is not None:
        return Permission(
            f"suite {snapshot.running.suite} is already running; two at once would spoil both"
        )
    if snapshot.applying is not None:
        return Permission("a plan is being carried out on the disks")
    if snapshot.mounted_volume is None:
        return Permission(f"no volume is mounted, so {suite} has nothing to measure")
    return Permission()


def may_measure(suite: Suite, volume: VolumeStatus) -> Permission:
    """Whether ``suite`` can measure ``volume``: it is there, and has room for the files."""
    from appliance.client.suite_facts import file_bytes
    from appliance.errors import Refused

    if not volume.mounted:
        if not volume.mount:
            return Permission("it has no filesystem; raw devices are measured from the shell only")
        return Permission(volume.problem or f"it is not mounted at {volume.mount}")
    try:
        file_bytes(suite, volume)
    except Refused as refusal:
        return Permission(refusal.message)
    return Permission()


def may_cancel(snapshot: Snapshot | None, unable: str) -> Permission:
    """Whether there is a run that can be stopped."""
    if unable:
        return Permission(unable)
    if snapshot is None or (snapshot.running is None and not snapshot.starting):
        return Permission("no suite is running")
    return Permission()


def may_read_results(snapshot: Snapshot | None) -> Permission:
    """Whether there are results to show in detail."""
    if snapshot is None or snapshot.status is None:
        return Permission("the state of this machine has not been read yet")
    if snapshot.status.last_run is None and not snapshot.run_results:
        problem = snapshot.status.history_problem.partition(";")[0]
        return Permission(problem or "no suite has been run yet")
    return Permission()
