"""The probe: everything that is known about this machine's disks, without changing any.

As root each instance-storage disk is read: signatures by two probers, zero samples,
md superblock, exclusive use. Without root the udev database is all there is, and ``blank``
stays unknown. Disks of other kinds are never opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pyudev

from appliance.errors import OperatorError
from appliance.model import Array, Disk, DiskKind, Filesystem, Inventory, MdMember, Signature
from appliance.storage import blockdev, identity, md
from appliance.storage.kernel import Kernel
from appliance.system.machine import read_machine

Properties = Callable[[str], Mapping[str, str]]

_READERS = 4
_BY_ID = "/dev/disk/by-id/"
# Which of several links names a disk best: model and serial, then the cloud's, then the rest.
_LINK_RANK = ("nvme-", "google-", "azure-", "scsi-", "ata-", "virtio-", "wwn-")


def probe(
    *,
    volume_names: Collection[str] = identity.DEFAULT_VOLUME_NAMES,
    kernel: Kernel | None = None,
    properties: Properties | None = None,
    privileged: bool | None = None,
) -> Inventory:
    """Look at every disk. Never raises for a disk: one that cannot be read says so.

    ``volume_names`` are the volumes whose label makes a whole-disk filesystem ours.
    """
    seen = _Probe(
        kernel=kernel or Kernel(),
        properties=properties or udev_properties(),
        privileged=os.geteuid() == 0 if privileged is None else privileged,
    )
    described = {name: seen.disk(name) for name in seen.kernel.disks()}
    # Each read is two programs and a few seeks; machines have up to 24 such disks.
    with ThreadPoolExecutor(max_workers=_READERS) as pool:
        disks = dict(zip(described, pool.map(seen.read, described.values()), strict=True))
    arrays = tuple(seen.array(name, disks) for name in seen.kernel.arrays())
    return Inventory(
        machine=read_machine(sys_root=seen.kernel.sys_root, proc_root=seen.kernel.proc_root),
        disks=tuple(identity.identify(disk, arrays, volume_names) for disk in disks.values()),
        arrays=arrays,
        privileged=seen.privileged,
    )


def look_again(disk: Disk, kernel: Kernel, *, properties: Properties | None = None) -> str:
    """What is no longer as ``disk`` was seen, or an empty string: the last look before a write.

    Held by nobody, still the same disk, and still blank or a member of the same array.
    ``disk.path`` is read again in full, and opened exclusively.
    """
    seen = _Probe(kernel=kernel, properties=properties or udev_properties(), privileged=True)
    now = seen.read(seen.disk(Path(disk.path).name))
    if (now.id, now.serial, now.size_bytes) != (disk.id, disk.serial, disk.size_bytes):
        return f"is now another disk ({now.id})"
    if now.stable_path != disk.stable_path:
        return f"is no longer what {disk.stable_path or 'its link'} leads to"
    if now.busy or now.mountpoints or now.holders or now.partitions or now.swap:
        return "is now in use"
    if disk.md_member is None:
        return "" if now.blank else "is no longer blank"
    identity_then = (disk.md_member.array_uuid, disk.md_member.member_uuid, disk.md_member.slot)
    found = now.md_member
    if found is None or (found.array_uuid, found.member_uuid, found.slot) != identity_then:
        return "no longer has the superblock that it had"
    if {one.kind for one in now.signatures} - {one.kind for one in disk.signatures}:
        return "has a signature that it had not"
    return ""


def udev_properties() -> Properties:
    """The udev database of this machine, by kernel name."""
    context = pyudev.Context()

    def lookup(name: str) -> Mapping[str, str]:
        try:
            return dict(pyudev.Devices.from_name(context, "block", name).properties)
        except pyudev.DeviceNotFoundError:
            return {}

    return lookup


def best_link(links: Collection[str]) -> str:
    """The ``/dev/disk/by-id`` link that says most, empty if there is none.

    Links by EUI or NQN alone (``nvme-eui.…``, ``nvme-nvme.…``) say nothing to a person.
    """
    names = [link.removeprefix(_BY_ID) for link in links if link.startswith(_BY_ID)]

    def rank(name: str) -> tuple[int, int, str]:
        opaque = name.startswith(("nvme-eui.", "nvme-nvme.", "nvme-uuid."))
        place = next((at for at, p in enumerate(_LINK_RANK) if name.startswith(p)), 99)
        return (98 if opaque else place, len(name), name)

    return _BY_ID + min(names, key=rank) if names else ""


@dataclass(frozen=True, slots=True)
class _Probe:
    kernel: Kernel
    properties: Properties
    privileged: bool

    def disk(self, name: str) -> Disk:
        kernel, facts = self.kernel, self.properties(name)
        node = str(kernel.dev_root / name)
        transport = kernel.transport(name)
        link = best_link(facts.get("DEVLINKS", "").split())
        model = kernel.attribute(name, "device/model").rstrip(" ")
        serial = kernel.attribute(name, "device/serial").strip(" ")
        serial = serial or facts.get("ID_SCSI_SERIAL") or facts.get("ID_SERIAL_SHORT", "")
        return Disk(
            path=node,
            id=link.removeprefix(_BY_ID)
            or kernel.attribute(name, "wwid")
            or kernel.attribute(name, "device/wwid")
            or (f"{model}_{serial}" if serial else name),
            model=model,
            serial=serial,
            size_bytes=kernel.size_bytes(name),
            # NVMe and virtio have a PCI vendor number there, which is no name.
            vendor=kernel.attribute(name, "device/vendor").rstrip(" ")
            if transport == "scsi"
            else "",
            transport=transport,
            signatures=_udev_signatures(facts),
            partitions=kernel.partitions(name),
            holders=kernel.holders(name),
            mountpoints=kernel.direct_mounts(name),
            swap=name in kernel.swap_disks(),
            read_only=kernel.attribute(name, "ro") == "1",
            holds_root=name in kernel.root_disks(),
            stable_path=link if self._leads_to(link, name) else "",
        )

    def _leads_to(self, link: str, name: str) -> bool:
        """Whether the link is there and leads to this disk: udev's database may be behind it."""
        dev = self.kernel.dev_root
        there = (dev / link.removeprefix("/dev/")).resolve()
        return bool(link) and there == (dev / name).resolve()

    def read(self, disk: Disk) -> Disk:
        """``disk`` with what only root can see, if it is one that could be used."""
        if not self.privileged or identity.classify(disk) is not DiskKind.INSTANCE_STORE:
            return disk
        try:
            return _read(disk)
        except (OSError, OperatorError, ValueError):
            return replace(disk, signatures=(*disk.signatures, identity.UNREADABLE))

    def array(self, name: str, disks: Mapping[str, Disk]) -> Array:
        kernel, facts = self.kernel, self.properties(name)
        node = str(kernel.dev_root / name)
        folder = kernel.sys_root / "block" / name / "md"
        slots = {
            found.name.removeprefix("dev-"): kernel.attribute(name, f"md/{found.name}/slot")
            for found in folder.glob("dev-*")
        }
        members = sorted(
            slots, key=lambda one: (not slots[one].isdecimal(), slots[one].zfill(6), one)
        )
        known = [disks[one].md_member for one in members if one in disks and disks[one].md_member]
        first = known[0] if known else None
        chunk = kernel.attribute(name, "md/chunk_size")
        count = kernel.attribute(name, "md/raid_disks")
        mounts = [m for m in kernel.mounts() if m.device == kernel.attribute(name, "dev")]
        array = Array(
            path=node,
            name=first.array_name if first else facts.get("MD_NAME", ""),
            uuid=first.array_uuid if first else facts.get("MD_UUID", ""),
            level=kernel.attribute(name, "md/level"),
            chunk_bytes=int(chunk) if chunk.isdecimal() else 0,
            member_count=int(count) if count.isdecimal() else 0,
            members=tuple(disks[one].id if one in disks else one for one in members),
            state=kernel.attribute(name, "md/array_state"),
            size_bytes=kernel.size_bytes(name),
            filesystem=_udev_filesystem(facts),
            mountpoint=mounts[0].mountpoint if mounts else "",
            mount_options=mounts[0].options if mounts else "",
        )
        if not self.privileged or array.size_bytes == 0 or not md.volume_of(array.name):
            return array
        try:
            contents = blockdev.read_contents(node, array.size_bytes)
            return replace(
                array, filesystem=_filesystem(node, contents.signatures), blank=contents.blank
            )
        except (OSError, OperatorError, ValueError):
            return array


