"""Is the stripe healthy, and what is it doing now: one answer for the TUI and the command line.

The boot unit (root) leaves in ``/run/stripewright/state.json`` what it saw and decided.
That is what was true then; what can be checked without privilege (mount, array state,
free space, history) is read again each time and wins over the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from appliance import paths
from appliance.drift import check_summary as drift_summary
from appliance.drift.check_summary import DriftSummary
from appliance.drift.looks import hostlook, observation
from appliance.drift.rules import host_rules
from appliance.errors import OperatorError
from appliance.history import queries
from appliance.model import advice
from appliance.model.disks import Disk, Inventory, Machine
from appliance.model.findings import Fact
from appliance.model.measurement import JobResult
from appliance.model.runs import EpochRecord, RunRecord, RunState
from appliance.state import boot_state, live_state
from appliance.state.boot_state import BootState, BootVolume
from appliance.storage.execute import tuning
from appliance.storage.execute.tuning import Setting
from appliance.storage.probe import mounted
from appliance.system import liveness, services
from appliance.system.kernel import Kernel
from appliance.text import fields

_JOURNAL_HINT = "look at: journalctl -b -t stripewright"


class Health(StrEnum):
    OK = "ok"
    # Up and whole for those who use it, but a member is missing: the next loss is one too many.
    DEGRADED = "degraded"
    WORKING = "working"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VolumeStatus:
    """One volume: what the boot unit decided, and whether it is still so."""

    name: str
    decision: str
    outcome: str
    reason: str
    hint: str
    device: str
    mount: str
    mounted: bool
    level: str
    members: tuple[str, ...]
    member_serials: tuple[str, ...]
    chunk_bytes: int | None
    sunit_bytes: int | None
    swidth_bytes: int | None
    size_bytes: int | None
    free_bytes: int | None
    problem: str = ""
    filesystem: str = "xfs"
    data_disks: int | None = None
    degraded: int = 0
    sync: str = ""
    initialised: str = ""

    @property
    def is_up(self) -> bool:
        """Mounted, or, without a filesystem, there."""
        return self.mounted or (self.outcome == "up" and not self.problem)

    @property
    def health(self) -> Health:
        """Of this volume alone; what a person has to do about it, :func:`read_status` says."""
        if self.problem or self.outcome == "failed":
            return Health.FAILED
        if self.outcome == "refused":
            return Health.REFUSED
        if self.outcome in {"waiting", "applying"}:
            return Health.WORKING
        if self.degraded:
            return Health.DEGRADED
        return Health.OK if self.is_up else Health.UNKNOWN

    @property
    def geometry_proved(self) -> bool:
        """Whether the filesystem's geometry, as read back, is chunk × members that hold data.

        A single disk has no stripe to be aligned to, and a volume without filesystem nothing that
        could be aligned.
        """
        if not self.level or self.filesystem == "none":
            return True
        data_disks = len(self.members) if self.data_disks is None else self.data_disks
        return (
            self.chunk_bytes is not None
            and self.sunit_bytes == self.chunk_bytes
            and self.swidth_bytes == self.chunk_bytes * data_disks
        )


@dataclass(frozen=True, slots=True)
class Status:
    """Everything the first screen needs. ``decided_at`` is when the boot unit last wrote."""

    health: Health
    summary: str
    hint: str
    machine: Machine | None
    disks: tuple[Disk, ...]
    volumes: tuple[VolumeStatus, ...]
    decided_at: float | None
    epoch: EpochRecord | None
    running: RunRecord | None
    last_run: RunRecord | None
    last_results: tuple[JobResult, ...]
    next_run_at: float | None
    history_problem: str
    tuning: tuple[Setting, ...] = ()
    # Why the declared schedule is not in effect; empty if it is.
    schedule_problem: str = ""
    # None where no history can be read.
    drift: DriftSummary | None = None
    # What keeps the appliance itself from its work right now, whether or not it can be kept.
    host: tuple[Fact, ...] = ()
    # All that the boot unit saw; None where it has left none.
    inventory: Inventory | None = None
    # The SMART log of each member by disk id, ``None`` for one that did not answer, as root's
    # last scan read them; or why there was no scan.
    smart: Mapping[str, observation.Health | None] = field(default_factory=dict)
    smart_problem: str = ""


def read_status(
    *,
    state_file: Path = paths.STATE_FILE,
    seen_file: Path = paths.SEEN_FILE,
    db: Path = paths.HISTORY_DB,
    mountinfo: Path = Path("/proc/self/mountinfo"),
    sys_block: Path = Path("/sys/class/block"),
    next_run: Callable[[], float | None] | None = None,
    usages_of: Callable[[Sequence[str]], Mapping[str, mounted.Usage]] = mounted.usages,
) -> Status:
    """Read the state of this machine without any privilege. Never raises for what is missing.

    ``next_run`` answers instead of :func:`next_run_at`, which starts a program, and ``usages_of``
    instead of what leaves a process behind on a dead disk.
    """
    state, state_problem = None, ""
    try:
        state = boot_state.load(state_file)
    except OperatorError as error:
        state_problem = error.message
    inventory = state.inventory if state else None
    mounts = live_state.mounts(mountinfo)
    entries = state.volumes if state else ()
    usages = usages_of([one.mount for one in entries if one.mount in mounts])
    volumes = tuple(_volume(entry, mounts, usages, sys_block) for entry in entries)
    machine = None if inventory is None else inventory.machine
    health, summary, hint = _judge(
        state,
        state_problem,
        volumes,
        at_work=state is not None and Kernel().has_process(state.pid),
        expected_disks=None if machine is None else machine.expected_disks,
    )
    # Where /run takes no writes there is no state.
    is_appliance = state_file.exists() or services.is_installed(services.ASSEMBLE_UNIT)
    epoch = running = last = None
    results: tuple[JobResult, ...] = ()
    history_problem = ""
    drift = None
    try:
        with queries.open_readonly(db) as reader:
            epoch = reader.current_epoch()
            running, last, results = _runs(reader)
            drift = drift_summary.read(reader, is_appliance=is_appliance)
    except OperatorError as error:
        # Before the first boot has written it, its absence is no news.
        if db != paths.HISTORY_DB or db.exists():
            history_problem = f"{error.message}; {error.hint}"
    scan, scan_problem = observation.last_scan(seen_file, liveness.boot_id())
    return Status(
        health=health,
        summary=summary,
        hint=hint,
        machine=machine,
        disks=() if inventory is None else inventory.disks,
        volumes=volumes,
        decided_at=state.at if state else None,
        epoch=epoch,
        running=running,
        last_run=last,
        last_results=results,
        next_run_at=(next_run or next_run_at)(),
        history_problem=history_problem,
        tuning=tuning.load(paths.TUNING_FILE),
        schedule_problem=schedule_problem(),
        drift=drift,
        host=host_rules.pressing(hostlook.look()) if is_appliance else (),
        inventory=inventory,
        smart={} if scan is None else scan.health,
        smart_problem=scan_problem,
    )


def schedule_problem(path: Path = paths.SCHEDULE_STATE) -> str:
    """Why the installed schedule is not in effect, as root's unit left it, or nothing."""
    try:
        error = json.loads(path.read_text(encoding="utf-8"))["error"]
        return "" if error is None else str(error["message"])
    except (OSError, ValueError, TypeError, LookupError):
        return ""


