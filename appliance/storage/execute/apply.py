"""Running a plan step by step: audit, look, run, verify.

A step that fails or cannot be proved ends its volume's part of the plan; the other volumes
go on. What belongs to no declared volume (a removal, an erasure, the layout itself) is the
ground on which the rest was planned: if that fails, nothing after it is run.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance import paths
from appliance.errors import CommandFailed, OperatorError, Refused
from appliance.model.disks import Disk, Inventory, MarkState
from appliance.model.plans import Layout, Plan, Step, Volume
from appliance.storage.execute import builtin_steps, mounting, recheck, verify
from appliance.storage.execute.record import Record
from appliance.storage.formats import filesystem, hwraid
from appliance.storage.policy import steps
from appliance.storage.probe import blockdev, devices
from appliance.system import journal, process, stopping
from appliance.system.kernel import Kernel

# Log recovery of a big filesystem is the slowest thing here, and it must not be cut off.
_STEP_TIMEOUT_SECONDS = 1800
# A mount unit has as long, and what it says of its end is waited for.
_MOUNT_TIMEOUT_SECONDS = _STEP_TIMEOUT_SECONDS + 60
_NOTHING = "nothing"
_READ_ONLY = "; ".join(f"{one.title}: -o {one.read_only}" for one in filesystem.KINDS.values())
_MAKERS = {"vgcreate", "lvcreate"}
_EVENTS = {
    "started": journal.Event.STEP_STARTED,
    "done": journal.Event.STEP_DONE,
    "failed": journal.Event.STEP_FAILED,
}

OnStep = Callable[[int, Step], None]


class StepFailed(OperatorError):
    """A step failed; audit and journal have it already."""


class Stopped(OperatorError):
    """Steps were not begun, because the machine (or the unit) is going down."""

    def __init__(self) -> None:
        super().__init__(
            "stopped between steps: the machine or the unit is going down",
            "the next boot goes on from what is on the disks; a removal has to be planned and"
            " applied again",
        )


class Changed(Refused):
    """A disk that is to be overwritten is, right before that, not what the plan was made for.

    ``begun``: steps of its volume were run before.
    """

    begun = False


@dataclass(frozen=True, slots=True)
class Work:
    """A plan, and what it was made from. ``units`` is where mount units go."""

    plan: Plan
    layout: Layout
    inventory: Inventory
    kernel: Kernel
    bench: builtin_steps.StepContext
    units: Path = paths.UNIT_DIR
    # (volume, disk) of each mark that this work has proved to be on the disk.
    marked: set[tuple[str, str]] = field(default_factory=set)
    # What steps of this work have left on disks whose contents were confirmed, by path.
    left: dict[str, str] = field(default_factory=dict)

    def volume(self, name: str) -> Volume | None:
        return next((one for one in self.layout.volumes if one.name == name), None)

    def disks(self, volume: str) -> tuple[Disk, ...]:
        """The volume's disks in the order of the plan (slots)."""
        paths = next((one.disks for one in self.plan.volumes if one.name == volume), ())
        return tuple(self.bench.disks[path] for path in paths if path in self.bench.disks)


@dataclass(slots=True)
class Ended:
    """Volumes that did not get through their steps, each with its error."""

    failed: dict[str, OperatorError] = field(default_factory=dict)

    @property
    def ground(self) -> OperatorError | None:
        """The failure after which nothing more was run, if there was one."""
        return self.failed.get("")


def refusals(plan: Plan, layout: Layout, kernel: Kernel) -> dict[str, str]:
    """Volume -> why its mount point cannot be used, for each volume that would be mounted."""
    wanted = {step.volume for step in plan.steps if step.check == steps.CHECK_MOUNT}
    leaving = {step.argv[-1] for step in plan.steps if step.argv[0] == "umount"}
    found = {
        volume.name: verify.mountpoint_problem(volume, kernel, leaving=leaving)
        for volume in layout.volumes
        if volume.name in wanted
    }
    return {name: problem for name, problem in found.items() if problem}


def run_plan(
    work: Work,
    *,
    record: Record,
    only: Collection[str] | None = None,
    on_step: OnStep = lambda _index, _step: None,
) -> Ended:
    """Run the steps of ``work.plan`` in order; ``only``: those of these volumes.

    Never raises for a step. The error of a volume says what was done, what was not and how to
    go on; it is :class:`Changed` if a disk that is to be overwritten is, right before that,
    not what the plan was made for, :class:`Refused` if the mount point is taken, and
    :class:`Stopped` if the process is asked to end (:mod:`appliance.system.stopping`).
    """
    ended = Ended()
    with blockdev.writers_kept():
        _run_all(work, ended, record, only, on_step)
    return ended


