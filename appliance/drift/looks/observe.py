"""One look at the machine: sysfs, mountinfo, udev's database and what root has left in /run.

It takes no privilege, opens no block device, writes nothing, and touches a volume only to ask
the mounted filesystem how large it is. That can hang, so it is asked in a process of its own.
A file that is missing, or says nonsense, is a note, never an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance import paths
from appliance.drift.looks.observation import (
    ROOT_CODES,
    Answer,
    ArrayNow,
    Observation,
    Seen,
    SlotNow,
    is_same,
    kernel_name,
    last_scan,
    left_by_boot,
)
from appliance.errors import OperatorError
from appliance.model import surroundings as names
from appliance.model.disks import Disk, Machine
from appliance.model.plans import Layout
from appliance.state import boot_state
from appliance.state.boot_state import BootVolume
from appliance.storage.formats import lvm
from appliance.storage.policy import identity
from appliance.storage.policy.layout import load_layout
from appliance.storage.probe import mounted, settings
from appliance.storage.probe.devices import Probe
from appliance.system import child, liveness
from appliance.system.kernel import Kernel, read_text

_ANSWER_SECONDS = mounted.ANSWER_SECONDS
# SCSI's words (drivers/scsi/scsi_sysfs.c) and NVMe's for a device that takes no more I/O.
_DEAD = frozenset({"offline", "transport-offline", "cancel", "deleted", "deleting", "dead"})


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a look looks, so that files can stand in for a machine."""

    kernel: Kernel = field(default_factory=Kernel)
    state: Path = paths.STATE_FILE
    seen: Path = paths.SEEN_FILE
    layout: Path = paths.LAYOUT_FILE
    cpu_latency: Path = paths.CPU_LATENCY_FILE
    links: Path = paths.DEVICE_DIR


def look(sources: Sources | None = None) -> Observation:
    """Look once; some tens of milliseconds. Never raises for what it finds or does not find."""
    sources = sources or Sources()
    problem = ""
    # A device may go while it is looked at, or a plan be begun: once more, by what is so then.
    for _ in range(2):
        state = boot_state.find(sources.state)
        try:
            seen = _look(sources)
        except OSError as error:
            problem = str(error)
            continue
        # The arrays and mounts of now, beside the state of before a plan, are no drift.
        if boot_state.find(sources.state) == state:
            return seen
        problem = "the boot unit, or a plan, was at work meanwhile"
    note = f"nothing was judged: {problem}"
    return Observation(blind=(("*", ""),), notes=(note,))


def of_boot_unit(sources: Sources) -> Observation:
    """What the boot unit has left, and nothing of now."""
    kernel, state = sources.kernel, boot_state.find(sources.state)
    at_work = state is not None and kernel.has_process(state.pid)
    return left_by_boot(state, liveness.boot_id(kernel.proc_root), at_work=at_work)


def _look(sources: Sources) -> Observation:
    kernel, then = sources.kernel, of_boot_unit(sources)
    notes = list(then.notes)
    try:
        layout = load_layout(sources.layout)
    except OperatorError as error:
        layout = Layout((), source=str(sources.layout))
        notes.append(f"the layout was not compared: {error.message}")
    if then.is_blind:
        return replace(then, layout=layout, notes=tuple(notes))
    seen, blind = _root_look(sources, then, notes)
    probe = Probe.of(kernel, False, layout)
    answers, unasked = _answers(then.volumes, kernel, notes)
    disks = {name: disk for name in kernel.disks() if (disk := _disk(probe, name))}
    return replace(
        then,
        layout=layout,
        machine=probe.machine,
        disks=tuple(disks.values()),
        arrays=tuple(_array(kernel, name, disks) for name in kernel.arrays()),
        numbers={disk.path: kernel.attribute(name, "dev") for name, disk in disks.items()},
        mapped={kernel.holder_note(one): kernel.attribute(one, "dev") for one in kernel.mapped()},
        mounts=kernel.mounts(),
        nodes={one.name: _node(kernel, sources.links / one.name) for one in then.volumes},
        answers=answers,
        built_now=settings.built(kernel),
        seen=seen,
        surroundings_now=_surroundings(sources, then, tuple(disks.values()), probe.machine),
        surroundings={**then.surroundings_then, **_health_kept(then, seen)},
        blind=(*then.blind, *blind, *unasked),
        notes=tuple(notes),
    )


def _root_look(
    sources: Sources, then: Observation, notes: list[str]
) -> tuple[Seen | None, tuple[tuple[str, str], ...]]:
    """What root saw, and what cannot be judged for want of it."""
    seen, problem = last_scan(sources.seen, then.boot_id)
    if seen is not None:
        return seen, tuple(_silent(then, seen))
    notes.append(
        f"{problem}: disk health, LVM and RAID controllers were not judged;"
        " see 'systemctl status stripewright-look.service'"
    )
    return None, tuple((code, "") for code in ROOT_CODES)


