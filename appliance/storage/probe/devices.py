"""The probe: everything that is known about this machine's disks, without changing any.

As root each disk that could be used is read: signatures, zero samples, marks, superblocks,
exclusive use. That is instance storage, and those network volumes that the layout
names. Without root the udev database is all there is, and ``blank`` stays unknown. Disks of
other kinds are never opened, but for the one command that asks a provider's NVMe disk its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from appliance import paths
from appliance.clouds.machine import read_machine
from appliance.clouds.provider import Attached, provider
from appliance.data import DiskRule, disk_rule
from appliance.model.disks import ARRAY_RUNS, Disk, Inventory, Machine, MdMember
from appliance.model.plans import Layout
from appliance.storage.formats import lvm, md, serials
from appliance.storage.policy import exclusions, identity
from appliance.storage.policy.layout import DEFAULT_LAYOUT
from appliance.storage.probe import (
    blockdev,
    built,
    claims,
    halfmade,
    nvme,
    probers,
    scanning,
    sightings,
)
from appliance.storage.probe.claims import User
from appliance.storage.probe.mounted import brought_up_to_date
from appliance.system.kernel import Kernel, Mount

_BY_ID = "/dev/disk/by-id/"
# Which of several links names a disk best: model and serial, then the cloud's, then the rest.
_LINK_RANK = ("nvme-", "google-", "azure-", "scsi-", "ata-", "virtio-", "wwn-")


def probe(
    *,
    layout: Layout | None = None,
    kernel: Kernel | None = None,
    privileged: bool | None = None,
    to_confirm: bool = False,
    note: bool = False,
) -> Inventory:
    """Look at every disk. Never raises for a disk: one that cannot be read says so.

    ``layout`` gives the volumes whose label makes a whole-disk filesystem ours, the rules, and
    the network volumes that may be looked at; without one, the built-in default. ``to_confirm``:
    for a plan that is confirmed later, so that contents have to be told apart. ``note``: remember
    the disks, so that a later boot knows them.
    """
    kernel = kernel or Kernel()
    privileged = os.geteuid() == 0 if privileged is None else privileged
    seen = Probe.of(kernel, privileged, layout or DEFAULT_LAYOUT)
    hardware = built.controllers() if seen.privileged else built.Controllers()
    names = list(seen.kernel.disks())
    plugged = [seen.disk(name) for name in names]
    if note:
        # Before they are read: what is written from now on is noticed.
        _note_sightings(plugged, seen)
    disks = dict(zip(names, seen.read(plugged, hardware), strict=True))
    arrays = tuple(
        built.read_array(
            kernel, name, disks, kernel.udev(name), seen.mounted, privileged=seen.privileged
        )
        for name in kernel.arrays()
    )
    groups = lvm.Report()
    if seen.privileged:
        groups = built.read_groups(seen.kernel, list(disks.values()), seen.mounted)
    found = [
        replace(
            disk,
            lvm_member=groups.members.get(disk.path, disk.lvm_member),
            claimed_by=seen.claimed_by(name, disk),
        )
        for name, disk in disks.items()
    ]
    if seen.privileged:
        found = halfmade.look(found, arrays, groups.groups, seen.layout, seen.kernel)
    if to_confirm:
        found = [_with_contents(disk, seen.kernel) for disk in found]
    return Inventory(
        machine=seen.machine,
        disks=identity.identify_all(found, arrays, groups.groups, seen.layout, seen.machine),
        arrays=arrays,
        privileged=seen.privileged,
        groups=groups.groups,
        hardware_drives=hardware.drives,
        virtual_drives=hardware.virtual_drives,
    )


def _note_sightings(disks: Sequence[Disk], seen: Probe) -> None:
    """Of whatever kind: another layout may call a disk a local one."""
    writes = [(disk, seen.kernel.writes(Path(disk.path).name)) for disk in disks]
    seen.sightings.note(
        _sightings_file(seen.kernel),
        seen.machine,
        [(disk, written) for disk, written in writes if not disk.holds_root],
    )


def _sightings_file(kernel: Kernel) -> Path:
    return kernel.root / paths.SIGHTINGS_FILE.relative_to("/")


def best_link(links: Collection[str]) -> str:
    """The ``/dev/disk/by-id`` link that says most, empty if there is none.

    Links by EUI or NQN alone (``nvme-eui.…``, ``nvme-nvme.…``) say nothing to a person.
    """
    names = [link.removeprefix(_BY_ID) for link in links if link.startswith(_BY_ID)]

    def rank(name: str) -> tuple[int, int, str]:
        place = next((at for at, p in enumerate(_LINK_RANK) if name.startswith(p)), 99)
        return (98 if _is_opaque(name) else place, len(name), name)

    return _BY_ID + min(names, key=rank) if names else ""


def _is_opaque(name: str) -> bool:
    return name.startswith(("nvme-eui.", "nvme-nvme.", "nvme-uuid."))


def _own_links(links: Collection[str], namespace: str) -> list[str]:
    """``links`` without those that all namespaces of one controller claim for themselves."""
    names = [(link, link.removeprefix(_BY_ID)) for link in links]
    return [
        link
        for link, name in names
        if not name.startswith("nvme-") or _is_opaque(name) or name.endswith(f"_{namespace}")
    ]


@dataclass(frozen=True, slots=True)
class Probe:
    """One look: what is the same for every disk, and how each of them is read."""

    kernel: Kernel
    privileged: bool
    layout: Layout
    machine: Machine
    mounted: dict[str, list[Mount]]
    root_disks: frozenset[str]
    swap_disks: frozenset[str]
    claims: tuple[claims.Claim, ...]
    sightings: sightings.Sightings
    users: Callable[[], Mapping[str, tuple[User, ...]]]

    @classmethod
    def of(cls, kernel: Kernel, privileged: bool, layout: Layout) -> Probe:
        """What is the same for every disk, read once."""
        machine = read_machine(
            sys_root=kernel.sys_root, proc_root=kernel.proc_root, root=kernel.root
        )
        return cls(
            kernel=kernel,
            privileged=privileged,
            layout=layout,
            machine=machine,
            mounted=kernel.mounted(),
            root_disks=frozenset(kernel.root_disks()),
            swap_disks=frozenset(kernel.swap_disks()),
            claims=claims.read_claims(kernel.root),
            sightings=sightings.read(_sightings_file(kernel), machine),
            # Asked only if a disk seems free: there may be thousands of processes.
            users=cache(lambda: claims.users(kernel) if privileged else {}),
        )

    def disk(self, name: str) -> Disk:
        kernel, facts = self.kernel, self.kernel.udev(name)
        transport = kernel.transport(name)
        model = kernel.attribute(name, "device/model").rstrip(" ")
        # NVMe and virtio have a PCI vendor number there, which is no name.
        vendor = kernel.attribute(name, "device/vendor").rstrip(" ") if transport == "scsi" else ""
        serial = serials.unpadded(kernel.attribute(name, "device/serial"))
        serial = serial or facts.get("ID_SCSI_SERIAL") or facts.get("ID_SERIAL_SHORT", "")
        links = facts.get("DEVLINKS", "").split()
        rule = disk_rule(transport=transport, vendor=vendor, model=model)
        namespace = kernel.attribute(name, "nsid")
        if rule and rule.shared_serial and serial and namespace:
            serial, links = f"{serial}-n{namespace}", _own_links(links, namespace)
        link = best_link(links)
        mounts = kernel.direct_mounts(name, self.mounted)
        holders = kernel.holders(name)
        notes = tuple(kernel.holder_note(holder) for holder in holders)
        if not holders and not mounts:
            # A disk that is in use as it should be is opened by many a tool.
            found = self.users().get(name, ())
            holders = tuple(user for user, _ in found)
            notes = tuple(note for _, note in found)
        signatures = probers.parse_blkid("\n".join(f"{key}={facts[key]}" for key in facts))
        disk = Disk(
            path=str(kernel.dev_root / name),
            id=link.removeprefix(_BY_ID)
            or kernel.attribute(name, "wwid")
            or kernel.attribute(name, "device/wwid")
            or (f"{model}_{serial}" if serial else name),
            model=model,
            serial=serial,
            size_bytes=kernel.size_bytes(name),
            vendor=vendor,
            transport=transport,
            signatures=signatures,
            partitions=kernel.partitions(name),
            holders=holders,
            holder_notes=notes,
            mountpoints=tuple(mount.mountpoint for mount in mounts),
            mount_options=mounts[0].options if mounts else "",
            swap=name in self.swap_disks,
            read_only=kernel.attribute(name, "ro") == "1",
            holds_root=name in self.root_disks,
            stable_path=link if self._leads_to(link, name) else "",
            lvm_member=built.member_by_holders(signatures, notes),
            cloud_name=self._cloud_name(name, rule, facts),
            wwid=kernel.wwid(name),
            slot=facts.get("ID_PATH", ""),
        )
        return replace(disk, seen_before=self.sightings.seen_before(disk, kernel.writes(name)))

    def _cloud_name(self, name: str, rule: DiskRule | None, facts: Mapping[str, str]) -> str:
        """What the provider calls the disk (:attr:`Provider.disk_name`)."""
        kernel = self.kernel
        if kernel.transport(name) == "xen":
            return name
        cloud = provider(rule.provider) if rule else None
        if rule is None or cloud is None:
            return ""
        namespace = kernel.attribute(name, "nsid")
        number = int(namespace) if namespace.isdecimal() else 0
        node = str(kernel.dev_root / name)
        asked = rule.named and self.privileged and number > 0
        return cloud.disk_name(
            Attached(
                rule=rule,
                namespace=number,
                short_serial=facts.get("ID_SERIAL_SHORT", ""),
                controller_page=lambda: nvme.controller_page(node) if asked else b"",
                namespace_page=lambda: nvme.namespace_page(node, number) if asked else b"",
                address=lambda: kernel.scsi_address(name),
            )
        )

    def _leads_to(self, link: str, name: str) -> bool:
        """Whether the link is there and leads to this disk: udev's database may be behind it."""
        dev = self.kernel.dev_root
        there = (dev / link.removeprefix("/dev/")).resolve()
        return bool(link) and there == (dev / name).resolve()

    def read(self, disks: Sequence[Disk], hardware: built.Controllers) -> list[Disk]:
        """``disks`` with what only root can see of those that could be used, or are a virtual
        drive of ours.
        """
        wanted = [
            disk
            for disk in disks
            if self.privileged
            and (
                identity.may_be_read(disk, self.layout, self.machine) or hardware.has_our_name(disk)
            )
        ]
        running = {disk.path: read for disk in wanted if (read := self._running(disk))}
        rest = [disk for disk in wanted if disk.path not in running]
        seen = running | {disk.path: disk for disk in try_read(rest, self.scan)}
        return [seen.get(disk.path, disk) for disk in disks]

    def _running(self, disk: Disk) -> Disk | None:
        """A member of an array of ours that runs, by its superblock alone: md has it open and
        says itself that it is a member, so no prober needs to be asked what it is.
        """
        name = disk.path.rpartition("/")[2]
        arrays = [
            holder
            for holder in disk.holders
            if self.kernel.attribute(holder, "md/array_state") in ARRAY_RUNS
            and self.kernel.attribute(holder, f"md/dev-{name}/slot").isdecimal()
        ]
        if len(arrays) != 1 or len(disk.holders) != 1 or disk.partitions:
            return None
        try:
            member = _member(disk)
            found = blockdev.read_marks(disk.path, disk.size_bytes, disk.serial)
        except (OSError, ArithmeticError):
            return None
        if member is None or not md.volume_of(member.array_name):
            return None
        return replace(
            disk,
            signatures=(md.signature(member),),
            busy=True,
            blank=False,
            nonzero_offset_bytes=md.SUPERBLOCK_OFFSET_BYTES,
            mark=found[0] if found else None,
            md_member=member,
        )

    def scan(
        self, disk: Disk, skip: Collection[int], *, elsewhere: bool = False
    ) -> scanning.Scanned:
        """Read ``disk`` for as long as the layout says, unless that was done before; ``elsewhere``:
        at other places than before.
        """
        folder = self.kernel.root / paths.SCANS_DIR.relative_to("/")
        writes = self.kernel.writes(Path(disk.path).name)
        known = sightings.recall(folder, disk, writes)
        in_full = identity.persists(disk, self.layout, self.machine)
        if known is not None and known.nonzero is None and known.scan.unseen_bytes:
            # Samples are no beginning of reading in full, nor is a beginning a set of samples.
            known = None if in_full is bool(known.scan.samples) else known
        ended = known is not None and (
            known.nonzero is not None or not in_full or not known.scan.unseen_bytes
        )
        if known is not None and ended and not elsewhere:
            return known
        found = scanning.scan_device(
            disk.path,
            disk.size_bytes,
            seconds=self.layout.scan_seconds,
            skip=skip,
            in_full=in_full and not ended,
            begin_bytes=0 if known is None else known.scan.read_bytes,
        )
        if in_full and ended and known is not None and found.nonzero is None:
            return known
        sightings.remember(folder, disk, writes, found)
        return found

    def claimed_by(self, name: str, disk: Disk) -> str:
        return claims.claimed_by(
            disk,
            self.claims,
            layout=self.layout,
            dev_root=self.kernel.dev_root,
            links=self.kernel.udev(name).get("DEVLINKS", "").split(),
            ephemeral=name in self.machine.ephemeral_names,
        )