def _read(disk: Disk) -> Disk:
    contents = blockdev.read_contents(disk.path, disk.size_bytes)
    member = None
    if any(found.kind == "linux_raid_member" for found in contents.signatures):
        member = _member(disk)
    return replace(
        disk,
        signatures=contents.signatures,
        busy=blockdev.is_busy(disk.path),
        blank=contents.blank,
        nonzero_offset_bytes=contents.nonzero_offset_bytes,
        md_member=member,
        filesystem=_filesystem(disk.path, contents.signatures),
    )


def _member(disk: Disk) -> MdMember | None:
    member = md.parse_superblock(blockdev.read_md_superblock(disk.path))
    if member is None or member.data_offset_bytes is None or not md.volume_of(member.array_name):
        return member
    start = member.data_offset_bytes
    nonzero = blockdev.first_nonzero(disk.path, disk.size_bytes, start_bytes=start)
    return replace(
        member,
        data_zero=nonzero is None,
        filesystem=blockdev.read_xfs(disk.path, start) if member.slot == 0 else None,
    )


def _filesystem(node: str, signatures: Collection[Signature]) -> Filesystem | None:
    if {found.kind for found in signatures} == {"xfs"}:
        return blockdev.read_xfs(node)
    for found in signatures:
        if found.kind != "linux_raid_member":
            return Filesystem(kind=found.kind, label=found.label, uuid=found.uuid)
    return None


def _udev_filesystem(facts: Mapping[str, str]) -> Filesystem | None:
    kind = facts.get("ID_FS_TYPE", "")
    if not kind:
        return None
    return Filesystem(
        kind=kind, label=facts.get("ID_FS_LABEL", ""), uuid=facts.get("ID_FS_UUID", "")
    )


def _udev_signatures(facts: Mapping[str, str]) -> tuple[Signature, ...]:
    return blockdev.parse_blkid("\n".join(f"{key}={value}" for key, value in facts.items()))
