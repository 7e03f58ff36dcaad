"""What is not done to LVM, to enlarged disks, by orders, and on a document's word alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import Disk, DiskKind, Inventory, LogicalVolume, Machine, VolumeGroup
from appliance.model.plans import Decision, Layout, Orders, Plan
from appliance.storage.policy.planner import plan
from tests.unit.disks import (
    FOUR,
    GB,
    KIB,
    LAYOUT,
    OTHER_UUID,
    SCRATCH,
    XFS,
    array,
    disk,
    group,
    held,
    inventory,
    making,
    member,
    pv,
    released,
)

LVM = Layout((replace(SCRATCH, stripe="lvm-stripe"),))
NOBODY = Layout(())
REMOVE = Orders(remove=("scratch",), grow=True)
GROW = Orders(grow=True)
UNKNOWN_TYPE = Machine()
PVS = tuple(pv(number) for number in (1, 2, 3, 4))
OURS = tuple(member(slot) for slot in range(4))
BLANK = tuple(disk(number) for number in (1, 2, 3, 4))


def decide(seen: Inventory, layout: Layout = LAYOUT, orders: Orders = GROW) -> Plan:
    return plan(seen, layout, waited=True, orders=orders)


def of_lvm(*disks: Disk, groups: tuple[VolumeGroup, ...]) -> Inventory:
    return inventory(*disks, groups=groups, layout=LVM, machine=UNKNOWN_TYPE)


def refused(made: Plan, fragment: str) -> None:
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert fragment in made.volumes[0].reason


# ------------------------------------------------------------------------------ LVM


def test_a_group_that_is_whole_and_another_half_made() -> None:
    half = replace(pv(9), lvm_member=replace(pv(9).lvm_member, group_uuid="vg2"))
    seen = of_lvm(*PVS, *making(half), groups=(group(*PVS),))
    refused(decide(seen, LVM), "and it is half made on /dev/nvme9n1")


def test_an_orphan_of_a_killed_extension_does_not_stop_the_volume() -> None:
    (orphan,) = making(pv(9, group=""))
    made = decide(of_lvm(*PVS, orphan, groups=(group(*PVS),)), LVM, Orders())
    assert made.decision is Decision.ASSEMBLE
    # Its mark stays: without it nobody would know whose it is.
    assert [step.argv[0] for step in made.steps] == ["lvchange", "mount"]


def test_a_group_with_our_name_on_disks_that_nobody_knows() -> None:
    elsewhere = replace(group(*PVS), members=("dm-3",))
    refused(decide(of_lvm(*BLANK, groups=(elsewhere,)), LVM), "is on other disks: dm-3")


def test_two_groups_with_our_name() -> None:
    other = [replace(one, lvm_member=replace(one.lvm_member, group_uuid="vg2")) for one in PVS[2:]]
    two = (group(*PVS[:2]), replace(group(*other), uuid="vg2"))
    refused(decide(of_lvm(*PVS[:2], *other, groups=two), LVM), "2 different volume groups")


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [
        ({"stripe_bytes": 64 * KIB}, "striped in chunks of 64KiB"),
        ({"segments": ()}, "is not striped as we make it"),
        ({"active": True, "filesystem": None}, "holds data, but no filesystem"),
        ({"active": True, "filesystem": replace(XFS, label="x")}, "labelled 'x'"),
        ({"active": True, "filesystem": XFS, "mountpoint": "/x"}, "is mounted at /x"),
    ],
)
def test_a_logical_volume_that_is_not_as_declared(facts: dict[str, object], fragment: str) -> None:
    whole = group(*PVS)
    logical = replace(whole.volumes[0], **facts)  # type: ignore[arg-type]
    disks = PVS
    if facts.get("active"):
        note = "LVM volume 'stripewright--scratch-scratch'"
        disks = tuple(
            replace(one, holders=("dm-0",), holder_notes=(note,), busy=True) for one in PVS
        )
    seen = of_lvm(*disks, groups=(replace(whole, volumes=(logical,)),))
    refused(decide(seen, LVM), fragment)


@pytest.mark.parametrize(
    ("note", "decision"),
    [
        ("LVM volume 'stripewright--scratch-scratch'", Decision.NOTHING),
        ("LVM volume 'stripewright--scratch-other'", Decision.REFUSE),
    ],
)
def test_a_killed_extension_may_hold_disks_on_which_the_volume_is_not(
    note: str, decision: Decision
) -> None:
    # lvextend loads device-mapper's table before it writes the group.
    ours = "LVM volume 'stripewright--scratch-scratch'"
    disks = tuple(
        replace(one, holders=("dm-0",), holder_notes=(ours if at < 2 else note,), busy=True)
        for at, one in enumerate(PVS)
    )
    whole = group(*PVS)
    half = replace(
        whole.volumes[0],
        segments=(whole.volumes[0].segments[0][:2],),
        active=True,
        filesystem=replace(XFS, swidth_bytes=2 * SCRATCH.chunk_bytes),
        mountpoint=SCRATCH.mount,
        mount_options="rw,nosuid,nodev,noatime",
    )
    seen = of_lvm(*disks, groups=(replace(whole, volumes=(half,)),))
    assert decide(seen, LVM, Orders()).decision is decision


# ------------------------------------------------------------------------------ growth


def enlarged(*sizes: int, used: int = 900, covered: int = 3000) -> Inventory:
    """Our RAID0 of 900 GB disks that became ``sizes``, with a filesystem over ``covered``, GB."""
    found = replace(XFS, size_bytes=covered * GB)
    disks = [
        replace(one, size_bytes=size * GB, md_member=replace(one.md_member, device_bytes=used * GB))
        for one, size in zip(
            (member(slot, filesystem=found) for slot in range(len(sizes))), sizes, strict=True
        )
    ]
    return inventory(*disks)


def test_a_raid0_grows_only_where_its_data_stays_in_place() -> None:
    assert decide(enlarged(1800, 1800, 1800, 1800)).decision is Decision.GROW
    uneven = decide(enlarged(1800, 1800, 1800, 900))
    assert uneven.decision is Decision.ASSEMBLE
    assert "when all have the same size" in uneven.volumes[0].reason
    # Made of unequal disks: data lies beyond the smallest, where fewer disks take part.
    beyond = decide(enlarged(1800, 1800, 1800, 1800, covered=5000))
    assert beyond.decision is Decision.ASSEMBLE
    assert "nothing shows that its data would stay" in beyond.volumes[0].reason


def test_uneven_room_in_a_group_is_left() -> None:
    bigger = (replace(PVS[0], size_bytes=1800 * GB), *PVS[1:])
    made = decide(of_lvm(*bigger, groups=(group(*PVS),)), LVM)
    assert made.decision is Decision.ASSEMBLE
    assert "not all of a stripe" in made.volumes[0].reason


# ------------------------------------------------------------------------------ orders


def test_a_removal_does_not_take_what_is_not_ours() -> None:
    two = (*OURS[:2], *(member(slot, uuid=OTHER_UUID) for slot in (2, 3)))
    refused(decide(inventory(*two), NOBODY, REMOVE), "2 different arrays carry the name")
    whole = group(*PVS)
    theirs = LogicalVolume("home", "", 1, 0, (), active=False)
    shared = replace(whole, volumes=(*whole.volumes, theirs))
    refused(decide(of_lvm(*PVS, groups=(shared,)), NOBODY, REMOVE), "also holds home")
    members = held(*OURS)
    mixed = array(*members, disk(9), member_count=5)
    refused(
        decide(inventory(*members, disk(9), arrays=(mixed,)), NOBODY, REMOVE),
        "which does not carry its name",
    )
    busy = held(*OURS)
    refused(decide(inventory(*busy), NOBODY, REMOVE), "is held by md127")


def test_a_removal_of_what_is_not_there_is_done() -> None:
    made = decide(inventory(*BLANK), NOBODY, REMOVE)
    assert (made.decision, made.steps) == (Decision.NOTHING, ())


def test_an_erasure_of_a_volumes_disk() -> None:
    order = Orders(erase=(OURS[0].serial,), grow=True)
    declared = decide(inventory(*OURS), LAYOUT, order)
    assert declared.volumes[0].decision is Decision.NOTHING
    other = Layout((replace(SCRATCH, name="other"),))
    refused(
        replace(decide(inventory(*OURS, layout=other), other, order), steps=()),
        "belongs to volume 'scratch', which is not in the layout",
    )
    same = Orders(erase=("vol-0a",), grow=True)
    ebs = replace(BLANK[0], serial="vol0a")
    made = decide(inventory(ebs, *BLANK[1:]), LAYOUT, same)
    assert not any("no disk has the serial" in one.reason for one in made.volumes)
    absent = Orders(erase=("none",))
    refused(replace(decide(inventory(*BLANK), LAYOUT, absent), steps=()), "no disk has the serial")


# ------------------------------------------------------------------------------ documents


@pytest.mark.parametrize("intact", [False, None])
def test_a_document_cannot_claim_a_released_disk_that_is_not_proved_intact(
    intact: bool | None,
) -> None:
    seen = inventory(*released(*BLANK, intact=intact))
    lying = replace(seen, disks=tuple(replace(one, claimable=True) for one in seen.disks))
    refused(decide(lying), "released")


def test_the_digest_of_lvm_does_not_depend_on_kernel_names() -> None:
    bare = [replace(one, stable_path="") for one in BLANK]
    first = decide(of_lvm(*bare, groups=()), LVM).digest
    renamed = [replace(one, path=f"/dev/nvme{9 - at}n1") for at, one in enumerate(bare)]
    assert decide(of_lvm(*renamed, groups=()), LVM).digest == first


def test_kinds_that_nobody_named_are_left_alone() -> None:
    seen = inventory(*BLANK, machine=FOUR)
    network = tuple(replace(one, kind=DiskKind.NETWORK) for one in seen.disks)
    made = decide(replace(seen, disks=network))
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
