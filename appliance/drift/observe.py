"""One look at the machine: sysfs, mountinfo, udev's database and what root has left in /run.

It takes no privilege, opens no block device, writes nothing, and touches a volume only to ask
the mounted filesystem how large it is. That can hang, so it is asked in a process of its own.
A file that is missing, or says nonsense, is a note, never an error.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.drift.observation import (
    ROOT_CODES,
    Answer,
    ArrayNow,
    Observation,
    Seen,
    SlotNow,
    Then,
    is_same,
    kernel_name,
    read_then,
)
from appliance.errors import OperatorError
from appliance.model import surroundings as names
from appliance.model.disks import Disk, Machine
from appliance.model.plans import Layout
from appliance.state import boot_state, codec
from appliance.state.boot_state import BootState, BootVolume
from appliance.storage.formats import lvm
from appliance.storage.policy import identity
from appliance.storage.policy.layout import load_layout
from appliance.storage.probe import settings
from appliance.storage.probe.devices import Probe
from appliance.system import child, files
from appliance.system.kernel import Kernel, read_text

# A filesystem that answers does it at once; one on a dead disk, never.
_ANSWER_SECONDS = 2.0
_MAX_FILE_BYTES = 16 * 1024 * 1024
# Root's unit looks every few minutes; after so long it does not any more.
STALE_SECONDS = 3600.0
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
            seen = _look(sources, state)
        except OSError as error:
            problem = str(error)
            continue
        # The arrays and mounts of now, beside the state of before a plan, are no drift.
        if boot_state.find(sources.state) == state:
            return seen
        problem = "the boot unit, or a plan, was at work meanwhile"
    note = f"nothing was judged: {problem}"
    return Observation("", time.time(), Layout(()), Machine(), blind=(("*", ""),), notes=(note,))


def _look(sources: Sources, state: BootState | None) -> Observation:
    kernel = sources.kernel
    boot_id = read_text(kernel.proc_root / "sys/kernel/random/boot_id").strip()
    at_work = state is not None and kernel.has_process(state.pid)
    then = read_then(state, boot_id, at_work=at_work)
    notes = list(then.notes)
    try:
        layout = load_layout(sources.layout)
    except OperatorError as error:
        layout = Layout((), source=str(sources.layout))
        notes.append(f"the layout was not compared: {error.message}")
    if not then.judged:
        return Observation(
            boot_id, time.time(), layout, Machine(), blind=(("*", ""),), notes=tuple(notes)
        )
    seen, blind = _root_look(sources, then, boot_id, notes)
    probe = Probe.of(kernel, lambda name: settings.udev_database(kernel, name), False, layout)
    answers, unasked = _answers(then.volumes, kernel, notes)
    disks = {name: disk for name in kernel.disks() if (disk := _disk(probe, name))}
    udev = {name: settings.udev_database(kernel, name) for name in kernel.arrays()}
    return Observation(
        boot_id=boot_id,
        at=time.time(),
        layout=layout,
        machine=probe.machine,
        volumes=then.volumes,
        disks=tuple(disks.values()),
        arrays=tuple(_array(kernel, name, facts, disks) for name, facts in udev.items()),
        numbers={disk.path: kernel.attribute(name, "dev") for name, disk in disks.items()},
        mapped=_mapped(kernel),
        mounts=kernel.mounts(),
        nodes={one.name: _node(kernel, sources.links / one.name) for one in then.volumes},
        answers=answers,
        groups_then=then.groups,
        built_then=then.built,
        built_now=settings.built(kernel, udev),
        seen=seen,
        surroundings_then=then.values,
        surroundings_now=_surroundings(sources, then, tuple(disks.values()), probe.machine),
        surroundings={**then.values, **_health_kept(then, seen)},
        blind=(*then.blind, *blind, *unasked),
        notes=tuple(notes),
    )


# ------------------------------------------------------------------------------ the files


def _json(path: Path) -> object:
    """What the file holds, or ``None``."""
    try:
        return json.loads(files.read_bounded(path, _MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return None


def _root_look(
    sources: Sources, then: Then, boot_id: str, notes: list[str]
) -> tuple[Seen | None, tuple[tuple[str, str], ...]]:
    """What root saw, and what cannot be judged for want of it."""
    seen = _seen(_json(sources.seen))
    if seen is not None and seen.boot_id != boot_id:
        seen = None
    # A look that lies ahead is of a clock that was put back since: of no known age.
    age_seconds = abs(time.time() - seen.at) if seen else 0.0
    if seen is not None and age_seconds <= STALE_SECONDS:
        return seen, tuple(_silent(then, seen))
    when = f"for {age_seconds / 3600:.0f} h" if seen else "in this boot"
    notes.append(
        f"no privileged scan {when}: disk health, LVM and RAID controllers were not judged;"
        " see 'systemctl status stripewright-look.service'"
    )
    return None, tuple((code, "") for code in ROOT_CODES)


def _seen(document: object) -> Seen | None:
    """seen.json; a disk or filesystem whose entry cannot be read did not answer."""
    if not isinstance(document, Mapping):
        return None
    readable = dict(document)
    for name in ("health", "filesystems"):
        entries = document.get(name)
        if isinstance(entries, Mapping):
            readable[name] = {
                key: one if _is_readable({name: {key: one}}) else None
                for key, one in entries.items()
            }
    try:
        return codec.decode(Seen, readable)
    except codec.DecodeError:
        return None


def _is_readable(document: Mapping[str, Any]) -> bool:
    try:
        codec.decode(Seen, document)
    except codec.DecodeError:
        return False
    return True


def _silent(then: Then, seen: Seen) -> Iterator[tuple[str, str]]:
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


# ----------------------------------------------------------------------------- the kernel


def _disk(probe: Probe, name: str) -> Disk | None:
    """The disk, unless the kernel has given it up."""
    disk = probe.disk(name)
    state = probe.kernel.attribute(name, "device/state").lower()
    # The kernel takes the size of an NVMe namespace away when its controller is dead.
    if not disk.size_bytes or state in _DEAD:
        return None
    return replace(disk, kind=identity.classify(disk, probe.layout.rules, probe.machine))


def _array(
    kernel: Kernel, name: str, facts: Mapping[str, str], disks: Mapping[str, Disk]
) -> ArrayNow:
    md = kernel.sys_root / "block" / name / "md"
    slots = []
    for folder in sorted(md.glob("dev-*")):
        slot, member = read_text(folder / "slot"), folder.name.removeprefix("dev-")
        if slot.isdecimal():
            disk = disks.get(member) if _is_here(kernel, folder, member) else None
            slots.append(SlotNow(int(slot), member, read_text(folder / "state"), disk))
    done, _, total = read_text(md / "sync_completed").partition(" / ")
    action = read_text(md / "sync_action")
    share = f" {int(done) * 100 // int(total)} %" if _is_share(done, total) else ""
    return ArrayNow(
        kernel_name=name,
        number=kernel.attribute(name, "dev"),
        name=facts.get("MD_NAME", ""),
        uuid=facts.get("MD_UUID", "") or read_text(md / "uuid"),
        level=read_text(md / "level"),
        chunk_bytes=_number(read_text(md / "chunk_size")),
        slot_count=_number(read_text(md / "raid_disks")),
        slots=tuple(sorted(slots, key=lambda one: one.slot)),
        state=read_text(md / "array_state"),
        degraded=_number(read_text(md / "degraded")),
        sync=f"{action}{share}" if action not in {"", "idle", "frozen"} else "",
    )


def _is_here(kernel: Kernel, folder: Path, member: str) -> bool:
    """Whether the member's device is the one that now has its kernel name: a disk that was
    pulled out may leave its name to another one.
    """
    block, here = folder / "block", kernel.sys_root / "block" / member
    if not block.is_symlink():
        return here.exists()
    return block.exists() and block.resolve() == here.resolve()


def _is_share(done: str, total: str) -> bool:
    return done.isdecimal() and total.isdecimal() and int(total) > 0


def _number(text: str) -> int:
    # "262144", but also "none" and, while an array is reshaped, "4 (3)".
    word = text.partition(" ")[0]
    return int(word) if word.isascii() and word.isdecimal() else 0


def _mapped(kernel: Kernel) -> dict[str, str]:
    names = sorted(folder.parent.name for folder in (kernel.sys_root / "block").glob("dm-*/dm"))
    return {kernel.holder_note(name): kernel.attribute(name, "dev") for name in names}


def _node(kernel: Kernel, link: Path) -> str:
    """``major:minor`` of what the link leads to; the kernel's name of it where that is no
    device node (a recorded tree).
    """
    number = kernel.device_number(str(link))
    if number or not link.exists():
        return number
    return kernel.attribute(link.resolve().name, "dev")


# ------------------------------------------------------------------------ the filesystems


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


# ------------------------------------------------------------------------ the surroundings


def _surroundings(
    sources: Sources, then: Then, disks: tuple[Disk, ...], machine: Machine
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


def _health_kept(then: Then, seen: Seen | None) -> dict[str, str]:
    """What later boots compare disks' health with: the errors at this boot's first look."""
    if seen is None:
        return {}
    known: dict[str, Any] = {m.id: m.name for volume in then.volumes for m in volume.members}
    return {
        f"{names.MEDIA_ERRORS}{known[one]}": str(health.first_media_errors)
        for one, health in seen.health.items()
        if health is not None and one in known
    }