def contents_digest(disk: Disk, kernel: Kernel) -> str:
    """:attr:`Disk.contents_digest` as it is now. Raises :class:`OSError`."""
    name = Path(disk.path).name
    return blockdev.contents_digest(disk.path, disk.size_bytes, lambda: kernel.writes(name))


def _with_contents(disk: Disk, kernel: Kernel) -> Disk:
    """``disk`` with what tells its contents from others; they change all the time if it is used."""
    in_use = disk.busy or disk.holders or disk.mountpoints or disk.swap
    if disk.blank is None or in_use or disk.read_only:
        return disk
    try:
        return replace(disk, contents_digest=contents_digest(disk, kernel))
    except OSError:
        return replace(disk, signatures=(*disk.signatures, exclusions.UNREADABLE))


def try_read(
    disks: Sequence[Disk],
    scan: Callable[[Disk, Collection[int]], scanning.Scanned] | None = None,
) -> list[Disk]:
    """``disks`` with what is on them; one that cannot be read says so. Without ``scan`` only the
    places of known formats are read.
    """
    wanted = [
        blockdev.Device(disk.path, disk.size_bytes, disk.serial, scan and partial(scan, disk))
        for disk in disks
    ]
    contents = blockdev.read_contents(wanted)
    return [
        replace(disk, signatures=(*disk.signatures, exclusions.UNREADABLE))
        if isinstance(read := _described(disk, found), Exception)
        else read
        for disk, found in zip(disks, contents, strict=True)
    ]


