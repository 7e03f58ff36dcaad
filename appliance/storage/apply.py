"""Running a plan step by step: audit, run, verify; stop at the first that is not proved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from appliance.errors import CommandFailed, OperatorError, Refused
from appliance.model import Disk, Inventory, Layout, Plan, Step, Volume
from appliance.storage import blockdev, devices, filesystem, hotplug, steps, verify
from appliance.storage.kernel import Kernel
from appliance.storage.record import Record
from appliance.system import journal, process

# Log recovery of a big filesystem is the slowest thing here, and it must not be cut off.
_STEP_TIMEOUT_SECONDS = 1800


class StepFailed(OperatorError):
    """A step failed; audit and journal have it already."""


def refusals(plan: Plan, layout: Layout, kernel: Kernel) -> dict[str, str]:
    """Volume -> why its mount point cannot be used, for each volume that would be mounted."""
    wanted = {step.volume for step in plan.steps if step.check == steps.CHECK_MOUNT}
    found = {
        volume.name: verify.mountpoint_problem(volume, kernel)
        for volume in layout.volumes
        if volume.name in wanted
    }
    return {name: problem for name, problem in found.items() if problem}


def run_plan(
    plan: Plan, layout: Layout, inventory: Inventory, *, record: Record, kernel: Kernel
) -> None:
    """Run every step of ``plan`` in order.

    Raises :class:`StepFailed` at the first step that fails or cannot be verified; it
    says what was done, what was not, and how to go on. :class:`Refused` if a disk that is
    to be overwritten is, right before that, not what the plan was made for.
    """
    volumes = {volume.name: volume for volume in layout.volumes}
    disks = {disk.path: disk for disk in inventory.disks}
    stable = {path: steps.stable(disk) for path, disk in disks.items()}
    members = {one.name: [stable[path] for path in one.disks] for one in plan.volumes}
    for index, step in enumerate(plan.steps):
        note = _Note(plan, index, step, record)
        note.started()
        if problem := _changed(step, disks, kernel):
            note.refused(problem)
            raise Refused(
                f"{problem} since it was decided to overwrite it; done before:"
                f" {_names(plan.steps[:index])}; nothing was written to it",
                "look at that disk; then reboot",
            )
        try:
            _run_step(step, volumes[step.volume], members[step.volume], kernel)
        except OperatorError as error:
            note.failed(error)
            raise _explained(plan, index, error) from error
        note.done()


def _changed(step: Step, disks: Mapping[str, Disk], kernel: Kernel) -> str:
    """What ``step`` would overwrite and is not as it was seen; the last look before the write."""
    for lost in step.destroys:
        if problem := devices.look_again(disks[lost.path], kernel):
            return f"{steps.call(disks[lost.path])} {problem}"
    if step.check == steps.CHECK_GEOMETRY and filesystem.is_forced(step.argv):
        try:
            found = blockdev.read_xfs(step.argv[-1])
        except OSError as error:
            return f"{step.argv[-1]} cannot be read ({error.strerror})"
        if found is None or not found.unfinished:
            return f"{step.argv[-1]} no longer holds the XFS that was never finished"
    return ""


def _run_step(step: Step, volume: Volume, members: list[str], kernel: Kernel) -> None:
    if step.check == steps.CHECK_MOUNT:
        _make_mountpoint(Path(volume.mount))
    process.run(step.argv, timeout_seconds=_STEP_TIMEOUT_SECONDS)
    if step.check == steps.CHECK_ARRAY:
        # The link /dev/md/<volume> and /dev/stripewright/<volume> are udev's work.
        hotplug.refresh(step.argv[2])
    if step.check == steps.CHECK_GEOMETRY:
        hotplug.refresh(step.argv[-1])
    verify.check(step, volume, members, kernel)


def _make_mountpoint(path: Path) -> None:
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be made: {error.strerror}", "name another mount point in the layout"
        ) from error


def _names(part: tuple[Step, ...]) -> str:
    return ", ".join(step.argv[0] for step in part) or "nothing"


def _explained(plan: Plan, index: int, error: OperatorError) -> StepFailed:
    output = f"; it said: {error.output.strip()[-400:]}" if isinstance(error, CommandFailed) else ""
    return StepFailed(
        f"step {index + 1} of {len(plan.steps)} failed: {error.message}"
        f" (done before: {_names(plan.steps[:index])};"
        f" not done: {_names(plan.steps[index + 1 :])}){output}",
        f"{error.hint}; when the cause is gone, reboot: it goes on from what is on the disks",
    )


class _Note:
    """One step's entries in history and journal."""

    def __init__(self, plan: Plan, index: int, step: Step, record: Record) -> None:
        self._plan, self._index, self._step, self._record = plan, index, step, record

    def started(self) -> None:
        self._write("started", journal.Event.STEP_STARTED, "", journal.Priority.INFO)

    def done(self) -> None:
        self._write("done", journal.Event.STEP_DONE, "", journal.Priority.INFO)

    def failed(self, error: OperatorError) -> None:
        self._write("failed", journal.Event.STEP_FAILED, error.message, journal.Priority.ERROR)

    def refused(self, problem: str) -> None:
        """Only for the audit: the refusal itself is journalled with its volume."""
        self._record.audit(self._plan.digest, self._index, self._step.argv, "failed", problem)

    def _write(
        self, state: str, event: journal.Event, detail: str, priority: journal.Priority
    ) -> None:
        command = " ".join(self._step.argv)
        self._record.audit(self._plan.digest, self._index, self._step.argv, state, detail)
        journal.event(
            event,
            f"step {self._index + 1} of {len(self._plan.steps)} {state}: {command}"
            + (f": {detail}" if detail else ""),
            priority=priority,
            plan_digest=self._plan.digest,
            step=self._index + 1,
            volume=self._step.volume,
            argv=command,
        )