def _volume(
    entry: BootVolume,
    mounts: dict[str, str],
    usages: Mapping[str, mounted.Usage],
    sys_block: Path,
) -> VolumeStatus:
    is_mounted = entry.mount in mounts
    usage = usages.get(entry.mount)
    problem = sync = ""
    degraded = 0
    if entry.is_up:
        problem = live_state.live_problem(entry.mount, is_mounted, entry.device, mounts, sys_block)
        degraded, sync = live_state.live_array(sys_block / Path(entry.device).resolve().name / "md")
    same = "name decision outcome reason hint device mount level chunk_bytes sunit_bytes"
    same += " swidth_bytes size_bytes data_disks"
    return VolumeStatus(
        **fields(entry, same),
        mounted=is_mounted,
        members=tuple(member.path for member in entry.members),
        member_serials=tuple(member.serial for member in entry.members),
        free_bytes=None if usage is None else usage.free_bytes,
        problem=problem,
        filesystem=entry.filesystem or ("xfs" if entry.mount else "none"),
        degraded=degraded,
        sync=sync,
        initialised=live_state.initialised(entry.name),
    )


def _judge(
    state: BootState | None,
    state_problem: str,
    volumes: tuple[VolumeStatus, ...],
    *,
    at_work: bool,
    expected_disks: int | None,
) -> tuple[Health, str, str]:
    if state is None:
        hint = f"look at: systemctl status {services.ASSEMBLE_UNIT}"
        if not services.is_installed(services.ASSEMBLE_UNIT):
            hint = f"measure any directory: {advice.run_anywhere()}"
        return Health.UNKNOWN, state_problem, hint
    if state.outcome in {"waiting", "applying"}:
        if at_work:
            return Health.WORKING, state.message, ""
        # It was killed, or timed out.
        said = f"the boot unit or a plan ended before its work was done ({state.message})"
        return Health.FAILED, said, _JOURNAL_HINT
    for volume in volumes:
        if volume.problem:
            return (
                Health.FAILED,
                volume.problem,
                f"look at: journalctl -b -u {services.ASSEMBLE_UNIT}",
            )
    # Of the disks that the machine has, each volume has a part, unless there is but one.
    of_all = expected_disks if len(volumes) == 1 else None
    up = "; ".join(_mounted_words(one, of_all) for one in volumes if one.is_up)
    also = f"; {up}" if up else ""
    for wanted, health in (("failed", Health.FAILED), ("refused", Health.REFUSED)):
        for volume in volumes:
            if volume.outcome == wanted:
                one = f"{volume.name}: " if len(volumes) > 1 else ""
                return health, f"{one}{volume.reason}{also}", volume.hint
        if state.outcome == wanted:
            return health, state.message, state.hint or _JOURNAL_HINT
    for volume in volumes:
        if volume.degraded:
            doing = f" ({volume.sync})" if volume.sync else ""
            return (
                Health.DEGRADED,
                f"{volume.name} lacks {volume.degraded} of {len(volume.members)} members{doing}",
                "" if volume.sync else "give it a blank disk of the same kind and reboot",
            )
    return Health.OK, up or state.message, ""


def _mounted_words(volume: VolumeStatus, expected_disks: int | None) -> str:
    found = len(volume.members)
    of_all = f" of {expected_disks}" if expected_disks is not None else ""
    where = f"mounted at {volume.mount}" if volume.mount else f"up as {volume.device}"
    return f"{volume.name} is {where}, {found}{of_all} {'disk' if found == 1 else 'disks'}"


def _runs(
    reader: queries.Reader,
) -> tuple[RunRecord | None, RunRecord | None, tuple[JobResult, ...]]:
    """What runs now, whatever it is; the last run of a suite, which no repeat of a suspect is."""
    running = next((run for run in reader.runs(limit=5) if run.state is RunState.RUNNING), None)
    of_suites = reader.runs(limit=5, repeats=False)
    last = next((run for run in of_suites if run.state is not RunState.RUNNING), None)
    return running, last, () if last is None else reader.results(last.id)


def next_run_at() -> float | None:
    """When the timer starts the short suite, seconds since the epoch; ``None`` if it never does."""
    if not services.systemd_is_running():
        return None
    try:
        at = services.next_elapse(services.BENCH_TIMER.format(suite="smoke"))
    except (OperatorError, ValueError):
        return None
    return at if at is not None and at > time.time() else None
