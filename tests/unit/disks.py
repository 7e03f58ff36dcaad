"""Disks, arrays and machines for tests, described in a line each."""

from __future__ import annotations

from dataclasses import replace

from appliance.model.disks import (
    Array,
    Disk,
    Filesystem,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    Mark,
    MarkState,
    MdMember,
    Signature,
    VolumeGroup,
)
from appliance.model.plans import Layout, Volume
from appliance.storage.policy.identity import identify_all

GB = 10**9
KIB = 1024
UUID = "8f3aff54:cb72c56c:6d0a5fe1:cbc332e8"
OTHER_UUID = "11111111:22222222:33333333:44444444"
INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
SCRATCH = Volume(name="scratch", mount="/mnt/scratch")
LAYOUT = Layout(volumes=(SCRATCH,))
FOUR = Machine(provider="aws", machine_type="m5d.24xlarge", expected_disks=4)
XFS = Filesystem("xfs", "scratch", "9c4f34e5", 256 * KIB, 1024 * KIB)


def disk(number: int, **facts: object) -> Disk:
    """A blank EC2 instance-store disk as root sees it, with other ``facts``."""
    serial = str(facts.pop("serial", f"AWS{number:05d}"))
    name = f"nvme-{INSTANCE_STORE.replace(' ', '_')}_{serial}"
    made = Disk(
        path=f"/dev/nvme{number}n1",
        id=name,
        model=INSTANCE_STORE,
        serial=serial,
        size_bytes=900 * GB,
        transport="nvme",
        blank=True,
        stable_path=f"/dev/disk/by-id/{name}",
    )
    return replace(made, **facts)  # type: ignore[arg-type]


def member(
    slot: int | None,
    *,
    number: int | None = None,
    count: int = 4,
    uuid: str = UUID,
    name: str = "stripewright:scratch",
    filesystem: Filesystem | None = XFS,
    level: str = "raid0",
    events: int | None = None,
    active: tuple[int, ...] | None = None,
    **facts: object,
) -> Disk:
    """A member of an array, by default of ours with four members and a filesystem."""
    found = MdMember(
        array_name=name,
        array_uuid=uuid,
        member_uuid=f"0:0:0:{slot}",
        level=level,
        member_count=count,
        chunk_bytes=256 * KIB,
        slot=slot,
        data_offset_bytes=1024 * KIB,
        filesystem=filesystem if slot == 0 else None,
        layout="near=2" if level == "raid10" else "",
        events=events,
        active_slots=active,
    )
    signature = Signature("linux_raid_member", 4096, name, uuid.replace(":", "-"))
    made = {"blank": False, "signatures": (signature,), "md_member": found, **facts}
    return disk(1 + (slot or 0) if number is None else number, **made)


def plain(number: int = 1, **facts: object) -> Disk:
    """A whole-disk XFS with our label."""
    made = {
        "blank": False,
        "signatures": (Signature("xfs", 0, "scratch", "9c4f34e5"),),
        "filesystem": replace(XFS, sunit_bytes=0, swidth_bytes=0),
        **facts,
    }
    return disk(number, **made)


def making(
    *disks: Disk,
    volume: str = "scratch",
    host: str = "",
    uuid: str = "",
    intact: bool | None = True,
) -> tuple[Disk, ...]:
    """``disks`` with the mark that ``volume`` is being made of them, its filesystem as ``uuid``;
    unless ``intact``, they hold more than that writes.
    """
    mark = Mark(MarkState.MAKING, volume, host, 512 * KIB, intact=intact, filesystem_uuid=uuid)
    return tuple(replace(one, mark=replace(mark, nonce=f"n{at}")) for at, one in enumerate(disks))


def released(*disks: Disk, volume: str = "old", intact: bool | None = True) -> tuple[Disk, ...]:
    """``disks`` full of old bytes, given up by a confirmed removal of ``volume``."""
    mark = Mark(MarkState.RELEASED, volume, "", 512 * KIB, "n", intact)
    return tuple(replace(one, blank=False, mark=mark) for one in disks)


def pv(number: int, *, group: str = "stripewright-scratch", **facts: object) -> Disk:
    """A physical volume, by default of our volume group."""
    found = LvmMember(f"pv{number}", group, "vg1" if group else "", ("stripewright:scratch",))
    made = {
        "blank": False,
        "signatures": (Signature("LVM2_member", 536),),
        "lvm_member": found,
        **facts,
    }
    return disk(number, **made)


def group(*members: Disk, logical: LogicalVolume | None = None, **facts: object) -> VolumeGroup:
    """Our volume group on ``members``, its volume not active."""
    ids = tuple(one.id for one in members)
    volume = logical or LogicalVolume(
        name="scratch",
        path="/dev/stripewright-scratch/scratch",
        size_bytes=len(members) * (900 * GB - 1024 * KIB),
        stripe_bytes=256 * KIB,
        segments=(ids,),
        active=False,
    )
    made = VolumeGroup(
        name="stripewright-scratch",
        uuid="vg1",
        tags=("stripewright:scratch",),
        members=ids,
        member_count=len(members),
        extent_bytes=4096 * KIB,
        free_bytes=0,
        volumes=(volume,),
        member_bytes=tuple(900 * GB - 1024 * KIB for _ in members),
    )
    return replace(made, **facts)  # type: ignore[arg-type]


def array(*members: Disk, **facts: object) -> Array:
    """Our array, assembled from ``members`` and not mounted."""
    made = Array(
        path="/dev/md127",
        name="stripewright:scratch",
        uuid=UUID,
        level="raid0",
        chunk_bytes=256 * KIB,
        member_count=len(members),
        members=tuple(one.id for one in members),
        state="clean",
        size_bytes=len(members) * 900 * GB,
        filesystem=XFS,
        blank=False,
    )
    return replace(made, **facts)  # type: ignore[arg-type]


def held(*members: Disk) -> tuple[Disk, ...]:
    """``members`` as they look while /dev/md127 runs on them."""
    return tuple(replace(one, holders=("md127",), busy=True) for one in members)


def inventory(
    *disks: Disk,
    arrays: tuple[Array, ...] = (),
    groups: tuple[VolumeGroup, ...] = (),
    layout: Layout = LAYOUT,
    machine: Machine = FOUR,
    privileged: bool = True,
) -> Inventory:
    """The disks, each identified as the probe would."""
    return Inventory(
        machine=machine,
        disks=identify_all(disks, arrays, groups, layout, machine),
        arrays=arrays,
        groups=groups,
        privileged=privileged,
    )