def _described(disk: Disk, found: blockdev.Contents | Exception) -> Disk | Exception:
    if isinstance(found, Exception):
        return found
    return probers.caught(lambda: _with(disk, found))


def _with(disk: Disk, contents: blockdev.Contents) -> Disk:
    member = None
    if any(found.kind == md.SIGNATURE for found in contents.signatures):
        member = _member(disk)
    scan = contents.scan
    unread = contents.blank and (scan is None or (scan.unseen_bytes and not scan.samples))
    return replace(
        disk,
        signatures=contents.signatures,
        busy=blockdev.is_busy(disk.path),
        blank=None if unread else contents.blank,
        scan=contents.scan,
        nonzero_offset_bytes=contents.nonzero_offset_bytes,
        mark=contents.mark,
        md_member=member,
        filesystem=brought_up_to_date(
            built.filesystem(disk.path, contents.signatures), next(iter(disk.mountpoints), "")
        ),
    )


def _member(disk: Disk) -> MdMember | None:
    member = md.parse_superblock(blockdev.read_md_superblock(disk.path))
    if member is None or member.data_offset_bytes is None or not md.volume_of(member.array_name):
        return member
    # In every layout that we build the array begins at the start of slot 0.
    if member.slot != 0:
        return member
    found = blockdev.read_filesystem(disk.path, member.data_offset_bytes)
    return replace(member, filesystem=found)
