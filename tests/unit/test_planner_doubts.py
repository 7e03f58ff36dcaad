"""Where nobody can tell whether a disk is a part of a volume, nothing is made beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import (
    Disk,
    DiskKind,
    Filesystem,
    Inventory,
    LvmMember,
    Machine,
    Signature,
)
from appliance.model.plans import Decision, Layout, Orders, Plan, Selector
from appliance.storage.policy.exclusions import UNREADABLE
from appliance.storage.policy.planner import plan
from tests.unit.disks import (
    FOUR,
    KIB,
    LAYOUT,
    SCRATCH,
    XFS,
    disk,
    group,
    inventory,
    making,
    member,
    plain,
    pv,
)

UNKNOWN_TYPE = Machine()
BLANK = tuple(disk(number) for number in (1, 2, 3, 4))
TWO = Layout((replace(SCRATCH, select=Selector(DiskKind.INSTANCE_STORE, count=2)),))
RAID10 = Layout((replace(SCRATCH, stripe="md-raid10", on_loss="recreate"),))
LVM = Layout((replace(SCRATCH, stripe="lvm-stripe"),))
RAW = replace(SCRATCH, filesystem="none", mount="")
UNDECIDABLE: dict[str, dict[str, object]] = {
    "unreadable": {"signatures": (UNREADABLE,), "blank": None},
    "lvm": {"signatures": (Signature("LVM2_member", 536),), "blank": False},
    "md": {"signatures": (Signature("linux_raid_member", 4096),), "blank": False},
}


def decide(
    seen: Inventory,
    layout: Layout,
    orders: Orders | None = None,
    *,
    waited: bool = True,
    settled: bool = True,
) -> Plan:
    return plan(seen, layout, waited=waited, settled=settled, orders=orders or Orders(grow=True))


def refused(made: Plan, fragment: str) -> None:
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert fragment in made.volumes[0].reason


@pytest.mark.parametrize("facts", UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_nothing_is_made_beside_a_disk_that_may_be_the_volume(facts: dict[str, object]) -> None:
    unknown = disk(4, **facts)
    seen = inventory(*BLANK[:3], unknown)
    for layout in (LAYOUT, TWO):
        made = decide(seen, layout, waited=False)
        assert (made.decision, made.steps) == (Decision.WAIT, ())
        refused(decide(seen, layout), "/dev/nvme4n1 (serial AWS00004)")
    recreate = Layout((replace(TWO.volumes[0], on_loss="recreate"),))
    lost = inventory(member(0, count=2), *BLANK[1:3], unknown)
    refused(decide(lost, recreate), "it may be a part of the volume")
    without = inventory(member(0, count=2), *BLANK[1:])
    assert decide(without, recreate).decision is Decision.RECREATE


@pytest.mark.parametrize("stripe", ["md-raid0", "lvm-stripe"])
def test_nothing_is_made_anew_while_a_disk_may_still_come(stripe: str) -> None:
    """What is missing of the volume may be on it, however many disks are free."""
    volume = replace(TWO.volumes[0], stripe=stripe, on_loss="recreate")
    survivor = member(0, count=2) if stripe == "md-raid0" else pv(1)
    groups = (group(survivor, member_count=2),) if stripe == "lvm-stripe" else ()
    late = inventory(survivor, *BLANK[1:3], groups=groups)
    assert decide(late, Layout((volume,)), waited=False).decision is Decision.WAIT
    made = decide(late, Layout((volume,)))
    refused(made, "found 3 disks of instance storage, m5d.24xlarge has 4")
    assert "what is lost may be on a disk that has not come" in made.volumes[0].reason
    accepted = Layout((replace(volume, on_short="accept"),))
    assert decide(late, accepted).decision is Decision.RECREATE
    all_here = inventory(survivor, *BLANK[1:], groups=groups)
    assert decide(all_here, Layout((volume,))).decision is Decision.RECREATE


def test_nothing_is_made_anew_beside_disks_that_cannot_be_told_apart() -> None:
    recreate = Layout((replace(TWO.volumes[0], on_loss="recreate"),))
    twin = disk(3, serial="AWS00004")
    seen = inventory(member(0, count=2), disk(2), twin, disk(4, serial="AWS00004"))
    refused(decide(seen, recreate), "cannot be told apart")


def test_a_count_does_not_excuse_disks_that_have_not_come() -> None:
    """The old volume may be on the late one."""
    seen = inventory(*BLANK[:3])
    assert decide(seen, TWO, waited=False).decision is Decision.WAIT
    refused(decide(seen, TWO), "found 3 disks of instance storage, m5d.24xlarge has 4")
    accept = Layout((replace(TWO.volumes[0], on_short="accept"),))
    assert decide(seen, accept).decision is Decision.CREATE


def test_who_counts_waits_in_full_where_the_number_of_disks_is_unknown() -> None:
    seen = inventory(*BLANK, machine=UNKNOWN_TYPE)
    made = decide(seen, TWO, waited=False)
    assert (made.decision, made.volumes[0].settles) == (Decision.WAIT, False)
    assert decide(seen, TWO).decision is Decision.CREATE
    quiet = decide(seen, LAYOUT, waited=False)
    assert quiet.decision is Decision.CREATE
    assert "only waited until no more came" in quiet.volumes[0].reason


def test_copies_of_a_physical_volume() -> None:
    label = (Signature("LVM2_member", 536, "", "pv-uuid-1"),)
    disks = (pv(1, signatures=label), pv(2))
    copy = disk(9, signatures=label, blank=False, model="Amazon Elastic Block Store")
    seen = inventory(*disks, copy, groups=(group(*disks),), machine=UNKNOWN_TYPE)
    refused(decide(seen, LVM), "cannot be told apart")
    # The signature's UUID was not read, but LVM leaves one of the two out.
    unknown = disk(9, signatures=(Signature("LVM2_member", 536),), blank=False)
    seen = inventory(pv(1), pv(2), unknown, groups=(group(pv(1), pv(2)),), machine=UNKNOWN_TYPE)
    refused(decide(seen, LVM), "it may be a copy of a disk")
    # A disk that cannot be read does not stop a volume that is whole.
    bad = disk(9, **UNDECIDABLE["unreadable"])
    seen = inventory(pv(1), pv(2), bad, groups=(group(pv(1), pv(2)),), machine=UNKNOWN_TYPE)
    assert decide(seen, LVM).decision is Decision.ASSEMBLE


def _raid10(*events: int) -> list[Disk]:
    every = (0, 1, 2, 3)
    return [
        member(slot, level="raid10", events=count, active=every)
        for slot, count in enumerate(events)
    ]


def test_a_raid10_of_which_a_needed_member_is_behind_is_never_made_anew() -> None:
    behind = _raid10(10, 10, 5, 5)
    # Both copies of the second half are behind.
    made = decide(inventory(*behind), RAID10)
    refused(made, "is behind: /dev/nvme3n1 (serial AWS00003), /dev/nvme4n1")
    assert "mdadm --assemble --force" in made.volumes[0].hint
    late = decide(inventory(*behind[:3]), RAID10, waited=False)
    assert late.decision is Decision.WAIT
    refused(decide(inventory(*behind[:3], disk(9)), RAID10), "is behind: /dev/nvme3n1")


def test_a_raw_disk_is_the_volume_only_if_it_may_be_claimed_or_is_named() -> None:
    used = disk(1, signatures=(Signature("ext4", 0x438),), blank=False)
    one = replace(FOUR, expected_disks=1)
    by_kind = Layout((replace(RAW, stripe="single"),))
    assert decide(inventory(disk(1), machine=one), by_kind).decision is Decision.NOTHING
    refused(decide(inventory(used, machine=one), by_kind), "ext4")
    named = Layout((replace(RAW, stripe="single", select=Selector(serials=("AWS00001",))),))
    found = inventory(used, machine=UNKNOWN_TYPE, layout=named)
    assert decide(found, named).decision is Decision.NOTHING
    # One disk of a RAID0 is it only when no more come.
    striped = Layout((RAW,))
    seen = inventory(disk(1), machine=UNKNOWN_TYPE)
    early = decide(seen, striped, waited=False, settled=False)
    assert (early.decision, early.volumes[0].settles) == (Decision.WAIT, True)
    assert decide(seen, striped, waited=False).decision is Decision.NOTHING


def test_a_removal_of_one_of_several_with_the_name() -> None:
    remove = Orders(remove=("scratch",), grow=True)
    nobody = Layout(())
    refused(
        decide(inventory(plain(1), plain(2)), nobody, remove),
        "2 different filesystems carry the name",
    )
    other = replace(pv(2), lvm_member=LvmMember("pv2", "stripewright-scratch", "vg2"))
    two = (group(pv(1)), group(other, uuid="vg2"))
    refused(
        decide(inventory(pv(1), other, groups=two), nobody, remove),
        "2 different volume groups carry the name",
    )
    refused(decide(inventory(plain(1), pv(2)), nobody, remove), "2 different things")
    debris = decide(inventory(plain(1), *making(plain(2))), nobody, remove)
    assert debris.decision is Decision.REMOVE


def test_words_about_half_a_filesystem() -> None:
    half = Filesystem("xfs", "scratch", "u", 256 * KIB, 1024 * KIB, unfinished=True)
    begun = making(*[member(slot, filesystem=half) for slot in range(4)])
    assert "nothing was stored since" in decide(inventory(*begun), LAYOUT).volumes[0].reason


def test_a_growth_of_an_array_that_reached_some_of_its_members() -> None:
    xfs = replace(XFS, swidth_bytes=512 * KIB)

    def grown(*used: int) -> Plan:
        disks = []
        for slot, mib in enumerate(used):
            one = member(slot, level="raid10", events=8, active=(0, 1, 2, 3), filesystem=xfs)
            assert one.md_member is not None
            disks.append(replace(one, md_member=replace(one.md_member, used_bytes=mib << 20)))
        return decide(inventory(*disks), RAID10)

    shrink, assemble, *_ = grown(200, 200, 100, 100).steps
    assert shrink.argv[2:5] == ("shrink", "scratch", str(100 << 20))
    assert [one.rpartition("_")[2] for one in shrink.argv[5:]] == ["AWS00001", "AWS00002"]
    assert assemble.argv[:2] == ("mdadm", "--assemble")
    assert grown(200, 200, 200, 200).steps[0].argv[:2] == ("mdadm", "--assemble")
    # One of them is away, so nothing is known of what it says.
    made = grown(200, 100, 100)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert "cut off before it reached every member" in made.volumes[0].reason
