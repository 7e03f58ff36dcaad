"""What the probe sees: disks, what they hold, and what the kernel has built of them.

Text that comes from a disk (model, serial, label) is hostile: it is carried as it is and
made harmless where it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from appliance import text

# md's array_state (Documentation/admin-guide/md.rst). RAID0 that has lost a member is "broken".
ARRAY_WRITABLE = frozenset({"clean", "active", "active-idle", "write-pending", "read-auto"})
ARRAY_RUNS = ARRAY_WRITABLE | {"readonly"}


class DiskKind(StrEnum):
    """What a disk is, by its exact model; never by its name or by elimination."""

    INSTANCE_STORE = "instance-store"
    NETWORK = "network"
    SYSTEM = "system"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Signature:
    """Something that a prober recognised on a disk.

    ``kind`` is blkid's name (``xfs``, ``linux_raid_member``, ``gpt`` …);
    ``offset_bytes`` is ``None`` where the source does not tell (the udev database).
    """

    kind: str
    offset_bytes: int | None = None
    label: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Filesystem:
    """A filesystem and its stripe geometry, in bytes (0: none set), as read back.

    ``unfinished``: its superblock says that mkfs has not ended, so it was never mounted.
    ``size_bytes`` is what it covers of its device, ``None`` where it was not read.
    """

    kind: str
    label: str
    uuid: str
    sunit_bytes: int | None = None
    swidth_bytes: int | None = None
    unfinished: bool = False
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MdMember:
    """What the md superblock of one member says.

    ``array_name`` is the whole name with its homehost part (``stripewright:scratch``);
    ``slot`` is the member's position in the array, ``None`` for a spare. ``layout`` is that
    of RAID10 as mdadm writes it (``near=2``), else empty. ``filesystem`` is what the array
    starts with, read through slot 0. ``events`` counts the superblock's updates: a member
    that was away has fewer. ``device_bytes`` is the data area as the superblock has it.
    ``recovering``: it was being rebuilt, so not all it holds is good; ``reshaping``: the array
    was on its way to another shape (``member_count`` is then the new one). ``active_slots``
    are those that took part when this superblock was last written (``None``: not read).
    ``used_bytes`` is how much of each member a RAID10 uses.
    """

    array_name: str
    array_uuid: str
    member_uuid: str
    level: str
    member_count: int
    chunk_bytes: int | None
    slot: int | None
    data_offset_bytes: int | None = None
    filesystem: Filesystem | None = None
    layout: str = ""
    events: int | None = None
    device_bytes: int | None = None
    recovering: bool = False
    reshaping: bool = False
    active_slots: tuple[int, ...] | None = None
    used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LvmMember:
    """What the LVM label of one physical volume says; ``group`` is empty for an orphan."""

    pv_uuid: str
    group: str = ""
    group_uuid: str = ""
    tags: tuple[str, ...] = ()


class MarkState(StrEnum):
    """``making``: nothing was stored yet. ``released``: a confirmed plan gave the disk up."""

    MAKING = "making"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Mark:
    """Our own note on a disk (:mod:`appliance.storage.formats.marks`), believed only on it.

    ``intact``, of a released disk: every sampled part reads as it did when it was released
    (``None``: not compared). Of a disk that was blank when the making began: nothing was found
    but what the making itself writes. ``offset_bytes`` is where the mark is. ``nonce`` is different
    for every mark that was ever written. ``filesystem_uuid``, of a disk that is being made: the
    UUID that the filesystem gets (32 digits), empty if there will be none or the mark is of an
    older version.
    """

    state: MarkState
    volume: str
    host_tag: str
    offset_bytes: int
    nonce: str = ""
    intact: bool | None = None
    filesystem_uuid: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """How much of a device was read and found to be zero (:mod:`appliance.storage.formats.scan`).

    ``unseen_bytes``: data that takes more room than this would have been seen with a probability
    of more than 0.9999; 0 if all of it was read. ``samples`` counts the random places, where it
    was not. ``read_bytes`` may count a byte twice.
    """

    read_bytes: int
    samples: int
    unseen_bytes: int

    def words(self, size_bytes: int) -> str:
        """What was read of a blank device of this size, and what could have been missed."""
        if not self.unseen_bytes:
            return "all of it read"
        share = 100 * self.read_bytes / size_bytes
        if not self.samples:
            return f"only the first {share:.1f} % read"
        return (
            f"{share:.1f} % read, {self.samples:,} samples: anything larger than"
            f" {text.size(self.unseen_bytes)} would have been seen with p > 0.9999"
        )


@dataclass(frozen=True, slots=True)
class Disk:
    """One whole disk as the probe saw it, and what identity made of it.

    ``id`` is stable across boots and kernel names (``nvme-MODEL_SERIAL`` or the wwid);
    ``blank`` is ``True`` only when no prober found a signature and all that was read was zero
    (a mark of ours apart; ``scan`` says how much it was), ``None`` when it could not be read (no
    root), or not in full where it has to be (:func:`appliance.storage.policy.identity.persists`).
    ``stable_path`` is a link that survives renaming (``/dev/disk/by-id/…``), empty where udev
    made none. ``cloud_name`` is what the provider calls it (EBS attachment ``sdf``, GCP device
    name), ``claimed_by`` what else is to use it (``/etc/fstab line 3``), or empty.
    ``holder_notes`` say what each of ``holders`` is (``LUKS 'secret'``), in the same order.
    ``hint`` is what can be done about ``reason`` where that says why it is not used.
    ``contents_digest`` is what a confirmed plan that overwrites the disk stands on (decision
    0038); empty where no plan is to be confirmed, and for a disk in use. ``seen_before``: this
    machine saw it at an earlier boot, or it was written to since. ``wwid`` is what the device says
    it is besides its serial (NVMe: UUID, NGUID, EUI), ``slot`` where it is (udev's ``ID_PATH``).
    """

    path: str
    id: str
    model: str
    serial: str
    size_bytes: int
    vendor: str = ""
    transport: str = ""
    kind: DiskKind = DiskKind.UNKNOWN
    role: str = ""
    claimable: bool = False
    reason: str = ""
    signatures: tuple[Signature, ...] = ()
    partitions: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    mountpoints: tuple[str, ...] = ()
    swap: bool = False
    read_only: bool = False
    busy: bool = False
    holds_root: bool = False
    blank: bool | None = None
    nonzero_offset_bytes: int | None = None
    md_member: MdMember | None = None
    stable_path: str = ""
    filesystem: Filesystem | None = None
    lvm_member: LvmMember | None = None
    mark: Mark | None = None
    cloud_name: str = ""
    claimed_by: str = ""
    mount_options: str = ""
    holder_notes: tuple[str, ...] = ()
    hint: str = ""
    contents_digest: str = ""
    scan: Scan | None = None
    seen_before: bool = False
    wwid: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Array:
    """An md array that the kernel knows. ``members`` are disk ids in slot order.

    ``blank`` is as for :class:`Disk`. ``degraded`` is how many members are missing or not
    in sync; ``sync_action`` the kernel's word (``idle``, ``resync``, ``recover`` …).
    ``member_bytes`` is what the array uses of each member, 0 where the level has no such number.
    """

    path: str
    name: str
    uuid: str
    level: str
    chunk_bytes: int
    member_count: int
    members: tuple[str, ...]
    state: str
    size_bytes: int
    filesystem: Filesystem | None = None
    mountpoint: str = ""
    mount_options: str = ""
    blank: bool | None = None
    layout: str = ""
    degraded: int = 0
    sync_action: str = ""
    member_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LogicalVolume:
    """An LVM logical volume. ``segments`` are disk ids in stripe order, one tuple a segment.

    ``active`` says whether its node (``path``) is there. ``start_bytes`` is where it begins in
    what LVM has of the first disk of its first segment, ``None`` if that is not known.
    """

    name: str
    path: str
    size_bytes: int
    stripe_bytes: int
    segments: tuple[tuple[str, ...], ...]
    active: bool
    filesystem: Filesystem | None = None
    mountpoint: str = ""
    mount_options: str = ""
    blank: bool | None = None
    start_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """An LVM volume group, as its metadata has it. ``members`` are disk ids.

    ``member_count`` counts the members that it should have, ``free_bytes`` what no logical
    volume uses. ``member_bytes`` is the size of each member as LVM has recorded it, in the
    order of ``members``.
    """

    name: str
    uuid: str
    tags: tuple[str, ...]
    members: tuple[str, ...]
    member_count: int
    extent_bytes: int
    free_bytes: int
    volumes: tuple[LogicalVolume, ...] = ()
    member_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class HardwareDrive:
    """A drive behind a RAID controller: ``place`` is ``enclosure:slot``, ``state`` storcli's."""

    controller: int
    place: str
    model: str
    serial: str
    size_bytes: int
    state: str


@dataclass(frozen=True, slots=True)
class VirtualDrive:
    """What a RAID controller made of its drives. ``drives`` are places, ``path`` the disk node."""

    controller: int
    number: int
    name: str
    level: str
    strip_bytes: int
    size_bytes: int
    state: str
    path: str
    drives: tuple[str, ...]
    wwid: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine itself, from DMI and the kernel.

    ``expected_disks`` is how many instance-storage disks its type is sold with, or
    ``None`` when the type is not in the data (then no count is enforced). ``host_tag`` is 16
    hexadecimal digits made from the machine id and DMI's UUID, empty where there is no id or
    the UUID could not be read (it is root's); what we build carries it. ``ephemeral_names`` are
    the kernel names that the provider's metadata gives to pre-Nitro instance storage (``xvdb``).
    ``anonymous``: there is no machine id. ``type_doubt`` says why a type that the operator named
    was not taken.
    """

    provider: str = "unknown"
    machine_type: str = ""
    vendor: str = ""
    kernel: str = ""
    cpu_count: int = 0
    boot_id: str = ""
    expected_disks: int | None = None
    host_tag: str = ""
    ephemeral_names: tuple[str, ...] = ()
    anonymous: bool = False
    type_doubt: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything the planner may know. ``privileged`` says whether disks were read directly."""

    machine: Machine
    disks: tuple[Disk, ...]
    arrays: tuple[Array, ...] = ()
    privileged: bool = False
    groups: tuple[VolumeGroup, ...] = ()
    hardware_drives: tuple[HardwareDrive, ...] = ()
    virtual_drives: tuple[VirtualDrive, ...] = ()
