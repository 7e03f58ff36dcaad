"""What the form of a layout shows while it is typed, from what the boot unit saw."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import Disk, DiskKind, HardwareDrive, Inventory, VirtualDrive
from appliance.model.plans import Decision, Layout, OperatorRule, Selector, Volume
from appliance.storage.policy.layout import DEFAULT_LAYOUT
from appliance.storage.policy.preview import Preview, VolumePreview, preview
from tests.unit.disks import (
    FOUR,
    GB,
    KIB,
    XFS,
    array,
    disk,
    group,
    held,
    inventory,
    member,
    plain,
    pv,
)

MIB = 1024 * KIB
STORE = DiskKind.INSTANCE_STORE
BLANK = [disk(number) for number in range(1, 5)]
# A disk of 900 GB: mdadm leaves 128 MiB, and a MiB for its own.
MD_OFFSET = 129 * MIB
# A filesystem on such a disk: the last MiB, in whole 4 KiB from the end, is our mark's.
PLAIN = 899_998_949_376


def volume(name: str = "data", **facts: object) -> Volume:
    mount = "" if facts.get("filesystem") == "none" else f"/mnt/{name}"
    return replace(Volume(name, mount), **facts)  # type: ignore[arg-type]


def of(seen: Inventory, *volumes: Volume, remove: tuple[str, ...] = ()) -> Preview:
    return preview(Layout(volumes), seen, remove)


def only(found: Preview) -> VolumePreview:
    (one,) = found.volumes
    return one


def test_four_blank_disks_become_a_stripe() -> None:
    found = of(inventory(*BLANK), volume())
    one = only(found)
    assert (found.decision, one.decision) == (Decision.CREATE, Decision.CREATE)
    assert [(d.path, d.serial, d.size_bytes) for d in one.disks] == [
        (f"/dev/nvme{n}n1", f"AWS{n:05d}", 900 * GB) for n in range(1, 5)
    ]
    each = (900 * GB - MD_OFFSET) // (256 * KIB) * 256 * KIB
    assert one.capacity_bytes == 4 * each
    assert (one.chunk_bytes, one.sunit_bytes, one.swidth_bytes) == (256 * KIB, 256 * KIB, MIB)
    assert (found.unused, one.unread) == ((), ())
    assert [gone.serial for gone in found.destroys] == [f"AWS{n:05d}" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("facts", "disks", "capacity", "geometry"),
    [
        ({"chunk_bytes": 64 * KIB}, 4, None, (64 * KIB, 64 * KIB, 256 * KIB)),
        ({"filesystem": "none"}, 4, None, (256 * KIB, None, None)),
        # Two copies on neighbours: half the data, and half the width.
        (
            {"stripe": "md-raid10"},
            4,
            (900 * GB - MD_OFFSET) // (256 * KIB) * 2 * 256 * KIB,
            (256 * KIB, 256 * KIB, 512 * KIB),
        ),
        ({"stripe": "md-raid10", "raid10_layout": "far2"}, 4, None, (256 * KIB, 256 * KIB, MIB)),
        (
            {"stripe": "lvm-stripe"},
            4,
            (900 * GB - MIB) // (4 * MIB) * 4 * 4 * MIB,
            (256 * KIB, 256 * KIB, MIB),
        ),
        # One disk is plain, with nothing to be aligned to; its last MiB is our mark's.
        ({"select": Selector(STORE, count=1)}, 1, PLAIN, (None, None, None)),
    ],
)
def test_kinds_of_stripes(
    facts: dict[str, object],
    disks: int,
    capacity: int | None,
    geometry: tuple[int | None, int | None, int | None],
) -> None:
    one = only(of(inventory(*BLANK), volume(**facts)))
    assert (one.decision, len(one.disks)) == (Decision.CREATE, disks)
    assert (one.chunk_bytes, one.sunit_bytes, one.swidth_bytes) == geometry
    if capacity is not None:
        assert one.capacity_bytes == capacity


def test_disks_of_unequal_size() -> None:
    seen = inventory(*BLANK[:3], replace(BLANK[3], size_bytes=450 * GB))
    chunk = 256 * KIB
    big, small = (900 * GB - MD_OFFSET) // chunk, (450 * GB - MD_OFFSET) // chunk
    # RAID0 uses all of each, RAID10 and LVM what all of them have.
    assert only(of(seen, volume())).capacity_bytes == (3 * big + small) * chunk
    assert only(of(seen, volume(stripe="md-raid10"))).capacity_bytes == 2 * small * chunk
    extents = (450 * GB - MIB) // (4 * MIB)
    assert only(of(seen, volume(stripe="lvm-stripe"))).capacity_bytes == 16 * MIB * extents


def test_one_stripe_becomes_two_volumes() -> None:
    members = held(*(member(slot) for slot in range(4)))
    seen = inventory(*members, arrays=(array(*members),))
    two = (volume("data", select=Selector(STORE, count=2)),
           volume("logs", select=Selector(STORE, count=1)))  # fmt: skip
    found = of(seen, *two, remove=("scratch",))
    assert [(one.name, one.decision.value) for one in found.volumes] == [
        ("scratch", "remove"),
        ("data", "create"),
        ("logs", "create"),
    ]
    removed, data, logs = found.volumes
    assert (len(removed.disks), removed.capacity_bytes) == (4, None)
    assert data.capacity_bytes == 2 * ((900 * GB - MD_OFFSET) // (256 * KIB)) * 256 * KIB
    assert logs.capacity_bytes == PLAIN
    # What is released and not taken is there for another volume.
    assert [one.path for one in found.unused] == ["/dev/nvme4n1"]
    assert found.unused[0].reason == "released from volume 'scratch' by this plan"
    assert data.disks[0].reason == found.unused[0].reason
    # Not named to be removed, it stays.
    assert {one.decision for one in of(seen, *two).volumes} == {Decision.REFUSE}


def test_what_is_to_be_removed_is_not_declared_any_more() -> None:
    members = held(*(member(slot) for slot in range(4)))
    found = preview(DEFAULT_LAYOUT, inventory(*members, arrays=(array(*members),)), ["scratch"])
    assert [(one.name, one.decision.value) for one in found.volumes] == [("scratch", "remove")]
    assert len(found.unused) == 4


def test_what_runs_has_the_size_that_it_has() -> None:
    members = held(*(member(slot) for slot in range(4)))
    running = replace(array(*members), mountpoint="/mnt/scratch", size_bytes=12345)
    one = only(preview(DEFAULT_LAYOUT, inventory(*members, arrays=(running,))))
    assert (one.decision, one.capacity_bytes) == (Decision.NOTHING, 12345)
    at_rest = [replace(member(slot), md_member=replace(
        member(slot).md_member, device_bytes=1000 * MIB)) for slot in range(4)]  # fmt: skip
    one = only(preview(DEFAULT_LAYOUT, inventory(*at_rest)))
    assert (one.decision, one.capacity_bytes) == (Decision.ASSEMBLE, 4000 * MIB)


def test_a_mirror_that_lacks_a_member_has_its_whole_width() -> None:
    volumes = (volume("scratch", stripe="md-raid10"),)
    half = replace(XFS, swidth_bytes=512 * KIB)
    left = [
        member(slot, level="raid10", events=1, active=(0, 1, 2), filesystem=half)
        for slot in range(3)
    ]
    left = [replace(one, md_member=replace(one.md_member, device_bytes=1000 * MIB)) for one in left]
    one = only(of(inventory(*left), *volumes))
    assert one.decision is Decision.ASSEMBLE, one.reason
    assert (one.capacity_bytes, one.swidth_bytes) == (2000 * MIB, 512 * KIB)


def test_a_group_that_runs_and_a_disk_that_grew() -> None:
    seen = inventory(pv(1), pv(2), groups=(group(pv(1), pv(2)),), machine=replace(
        FOUR, expected_disks=2))  # fmt: skip
    one = only(of(seen, volume("scratch", stripe="lvm-stripe")))
    assert one.decision is Decision.ASSEMBLE, one.reason
    assert one.capacity_bytes == 2 * (900 * GB - MIB)


def test_an_array_of_enlarged_disks() -> None:
    """As large as it will be when it has grown."""
    small = [
        member(slot, filesystem=replace(XFS, size_bytes=4000 * MIB) if slot == 0 else None)
        for slot in range(4)
    ]
    small = [
        replace(one, md_member=replace(one.md_member, device_bytes=1000 * MIB)) for one in small
    ]
    one = only(preview(DEFAULT_LAYOUT, inventory(*small)))
    assert one.decision is Decision.GROW, one.reason
    assert one.capacity_bytes == 4 * ((900 * GB - MIB) // (256 * KIB)) * 256 * KIB


@pytest.mark.parametrize(("added", "capacity"), [(900 * GB, 4), (800 * GB, None)])
def test_a_group_that_takes_more_disks_is_as_wide_as_before(
    added: int, capacity: int | None
) -> None:
    free = [disk(number, size_bytes=added) for number in (3, 4)]
    seen = inventory(pv(1), pv(2), *free, groups=(group(pv(1), pv(2)),))
    one = only(of(seen, volume("scratch", stripe="lvm-stripe")))
    assert one.decision is Decision.GROW, one.reason
    assert len(one.disks) == 4
    each = (900 * GB - MIB) // (4 * MIB) * 4 * MIB
    assert one.capacity_bytes == (None if capacity is None else capacity * each)
    assert one.swidth_bytes == 512 * KIB


def test_a_controllers_drive() -> None:
    serials = ("D0", "D1")
    declared = volume("hard", stripe="hw-raid0", select=Selector(None, serials=serials))
    drives = tuple(
        HardwareDrive(0, f"252:{at}", "m", serial, 900 * GB, "UGood")
        for at, serial in enumerate(serials)
    )
    bare = replace(inventory(), hardware_drives=drives)
    one = only(of(bare, declared))
    assert (one.decision, one.capacity_bytes) == (Decision.CREATE, None), one.reason
    assert (one.chunk_bytes, one.swidth_bytes) == (256 * KIB, 512 * KIB)
    places = tuple(drive.place for drive in drives)
    made = VirtualDrive(0, 1, "sw-hard", "raid0", 256 * KIB, 12345, "Optl", "/dev/nvme1n1", places)
    seen = replace(inventory(disk(1)), hardware_drives=drives, virtual_drives=(made,))
    one = only(of(seen, declared))
    assert (one.decision, one.capacity_bytes) == (Decision.CREATE, 12345), one.reason
    assert one.swidth_bytes == 512 * KIB


def test_a_disk_without_a_filesystem_is_all_there() -> None:
    one = only(of(inventory(*BLANK), volume(select=Selector(STORE, count=1), filesystem="none")))
    assert (one.capacity_bytes, one.chunk_bytes) == (900 * GB, None)


def test_a_refusal_says_why_and_has_no_size() -> None:
    foreign = replace(plain(4), filesystem=None, signatures=plain(4).signatures)
    foreign = replace(
        foreign, signatures=(replace(foreign.signatures[0], kind="ext4", label="precious"),)
    )
    found = of(inventory(*BLANK[:3], foreign), volume())
    one = only(found)
    assert (one.decision, one.capacity_bytes, one.swidth_bytes) == (Decision.REFUSE, None, None)
    assert "/dev/nvme4n1" in one.reason
    assert one.hint
    assert found.destroys == ()
    # Nobody has a disk of a volume that is refused: each says for itself.
    (why,) = [d.reason for d in found.unused if d.path == "/dev/nvme4n1"]
    assert "ext4" in why


def test_too_few_disks_are_refused_and_not_waited_for() -> None:
    one = only(of(inventory(*BLANK[:3]), volume()))
    assert (one.decision, one.capacity_bytes) == (Decision.REFUSE, None)
    one = only(of(inventory(*BLANK[:3]), volume(on_short="accept")))
    assert (one.decision, len(one.disks)) == (Decision.CREATE, 3)


def network(serial: str) -> Disk:
    """An EBS volume as boot left it: nobody named it, so nobody opened it."""
    return replace(
        disk(9, serial=serial), model="Amazon Elastic Block Store", blank=None, stable_path=""
    )


def test_a_network_disk_that_only_the_new_layout_names_is_taken_as_blank() -> None:
    seen = inventory(*BLANK, network("vol0123456789abcdef0"))
    assert not seen.disks[4].claimable
    by_serial = volume("ebs", select=Selector(None, serials=("vol-0123456789abcdef0",)))
    one = only(of(seen, by_serial))
    assert (one.decision, one.unread) == (Decision.CREATE, ("/dev/nvme9n1",))
    rule = OperatorRule(serials=("vol0123456789abcdef0",), role="slow")
    layout = Layout((volume("ebs", select=Selector(None, "slow")),), rules=(rule,))
    assert only(preview(layout, seen)).unread == ("/dev/nvme9n1",)
    # Without a name it is nobody's.
    found = of(seen, volume())
    assert [one.path for one in found.unused] == ["/dev/nvme9n1"]
    assert "no role given" in found.unused[0].reason
    # And not what something is known of.
    signed = replace(seen.disks[4], signatures=plain().signatures)
    one = only(of(replace(seen, disks=(*seen.disks[:4], signed)), by_serial))
    assert (one.decision, one.unread) == (Decision.REFUSE, ())


def test_a_network_disk_that_carries_the_volume_is_not_taken_as_blank() -> None:
    """udev's database has the label of a disk that boot did not open."""
    ours = replace(network("vol0123456789abcdef0"), signatures=plain().signatures)
    one = only(
        of(inventory(ours), volume("scratch", select=Selector(None, serials=(ours.serial,))))
    )
    assert one.decision is not Decision.CREATE
    assert ([d.path for d in one.disks], one.unread) == ([ours.path], ())


def test_a_role_of_the_layout_before_counts_no_more() -> None:
    seen = inventory(
        *BLANK, layout=Layout((volume(),), rules=(OperatorRule(serials=("AWS00001",), role="x"),))
    )
    assert seen.disks[0].role == "x"
    assert len(only(of(seen, volume())).disks) == 4


def test_a_disk_that_nobody_could_read_is_not_taken_as_blank() -> None:
    one = only(of(inventory(*BLANK[:3], replace(BLANK[3], blank=None)), volume()))
    assert (one.decision, one.unread) == (Decision.REFUSE, ())


def test_no_volume_and_no_disk() -> None:
    assert of(inventory(*BLANK)).volumes == ()
    assert len(of(inventory(*BLANK)).unused) == 4
    assert only(of(inventory(), volume())).decision is Decision.REFUSE