def _run_all(
    work: Work, ended: Ended, record: Record, only: Collection[str] | None, on_step: OnStep
) -> None:
    declared = set(work.layout.volume_names)
    for index, step in enumerate(work.plan.steps):
        if ended.ground or step.volume in ended.failed:
            continue
        if only is not None and step.volume not in only:
            continue
        if stopping.asked():
            error: OperatorError | None = Stopped()
        else:
            on_step(index, step)
            error = _one(work, index, step, record)
        if error is not None:
            ended.failed[step.volume] = error
            if step.volume not in declared:
                ended.failed[""] = error


def _one(work: Work, index: int, step: Step, record: Record) -> OperatorError | None:
    """Run one step to its proof; the error if there is one."""
    _note(work, index, record, "started")
    before = _names(work.plan, step.volume, slice(None, index))

    def refused(problem: str) -> None:
        """Only for the audit: the refusal itself is journalled with its volume."""
        record.audit(work.plan.digest, index, step.argv, "failed", problem)

    try:
        if problem := _changed(step, work):
            refused(problem)
            changed = Changed(
                f"{problem} since it was decided to overwrite it; done before: {before};"
                " nothing was written to it",
                "look at that disk; then reboot, or plan and apply again",
            )
            changed.begun = before != _NOTHING
            return changed
        if step.check == steps.CHECK_MOUNT and (against := _mount_problem(step, work)):
            problem, hint = against
            refused(problem)
            return Refused(f"{problem}; done before: {before}", hint)
        _run_step(step, work)
    except OperatorError as error:
        _note(work, index, record, "failed", error.message)
        return _explained(work.plan, index, error)
    except Exception as error:
        # Whatever it is, it is this volume's: the others go on.
        traceback.print_exc()
        failure = OperatorError(
            f"{type(error).__name__}: {error}", "this should not happen: the journal has the place"
        )
        _note(work, index, record, "failed", failure.message)
        return _explained(work.plan, index, failure)
    _note(work, index, record, "done")
    return None


def _mount_problem(step: Step, work: Work) -> tuple[str, str] | None:
    """What speaks against a mount, right before it, and what can be done about that."""
    volume = work.volume(step.volume)
    if volume is None:
        return None
    if problem := verify.mountpoint_problem(volume, work.kernel):
        return problem, "free the mount point or name another in the layout"
    made = any(one.volume == step.volume and _makes(one.argv) for one in work.plan.steps)
    members = recheck.stripe_members(volume, work.disks(step.volume), work.inventory, made=made)
    device = step.argv[-2]
    if problem := recheck.look_before_mount(volume, device, members=members):
        return problem, (
            f"it was not mounted, because that replays a log and so writes; see 'blkid -p {device}'"
            f" and look at it read-only, without its log ({_READ_ONLY})"
        )
    return None


def _changed(step: Step, work: Work) -> str:
    """What ``step`` would overwrite and is not as it was seen; the last look before the write.

    Before the first write to a disk everything on it is read again. Later steps find there what
    the earlier ones have made, and the volume's own mark: that it stands is all there is to see.
    """
    volume = work.volume(step.volume)
    first: list[Disk] = []
    later: list[Disk] = []
    for lost in step.destroys:
        if lost.path not in work.bench.disks and volume and volume.stripe == "hw-raid0":
            # A drive behind a controller is no disk of the kernel's: storcli refuses one in use.
            continue
        disk = work.bench.disk(lost.path)
        if (step.volume, disk.path) in work.marked:
            later.append(disk)
        else:
            left = work.left.get(disk.path, disk.contents_digest)
            first.append(replace(disk, contents_digest=left))
    found = None
    if first:
        found = recheck.look_again(first, work.kernel, volume=step.volume, layout=work.layout)
    if found is None and later:
        found = recheck.look_at_making(later, work.kernel, volume=step.volume)
    if found is not None:
        disk, problem = found
        return f"{steps.call(disk)} {problem}"
    if _makes(step.argv):
        return _unmarked(work, step)
    return ""


def _makes(argv: tuple[str, ...]) -> bool:
    made = argv[0] in _MAKERS or filesystem.made_by(argv[0]) is not None
    return made or argv[:2] == ("mdadm", "--create")


def _unmarked(work: Work, step: Step) -> str:
    """A disk of the volume that does not say that it is being made, or an empty string.

    Marks stand on every disk before anything else is made there. A tool that makes something
    is not started where one is missing: it may be told not to ask.
    """
    volume = work.volume(step.volume)
    if volume is None:
        return ""
    for disk in work.disks(step.volume):
        try:
            found = blockdev.read_marks(disk.path, disk.size_bytes, disk.serial)
        except OSError as error:
            return f"{steps.call(disk)} cannot be read ({error.strerror})"
        if not any((m.state, m.volume) == (MarkState.MAKING, volume.name) for m in found):
            return f"{steps.call(disk)} no longer says that '{volume.name}' is made of it"
    return ""