def _silent(then: Observation, seen: Seen) -> Iterator[tuple[str, str]]:
    """What did not answer to root."""
    if seen.virtual_drives is None:
        yield "HWRAID-STATE", ""
    known = {one.name for one in seen.groups or ()}
    for volume in then.volumes:
        if volume.level == "lvm-stripe" and lvm.group_name(volume.name) not in known:
            yield "LVM-SEGMENTS", volume.name
        if seen.filesystems.get(volume.name, ...) is None:
            yield "FS-GEOMETRY", volume.name
        if any(seen.health.get(one.id, ...) is None for one in volume.members):
            yield "DISK-HEALTH", volume.name


def _disk(probe: Probe, name: str) -> Disk | None:
    """The disk, unless the kernel has given it up."""
    disk = probe.disk(name)
    state = probe.kernel.attribute(name, "device/state").lower()
    # The kernel takes the size of an NVMe namespace away when its controller is dead.
    if not disk.size_bytes or state in _DEAD:
        return None
    return replace(disk, kind=identity.classify(disk, probe.layout.rules, probe.machine))


def _array(kernel: Kernel, name: str, disks: Mapping[str, Disk]) -> ArrayNow:
    md, folder = kernel.md(name), kernel.sys_root / "block" / name / "md"
    facts = kernel.udev(name)
    slots = [
        SlotNow(
            int(slot),
            member,
            read_text(folder / f"dev-{member}/state"),
            disks.get(member) if _is_here(kernel, folder / f"dev-{member}", member) else None,
        )
        for member, slot in md.slots.items()
        if slot.isdecimal()
    ]
    return ArrayNow(
        kernel_name=name,
        number=kernel.attribute(name, "dev"),
        name=facts.get("MD_NAME", ""),
        uuid=facts.get("MD_UUID", "") or read_text(folder / "uuid"),
        md=md,
        slots=tuple(sorted(slots, key=lambda one: (one.slot, one.kernel_name))),
    )


def _is_here(kernel: Kernel, folder: Path, member: str) -> bool:
    """Whether the member's device is the one that now has its kernel name: a disk that was
    pulled out may leave its name to another one.
    """
    block, here = folder / "block", kernel.sys_root / "block" / member
    if not block.is_symlink():
        return here.exists()
    return block.exists() and block.resolve() == here.resolve()


def _node(kernel: Kernel, link: Path) -> str:
    """``major:minor`` of what the link leads to; the kernel's name of it where that is no
    device node (a recorded tree).
    """
    number = kernel.device_number(str(link))
    if number or not link.exists():
        return number
    return kernel.attribute(link.resolve().name, "dev")


def _answers(
    volumes: tuple[BootVolume, ...], kernel: Kernel, notes: list[str]
) -> tuple[dict[str, Answer], tuple[tuple[str, str], ...]]:
    """How the volumes' filesystems answer, and what cannot be judged if they were not asked."""
    on_top = {mount.mountpoint for mount in kernel.mounts()}
    mounts = [one.mount for one in volumes if one.mount in on_top]
    try:
        found = child.each(mounts, _ask, timeout_seconds=_ANSWER_SECONDS)
    except child.NotAsked as error:
        notes.append(f"the filesystems were not checked: {error}")
        return {}, (("FS-FAILED", ""), ("FS-GEOMETRY", ""))
    return {mount: Answer(*found.get(mount, ())) for mount in mounts}, ()


def _ask(mount: str) -> tuple[int | None, int | None]:
    """(size in bytes, ``None``), or (``None``, errno): XFS says EIO after it has shut down."""
    try:
        os.stat(mount)  # noqa: PTH116
        usage = os.statvfs(mount)
    except OSError as error:
        return None, error.errno
    return usage.f_blocks * usage.f_frsize, None


def _surroundings(
    sources: Sources, then: Observation, disks: tuple[Disk, ...], machine: Machine
) -> dict[str, str]:
    here = {
        kernel_name(disk.path): member.name
        for volume in then.volumes
        for member in volume.members
        for disk in disks
        if is_same(member, disk)
    }
    return {
        names.KERNEL: machine.kernel,
        names.FIO: settings.fio_version(ask=False),
        names.MACHINE_TYPE: machine.machine_type,
        **settings.of_disks(sources.kernel, here),
        **settings.of_processors(sources.kernel, sources.cpu_latency),
    }


def _health_kept(then: Observation, seen: Seen | None) -> dict[str, str]:
    """What later boots compare disks' health with: the errors at this boot's first look."""
    if seen is None:
        return {}
    names_by_id = {one.id: one.name for volume in then.volumes for one in volume.members}
    return {
        f"{names.MEDIA_ERRORS}{names_by_id[one]}": str(health.first_media_errors)
        for one, health in seen.health.items()
        if health is not None and one in names_by_id
    }
