"""What has been built of the disks: md arrays, LVM groups, RAID controllers. Reads only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.errors import OperatorError
from appliance.model.disks import (
    Array,
    Disk,
    Filesystem,
    HardwareDrive,
    LogicalVolume,
    LvmMember,
    MarkState,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.storage.formats import hwraid, lvm, md
from appliance.storage.formats.filesystem import is_one
from appliance.storage.probe import blockdev
from appliance.storage.probe.mounted import brought_up_to_date
from appliance.system import process
from appliance.system.kernel import Kernel, Mount

_REPORT_TIMEOUT_SECONDS = 60
# device-mapper's name of an LVM volume: group and volume, dashes inside of them doubled.
_MAPPED = re.compile(r"LVM volume '((?:[^-]|--)+)-((?:[^-]|--)+)'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Controllers:
    """RAID controllers: the drives behind them, and what they made of those."""

    drives: tuple[HardwareDrive, ...] = ()
    virtual_drives: tuple[VirtualDrive, ...] = ()

    def has_our_name(self, disk: Disk) -> bool:
        """Whether ``disk`` is a virtual drive that carries a volume of ours."""
        return any(
            hwraid.is_disk_of(one, disk)
            for one in self.virtual_drives
            if hwraid.volume_of(one.name)
        )


# ------------------------------------------------------------------------------------- md


def read_array(
    kernel: Kernel,
    name: str,
    disks: Mapping[str, Disk],
    facts: Mapping[str, str],
    mounted: Mapping[str, list[Mount]],
    *,
    privileged: bool,
) -> Array:
    """The md array ``name`` from sysfs; as root, and if it is ours, with what it holds."""
    node = str(kernel.dev_root / name)
    raid = kernel.md(name)
    slots = raid.slots
    members = sorted(slots, key=lambda one: (not slots[one].isdecimal(), slots[one].zfill(6), one))
    known = [disks[one].md_member for one in members if one in disks and disks[one].md_member]
    first = known[0] if known else None
    mounts = mounted.get(kernel.attribute(name, "dev"), [])
    array = Array(
        path=node,
        name=first.array_name if first else facts.get("MD_NAME", ""),
        uuid=first.array_uuid if first else facts.get("MD_UUID", ""),
        level=raid.level,
        chunk_bytes=raid.chunk_bytes,
        member_count=raid.raid_disks,
        members=tuple(disks[one].id if one in disks else one for one in members),
        state=raid.state,
        size_bytes=kernel.size_bytes(name),
        filesystem=_udev_filesystem(facts),
        mountpoint=mounts[0].mountpoint if mounts else "",
        mount_options=mounts[0].options if mounts else "",
        layout=md.layout_name(raid.layout) if raid.level == "raid10" else "",
        degraded=raid.degraded,
        sync_action=raid.sync_action,
        member_bytes=raid.component_bytes,
    )
    if not privileged or array.size_bytes == 0 or not md.volume_of(array.name):
        return array
    found, blank = _contents(node, array.size_bytes, mounts)
    return array if blank is None else replace(array, filesystem=found, blank=blank)


def _udev_filesystem(facts: Mapping[str, str]) -> Filesystem | None:
    kind = facts.get("ID_FS_TYPE", "")
    if not kind:
        return None
    return Filesystem(
        kind=kind, label=facts.get("ID_FS_LABEL", ""), uuid=facts.get("ID_FS_UUID", "")
    )


# ------------------------------------------------------------------------------------ LVM


def is_labelled(disk: Disk) -> bool:
    """Whether ``disk`` is said to hold a part of a group."""
    return any(one.kind == lvm.SIGNATURE for one in disk.signatures)


def report_of(
    labelled: Sequence[Disk], *, timeout_seconds: float = _REPORT_TIMEOUT_SECONDS
) -> lvm.Report:
    """What LVM says of these disks, by their ids; :class:`OperatorError` without an answer."""
    ids = {path: disk.id for disk in labelled for path in (disk.path, disk.stable_path) if path}
    # A missing member makes it exit with 5 after a whole report.
    argv = lvm.report_argv([disk.path for disk in labelled])
    found = lvm.parse_report(_run(argv, timeout_seconds).stdout)
    return replace(found, groups=tuple(lvm.with_ids(group, ids) for group in found.groups))


def read_groups(
    kernel: Kernel, disks: Sequence[Disk], mounted: Mapping[str, list[Mount]]
) -> lvm.Report:
    """The groups on those of ``disks`` that were read and hold an LVM label.

    No program is started if there is none. Without LVM's tools, or if they do not answer,
    nothing is known of the labels, and the disks are foreign.
    """
    labelled = [disk for disk in disks if disk.blank is not None and is_labelled(disk)]
    if not labelled:
        return lvm.Report()
    try:
        report = report_of(labelled)
    except OperatorError:
        return lvm.Report()
    by_id = {disk.id: disk for disk in labelled}
    paths = {path: disk.path for disk in labelled for path in (disk.path, disk.stable_path)}
    mapped = {kernel.holder_note(name): name for name in kernel.mapped()}
    return lvm.Report(
        groups=tuple(
            replace(
                group,
                volumes=tuple(
                    _read_volume(kernel, group, one, mapped, mounted, disks=by_id)
                    for one in group.volumes
                ),
            )
            for group in report.groups
        ),
        members={paths.get(path, path): member for path, member in report.members.items()},
    )


def _read_volume(
    kernel: Kernel,
    group: VolumeGroup,
    volume: LogicalVolume,
    mapped: Mapping[str, str],
    mounted: Mapping[str, list[Mount]],
    *,
    disks: Mapping[str, Disk],
) -> LogicalVolume:
    name = mapped.get(lvm.mapped_note(group.name, volume.name), "")
    if not name:
        return replace(volume, active=False, filesystem=_half_made(volume, disks))
    mounts = mounted.get(kernel.attribute(name, "dev"), [])
    found = replace(
        volume,
        mountpoint=mounts[0].mountpoint if mounts else "",
        mount_options=mounts[0].options if mounts else "",
    )
    if not lvm.volume_of(group.name, group.tags):
        return found
    held, blank = _contents(str(kernel.dev_root / name), kernel.size_bytes(name), mounts)
    return replace(found, filesystem=held, blank=blank)


def _half_made(volume: LogicalVolume, disks: Mapping[str, Disk]) -> Filesystem | None:
    """What a volume begins with that is asleep and was being made, through its first disk.

    Whether its making has ended decides what is done to it. Any other one is looked at when it
    is awake.
    """
    first = next((disks.get(segment[0]) for segment in volume.segments[:1] if segment), None)
    if first is None or first.mark is None or first.mark.state is not MarkState.MAKING:
        return None
    try:
        (start,) = blockdev.data_starts(first.path)
        return blockdev.read_filesystem(first.path, start + (volume.start_bytes or 0))
    except (OSError, ValueError, ArithmeticError):
        # Unknown, so it must not be taken for nothing.
        return Filesystem(kind="unreadable", label="", uuid="")


def member_by_holders(
    signatures: Collection[Signature], notes: Collection[str]
) -> LvmMember | None:
    """What device-mapper tells of the group that an active physical volume is in.

    That is all there is without root; as root LVM's own report takes its place.
    """
    label = next((one for one in signatures if one.kind == lvm.SIGNATURE), None)
    found = [_MAPPED.fullmatch(note) for note in notes]
    groups = {one.group(1).replace("--", "-") for one in found if one}
    if label is None or len(groups) != 1:
        return None
    return LvmMember(pv_uuid=label.uuid, group=groups.pop())


# ----------------------------------------------------------------------- RAID controllers


def controllers() -> Controllers:
    """What ``storcli64`` says, where it is installed; nothing if it does not answer."""
    if process.find_program(hwraid.PROGRAM) is None:
        return Controllers()
    try:
        drives = _run(hwraid.drives_argv())
        virtual = _run(hwraid.virtual_drives_argv())
        return Controllers(
            drives=hwraid.parse_drives(drives.stdout, drives.returncode),
            virtual_drives=hwraid.parse_virtual_drives(virtual.stdout, virtual.returncode),
        )
    except OperatorError:
        return Controllers()


def _run(
    argv: Sequence[str], timeout_seconds: float = _REPORT_TIMEOUT_SECONDS
) -> process.Completed:
    # The parsers of what a tool reports judge its exit status, too.
    return process.run(argv, timeout_seconds=timeout_seconds, check=False)


# --------------------------------------------------------------------------------- common


def _contents(
    node: str, size_bytes: int, mounts: Sequence[Mount]
) -> tuple[Filesystem | None, bool | None]:
    """(filesystem, blank) of what was built; ``blank`` is ``None`` if it cannot be read.

    What is mounted from it is what the kernel has found there: no prober is asked, as long as
    the superblock says the same.
    """
    try:
        own = blockdev.read_filesystem(node) if mounts else None
        if own is not None and all(mount.fstype == own.kind for mount in mounts):
            return brought_up_to_date(own, mounts[0].mountpoint), False
        (found,) = blockdev.read_contents([blockdev.Device(node, size_bytes)])
        if isinstance(found, Exception):
            return None, None
        return filesystem(node, found.signatures), found.blank
    except (OSError, OperatorError, ValueError, LookupError, TypeError):
        return None, None


def filesystem(node: str, signatures: Collection[Signature]) -> Filesystem | None:
    """The filesystem that ``node`` holds by itself, as far as it is known to the probers."""
    kinds = {found.kind for found in signatures}
    if is_one(kinds):
        return blockdev.read_filesystem(node)
    for found in signatures:
        if found.kind not in {md.SIGNATURE, lvm.SIGNATURE}:
            return Filesystem(kind=found.kind, label=found.label, uuid=found.uuid)
    return None