def _run_step(step: Step, work: Work) -> None:
    volume = work.volume(step.volume)
    if step.check == steps.CHECK_MOUNT and volume is not None:
        _make_mountpoint(Path(volume.mount))
    if builtin_steps.is_chore(step.argv):
        builtin_steps.run(step.argv, work.bench)
    elif step.argv[0] == hwraid.PROGRAM:
        # storcli tells a failure in its answer, and not always by its exit status.
        done = process.run(step.argv, timeout_seconds=_STEP_TIMEOUT_SECONDS, check=False)
        hwraid.check_result(done.stdout, done.returncode)
    elif step.check == steps.CHECK_MOUNT and volume is not None:
        mounting.mount(
            step.argv, volume, work.kernel, work.units, timeout_seconds=_MOUNT_TIMEOUT_SECONDS
        )
    elif step.argv[0] == "umount":
        mounting.unmount(step.argv, timeout_seconds=_MOUNT_TIMEOUT_SECONDS)
    else:
        process.run(step.argv, timeout_seconds=_STEP_TIMEOUT_SECONDS)
    verify.wait_for_udev(step)
    verify.check(
        step,
        verify.VerifyContext(
            volume=volume,
            disks=work.disks(step.volume),
            kernel=work.kernel,
            bench=work.bench,
        ),
    )
    if step.check == steps.CHECK_MARKS:
        work.marked.update((step.volume, work.bench.disk(one.path).path) for one in step.destroys)
    _note_contents(step, work)


def _note_contents(step: Step, work: Work) -> None:
    """From here on the disks hold what ``step`` has left there, where that was to be confirmed."""
    for lost in step.destroys:
        disk = work.bench.disks.get(lost.path)
        if disk is None or not disk.contents_digest or (step.volume, disk.path) in work.marked:
            continue
        # If it cannot be read, the next look finds that.
        with contextlib.suppress(OSError):
            work.left[disk.path] = devices.contents_digest(disk, work.kernel)


def _make_mountpoint(path: Path) -> None:
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"{path} cannot be made: {error.strerror}", "name another mount point in the layout"
        ) from error


def _names(plan: Plan, volume: str, part: slice) -> str:
    """The programs of a volume's steps in a part of the plan."""
    return ", ".join(name_of(s.argv) for s in plan.steps[part] if s.volume == volume) or _NOTHING


def name_of(argv: tuple[str, ...]) -> str:
    """What a step is called in a sentence: its program, or our own chore."""
    return f"chore {argv[2]}" if builtin_steps.is_chore(argv) else argv[0]


def _explained(plan: Plan, index: int, error: OperatorError) -> StepFailed:
    output = f"; it said: {error.output.strip()[-400:]}" if isinstance(error, CommandFailed) else ""
    volume = plan.steps[index].volume
    return StepFailed(
        f"step {index + 1} of {len(plan.steps)} failed: {error.message}"
        f" (done before: {_names(plan, volume, slice(None, index))};"
        f" not done: {_names(plan, volume, slice(index + 1, None))}){output}",
        f"{error.hint}; when the cause is gone, reboot, or plan and apply again: it goes on from"
        " what is on the disks",
    )


def _note(work: Work, index: int, record: Record, state: str, detail: str = "") -> None:
    """A step's entry in history and journal: ``started``, ``done`` or ``failed``."""
    plan, step = work.plan, work.plan.steps[index]
    record.audit(plan.digest, index, step.argv, state, detail)
    command = " ".join(step.argv)
    journal.event(
        _EVENTS[state],
        f"step {index + 1} of {len(plan.steps)} {state}: {command}"
        + (f": {detail}" if detail else ""),
        priority=journal.Priority.ERROR if state == "failed" else journal.Priority.INFO,
        plan_digest=plan.digest,
        step=index + 1,
        volume=step.volume,
        argv=command,
    )


def work_of(
    plan: Plan,
    layout: Layout,
    inventory: Inventory,
    kernel: Kernel,
    *,
    layout_file: Path,
    layout_text: str | None = None,
    units: Path = paths.UNIT_DIR,
) -> Work:
    """Everything that running ``plan`` needs."""
    bench = builtin_steps.StepContext(
        disks=builtin_steps.by_path(inventory.disks),
        host_tag=inventory.machine.host_tag,
        layout_file=layout_file,
        layout_text=layout_text,
    )
    return Work(plan, layout, inventory, kernel, bench, units)
