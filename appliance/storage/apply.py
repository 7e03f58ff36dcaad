"""Running a plan step by step: audit, run, verify; stop at the first that is not proved."""

from __future__ import annotations

from pathlib import Path

from appliance.errors import CommandFailed, OperatorError
from appliance.model import Inventory, Layout, Plan, Step, Volume
from appliance.storage import hotplug, steps, verify
from appliance.storage.kernel import Kernel
from appliance.storage.record import Record
from appliance.system import journal, process

# Log recovery of a big filesystem is the slowest thing here, and it must not be cut off.
_STEP_TIMEOUT_SECONDS = 1800


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

    Raises :class:`OperatorError` at the first step that fails or cannot be verified; it
    says what was done, what was not, and how to go on.
    """
    volumes = {volume.name: volume for volume in layout.volumes}
    stable = {disk.path: steps.stable(disk) for disk in inventory.disks}
    members = {one.name: [stable[path] for path in one.disks] for one in plan.volumes}
    for index, step in enumerate(plan.steps):
        note = _Note(plan, index, step, record)
        note.started()
        try:
            _run_step(step, volumes[step.volume], members[step.volume], kernel)
        except OperatorError as error:
            note.failed(error)
            raise _explained(plan, index, error) from error
        note.done()


def run_bench_dir(volume: Volume) -> None:
    """Make the benchmark directory where a killed boot left it out."""
    if not verify.bench_dir(volume).exists():
        step = steps.bench_dir_step(volume)
        process.run(step.argv, timeout_seconds=_STEP_TIMEOUT_SECONDS)
        verify.check_bench_dir(volume)


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


def _explained(plan: Plan, index: int, error: OperatorError) -> OperatorError:
    def names(part: tuple[Step, ...]) -> str:
        return ", ".join(step.argv[0] for step in part) or "nothing"

    output = f"; it said: {error.output.strip()[-400:]}" if isinstance(error, CommandFailed) else ""
    return OperatorError(
        f"step {index + 1} of {len(plan.steps)} failed: {error.message}"
        f" (done before: {names(plan.steps[:index])};"
        f" not done: {names(plan.steps[index + 1 :])}){output}",
        f"{error.hint}; when the cause is gone, run 'stripewright assemble' again: it goes on"
        " from what is on the disks",
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
