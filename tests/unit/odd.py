"""Inventories, layouts and orders as nobody would write them, for property tests."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from appliance.model.disks import (
    Array,
    Disk,
    DiskKind,
    Filesystem,
    HardwareDrive,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    Mark,
    MarkState,
    MdMember,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.plans import Layout, Orders, Selector, Volume
from tests.unit import disks
from tests.unit.disks import disk, making, member, plain, pv, released

NAMES = ["scratch", "data", "logs"]
IDS = [f"id{number}" for number in range(6)]
TAG = "0123456789abcdef"
_UUIDS = ["1:1:1:1", "2:2:2:2", "01234567:89abcdef:0:0", "01234567:89abcdef:00000000:00000000", ""]
_text = st.sampled_from(
    ["", "scratch", "data", "stripewright:scratch", "stripewright:data", "h:scratch",
     "a\x1b[31m\n", "\udce9\0"]
)  # fmt: skip
_number = st.sampled_from([0, 1, 2, 4, 4096, 2**20, 2**30, 2**40, 2**63, -1, -(2**40)])
_maybe = st.sampled_from([None, True, False])
_ids = st.lists(st.sampled_from([*IDS, "sdz"]), max_size=4).map(tuple)
PATHS = [f"/dev/nvme{number}n1" for number in range(6)]
_signature = st.builds(
    Signature,
    kind=st.sampled_from(
        ["linux_raid_member", "LVM2_member", "xfs", "ext4", "gpt", "unreadable", ""]
    ),
    offset_bytes=st.none() | _number,
    label=_text,
    uuid=_text | st.sampled_from(_UUIDS),
)
_filesystem = st.builds(
    Filesystem,
    kind=st.sampled_from(["xfs", "ext4", "btrfs"]),
    label=_text,
    uuid=_text | st.sampled_from(_UUIDS),
    sunit_bytes=st.none() | _number,
    swidth_bytes=st.none() | _number,
    unfinished=st.booleans(),
    size_bytes=st.none() | _number,
)
_member = st.builds(
    MdMember,
    array_name=_text,
    array_uuid=st.sampled_from(_UUIDS),
    member_uuid=_text,
    level=st.sampled_from(["raid0", "raid10", "raid10", "raid1", ""]),
    member_count=_number,
    chunk_bytes=st.none() | st.sampled_from([0, 4096, 262144]),
    slot=st.none() | st.integers(-1, 4),
    data_offset_bytes=st.none() | _number,
    filesystem=st.none() | _filesystem,
    layout=st.sampled_from(["", "near=2", "far=2", "?"]),
    events=st.none() | _number,
    device_bytes=st.none() | _number,
    recovering=st.booleans(),
    reshaping=st.booleans(),
    active_slots=st.none() | st.lists(st.integers(-1, 4), max_size=4).map(tuple),
)
_lvm = st.builds(
    LvmMember,
    pv_uuid=_text,
    group=st.sampled_from(["", "stripewright-scratch", "stripewright-data", "vg0"]),
    group_uuid=st.sampled_from(["g1", "g2", ""]),
    tags=st.just(()) | st.just(("stripewright:scratch",)),
)
_mark = st.builds(
    Mark,
    state=st.sampled_from(list(MarkState)),
    volume=st.sampled_from([*NAMES, "old"]),
    host_tag=st.sampled_from(["", TAG, "f" * 16]),
    offset_bytes=_number,
    nonce=_text,
    intact=_maybe,
    filesystem_uuid=st.sampled_from(["", "0123456789abcdef" * 2]),
)
_disk = st.builds(
    Disk,
    path=st.sampled_from(PATHS),
    id=st.sampled_from([*IDS, ""]),
    model=_text,
    serial=_text | st.sampled_from(["S1", "S2", "S3"]),
    size_bytes=_number,
    kind=st.sampled_from([DiskKind.INSTANCE_STORE, DiskKind.INSTANCE_STORE, *DiskKind]),
    role=st.sampled_from(["", "", "db"]),
    claimable=st.sampled_from([True, True, False]),
    reason=_text,
    signatures=st.just(()) | st.lists(_signature, max_size=2).map(tuple),
    partitions=st.just(()) | st.lists(_text, max_size=1).map(tuple),
    holders=st.just(()) | st.sampled_from([("md127",), ("dm-0",), ("md127", "dm-1")]),
    mountpoints=st.just(()) | st.just(("/mnt/scratch",)),
    swap=st.just(False) | st.booleans(),
    read_only=st.just(False) | st.booleans(),
    busy=st.just(False) | st.booleans(),
    holds_root=st.just(False) | st.booleans(),
    blank=_maybe,
    md_member=st.none() | _member,
    lvm_member=st.none() | _lvm,
    filesystem=st.none() | _filesystem,
    mark=st.none() | _mark,
    stable_path=st.just("") | st.sampled_from([f"/dev/disk/by-id/{one}" for one in IDS]),
    claimed_by=st.sampled_from(["", "", "/etc/fstab line 3"]),
)
_array = st.builds(
    Array,
    path=st.sampled_from(["/dev/md127", "/dev/md126"]),
    name=_text,
    uuid=st.sampled_from(_UUIDS),
    level=st.sampled_from(["raid0", "raid10", "raid1"]),
    chunk_bytes=st.sampled_from([0, 262144]),
    member_count=_number,
    members=_ids,
    state=st.sampled_from(["clean", "inactive", "broken", ""]),
    size_bytes=_number,
    filesystem=st.none() | _filesystem,
    mountpoint=st.sampled_from(["", "/mnt/scratch", "/x"]),
    blank=_maybe,
    degraded=st.integers(-1, 3),
    sync_action=_text,
    member_bytes=_number,
)
_logical = st.builds(
    LogicalVolume,
    name=st.sampled_from(["scratch", "data", "other", ""]),
    path=st.sampled_from(["", "/dev/stripewright-scratch/scratch"]),
    size_bytes=_number,
    stripe_bytes=st.sampled_from([0, 262144]),
    segments=st.lists(_ids, max_size=2).map(tuple),
    active=st.booleans(),
    filesystem=st.none() | _filesystem,
    mountpoint=st.sampled_from(["", "/mnt/scratch", "/x"]),
    blank=_maybe,
)
_group = st.builds(
    VolumeGroup,
    name=st.sampled_from(["stripewright-scratch", "stripewright-data", "vg0"]),
    uuid=st.sampled_from(["g1", "g2", ""]),
    tags=st.lists(
        st.sampled_from(["stripewright:scratch", "stripewright:data", f"stripewright-host:{TAG}"]),
        max_size=2,
    ).map(tuple),
    members=_ids,
    member_count=_number,
    extent_bytes=_number,
    free_bytes=_number,
    volumes=st.lists(_logical, max_size=2).map(tuple),
    member_bytes=st.lists(_number, max_size=4).map(tuple),
)
_drive = st.builds(
    HardwareDrive,
    controller=st.integers(0, 1),
    place=st.sampled_from(["252:0", "252:1", ""]),
    model=_text,
    serial=st.sampled_from(["S1", "S2", ""]),
    size_bytes=_number,
    state=st.sampled_from(["UGood", "Onln", ""]),
)
_virtual = st.builds(
    VirtualDrive,
    controller=st.integers(0, 1),
    number=_number,
    name=st.sampled_from(["sw-scratch", "sw-data", ""]),
    level=st.sampled_from(["raid0", "raid1"]),
    strip_bytes=st.sampled_from([0, 262144]),
    size_bytes=_number,
    state=st.sampled_from(["Optl", "Dgrd"]),
    path=st.sampled_from(["", *PATHS]),
    drives=st.lists(st.sampled_from(["252:0", "252:1"]), max_size=2).map(tuple),
    wwid=st.sampled_from(["", "id1"]),
)
_FIELDS = {
    "serial": _text | st.sampled_from(["S1", "S2", "S3"]),
    "size_bytes": _number,
    "kind": st.sampled_from(list(DiskKind)),
    "role": st.sampled_from(["", "db"]),
    "claimable": st.booleans(),
    "signatures": st.lists(_signature, max_size=2).map(tuple),
    "partitions": st.just(("p1",)),
    "holders": st.sampled_from([("md127",), ("dm-0",)]),
    "mountpoints": st.just(("/mnt/scratch",)),
    "swap": st.booleans(),
    "read_only": st.booleans(),
    "busy": st.booleans(),
    "holds_root": st.booleans(),
    "blank": _maybe,
    "md_member": st.none() | _member,
    "lvm_member": st.none() | _lvm,
    "mark": st.none() | _mark,
    "stable_path": st.just("") | st.sampled_from([f"/dev/disk/by-id/{one}" for one in IDS]),
}
_changes = st.just({}) | st.fixed_dictionaries({}, optional=_FIELDS).map(
    lambda found: dict(list(found.items())[:2])
)


@st.composite
def _mostly_sane(draw: st.DrawFn) -> tuple[Disk, ...]:
    """Disks as a machine has them, blank or with a volume, some of them with something odd."""
    made = []
    for number in range(draw(st.integers(0, 5))):
        what = draw(st.sampled_from(["blank", "blank", "md", "md", "raid10", "lvm", "plain"]))
        marked = draw(st.sampled_from(["", "", "making", "released"]))
        host = draw(st.sampled_from(["", f"{TAG[:8]}:{TAG[8:]}:00000000:00000000"]))
        uuid = host or disks.UUID
        if what == "md":
            found = member(number, number=number, uuid=uuid)
        elif what == "raid10":
            found = member(number, number=number, level="raid10", uuid=uuid, events=number // 2)
        else:
            found = {"blank": disk, "lvm": pv, "plain": plain}[what](number)
        if marked == "making":
            (found,) = making(found, host=TAG if host else "", intact=draw(st.booleans()))
        elif marked == "released":
            (found,) = released(found)
        found = replace(
            found,
            path=PATHS[number],
            id=IDS[number],
            serial=f"S{number}",
            stable_path=f"/dev/disk/by-id/{IDS[number]}",
            kind=DiskKind.INSTANCE_STORE,
            claimable=True,
        )
        made.append(replace(found, **draw(_changes)))
    return tuple(made)


inventories = st.builds(
    Inventory,
    machine=st.builds(
        Machine,
        machine_type=_text,
        expected_disks=st.none() | st.integers(-1, 5),
        host_tag=st.sampled_from(["", TAG, "?"]),
    ),
    disks=_mostly_sane() | _mostly_sane() | st.lists(_disk, max_size=5).map(tuple),
    arrays=st.just(()) | st.lists(_array, max_size=2).map(tuple),
    groups=st.just(()) | st.lists(_group, max_size=2).map(tuple),
    hardware_drives=st.lists(_drive, max_size=2).map(tuple),
    virtual_drives=st.just(()) | st.lists(_virtual, max_size=2).map(tuple),
    privileged=st.sampled_from([True, True, False]),
)
_select = st.one_of(
    st.builds(Selector, count=st.none() | st.integers(1, 3)),
    st.builds(Selector, kind=st.none(), role=st.just("db"), count=st.none() | st.integers(1, 3)),
    st.builds(
        Selector,
        kind=st.none(),
        serials=st.lists(st.sampled_from(["S1", "S2", "S3"]), min_size=1, max_size=3).map(tuple),
    ),
)
layouts = st.lists(
    st.builds(
        Volume,
        name=st.sampled_from(NAMES),
        mount=st.just("/mnt/scratch"),
        stripe=st.sampled_from(["single", "md-raid0", "md-raid10", "lvm-stripe", "hw-raid0"]),
        filesystem=st.sampled_from(["xfs", "ext4", "none"]),
        select=_select,
        on_short=st.sampled_from(["refuse", "accept"]),
        on_loss=st.sampled_from(["refuse", "recreate"]),
        raid10_layout=st.sampled_from(["near2", "far2", "offset2"]),
    ),
    max_size=3,
    unique_by=lambda volume: volume.name,
).map(lambda volumes: Layout(tuple(volumes)))
some_orders = st.just(Orders()) | st.builds(
    Orders,
    remove=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    erase=st.lists(st.sampled_from(["S1", "S2", ""]), max_size=2).map(tuple),
    grow=st.booleans(),
)
