from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.model.disks import Array, Disk, DiskKind, Filesystem, Machine, Scan, Signature
from appliance.model.plans import Decision, Layout, Plan, Selector
from appliance.storage.policy.planner import plan
from tests.unit.disks import (
    FOUR,
    KIB,
    LAYOUT,
    OTHER_UUID,
    SCRATCH,
    XFS,
    array,
    disk,
    held,
    inventory,
    making,
    member,
    plain,
)

FOUR_BLANK = tuple(disk(number) for number in (1, 2, 3, 4))
OURS = tuple(member(slot) for slot in range(4))
RECREATE = Layout(volumes=(replace(SCRATCH, on_loss="recreate"),))
ACCEPT = Layout(volumes=(replace(SCRATCH, on_short="accept"),))
UNKNOWN_TYPE = Machine()


def decide(
    *disks: Disk,
    layout: Layout = LAYOUT,
    arrays: tuple[Array, ...] = (),
    machine: Machine = FOUR,
    waited: bool = True,
    privileged: bool = True,
) -> Plan:
    seen = inventory(*disks, arrays=arrays, machine=machine, privileged=privileged)
    return plan(seen, layout, waited=waited)


def programs(made: Plan) -> list[str]:
    """The programs, and our own chores by their name."""
    return [step.argv[2] if step.argv[0] == "stripewright" else step.argv[0] for step in made.steps]


CREATED = ["mark", "mdadm", "mkfs.xfs", "mount", "unmark"]


# ------------------------------------------------------------------------------ create


def test_four_blank_disks_are_created_in_the_order_of_their_ids() -> None:
    made = decide(*reversed(FOUR_BLANK))
    assert made.decision is Decision.CREATE
    assert programs(made) == CREATED
    for step in made.steps[:2]:
        assert step.argv[-4:] == tuple(one.stable_path for one in FOUR_BLANK)
        assert [gone.serial for gone in step.destroys] == [one.serial for one in FOUR_BLANK]
    # The tools stay the last to refuse.
    assert not {"--run", "-f", "-F"} & {word for step in made.steps for word in step.argv}
    assert made.volumes[0].reason == "all 4 disks of instance storage that m5d.24xlarge has, blank"


def test_the_reason_says_what_the_least_known_disk_could_hide() -> None:
    whole, sampled = Scan(900 * 10**9, 0, 0), Scan(9 * 10**9, 40_000, 200 * 1024**2)
    first, *rest = FOUR_BLANK
    made = decide(replace(first, scan=sampled), *(replace(one, scan=whole) for one in rest))
    assert "has, blank (1.0 % read, 40,000 samples: anything larger than 200 MiB" in (
        made.volumes[0].reason
    )
    made = decide(*(replace(one, scan=whole) for one in FOUR_BLANK))
    assert made.volumes[0].reason.endswith("has, blank (all of it read)")


def test_a_scan_is_no_fact_that_a_plan_stands_on() -> None:
    """Each look draws other samples, and the plan that was confirmed stays the same."""
    before = decide(*FOUR_BLANK).digest
    scanned = (replace(one, scan=Scan(9 * 10**9, 40_000, 200 * 1024**2)) for one in FOUR_BLANK)
    assert decide(*scanned).digest == before


def test_without_a_machine_id_only_named_disks_are_made_into_a_volume() -> None:
    nobody = replace(FOUR, anonymous=True)
    made = decide(*FOUR_BLANK, machine=nobody)
    assert made.decision is Decision.REFUSE
    assert "no machine id" in made.volumes[0].reason
    named = replace(SCRATCH, select=Selector(None, serials=tuple(d.serial for d in FOUR_BLANK)))
    here = Layout((named,))
    assert decide(*FOUR_BLANK, machine=nobody, layout=here).decision is Decision.CREATE


def test_one_disk_is_plain() -> None:
    made = decide(disk(1), machine=replace(FOUR, expected_disks=1))
    assert made.decision is Decision.CREATE
    assert programs(made) == ["mark", "mkfs.xfs", "mount", "unmark"]
    assert made.steps[0].argv[4] == "end"
    assert made.steps[0].argv[-1] == disk(1).stable_path
    assert made.steps[1].destroys[0].serial == disk(1).serial
    # The last MiB, where the mark is, is never the filesystem's.
    size = (900 * 10**9 - 2**20) // 4096 * 4096
    assert f"size={size},noalign" in made.steps[1].argv


def test_an_unknown_machine_type_counts_nothing_and_says_so() -> None:
    made = decide(*FOUR_BLANK[:3], machine=UNKNOWN_TYPE)
    assert made.decision is Decision.CREATE
    assert "could not be checked" in made.volumes[0].reason


def test_a_disk_too_few_waits_and_is_then_refused_with_type_and_count() -> None:
    waiting = decide(*FOUR_BLANK[:3], waited=False)
    assert (waiting.decision, waiting.steps) == (Decision.WAIT, ())
    refused = decide(*FOUR_BLANK[:3])
    assert (refused.decision, refused.steps) == (Decision.REFUSE, ())
    assert "found 3 disks of instance storage, m5d.24xlarge has 4" in refused.volumes[0].reason
    assert 'on_short = "accept"' in refused.volumes[0].hint


def test_a_short_stripe_only_by_declaration_and_after_waiting() -> None:
    assert decide(*FOUR_BLANK[:3], layout=ACCEPT, waited=False).decision is Decision.WAIT
    made = decide(*FOUR_BLANK[:3], layout=ACCEPT)
    assert made.decision is Decision.CREATE
    assert "accepted by on_short" in made.volumes[0].reason


@pytest.mark.parametrize("layout", [LAYOUT, ACCEPT])
def test_no_disks_at_all(layout: Layout) -> None:
    assert decide(machine=UNKNOWN_TYPE, waited=False).decision is Decision.WAIT
    made = decide(disk(0, holds_root=True), layout=layout, machine=UNKNOWN_TYPE)
    assert made.decision is Decision.REFUSE
    assert made.volumes[0].reason == "no instance storage found"


@pytest.mark.parametrize(
    "facts",
    [
        {"signatures": (Signature("ext4", 0x438),), "blank": False},
        {"partitions": ("p1",)},
        {"mountpoints": ("/data",)},
        {"holders": ("dm-0",)},
        {"swap": True},
        {"read_only": True},
        {"busy": True},
        {"size_bytes": 0},
        {"blank": False, "nonzero_offset_bytes": 4096},
        {"blank": None},
    ],
)
def test_one_disk_in_the_way_refuses_the_volume_at_once(facts: dict[str, object]) -> None:
    for waited in (False, True):
        made = decide(*FOUR_BLANK[:3], disk(4, **facts), waited=waited)
        assert (made.decision, made.steps) == (Decision.REFUSE, ())
        assert made.volumes[0].disks == ("/dev/nvme4n1",)
        assert "/dev/nvme4n1 (serial AWS00004)" in made.volumes[0].reason
        assert made.volumes[0].hint


def test_a_document_cannot_claim_a_disk_that_it_shows_with_a_signature() -> None:
    seen = inventory(*FOUR_BLANK)
    lying = replace(seen.disks[0], claimable=True, signatures=(Signature("ext4", 0x438),))
    made = plan(replace(seen, disks=(lying, *seen.disks[1:])), LAYOUT, waited=True)
    assert made.decision is Decision.REFUSE


def test_two_disks_that_cannot_be_told_apart() -> None:
    made = decide(*FOUR_BLANK[:3], disk(9, serial="AWS00001"))
    assert made.decision is Decision.REFUSE
    assert "cannot be told apart" in made.volumes[0].reason


# ---------------------------------------------------------------------------- assemble


def test_a_whole_array_is_assembled_by_uuid_in_slot_order() -> None:
    made = decide(*reversed(OURS), waited=False)
    assert made.decision is Decision.ASSEMBLE
    assert programs(made) == ["mdadm", "mount"]
    assert "--uuid=8f3aff54:cb72c56c:6d0a5fe1:cbc332e8" in made.steps[0].argv
    assert not any(step.destroys for step in made.steps)


def test_a_mounted_array_needs_nothing() -> None:
    members = held(*OURS)
    made = decide(*members, arrays=(array(*members, mountpoint="/mnt/scratch"),))
    assert (made.decision, made.steps) == (Decision.NOTHING, ())


def test_an_assembled_array_is_mounted_by_its_node() -> None:
    members = held(*OURS)
    made = decide(*members, arrays=(array(*members),))
    assert made.decision is Decision.ASSEMBLE
    assert programs(made) == ["mount"]
    assert "/dev/md127" in made.steps[0].argv


@pytest.mark.parametrize(
    ("facts", "fragment"),
    [
        ({"state": "broken"}, "is broken"),
        ({"mountpoint": "/elsewhere"}, "mounted at /elsewhere, not at /mnt/scratch"),
        ({"filesystem": Filesystem("ext4", "scratch", "u")}, "holds ext4 labelled 'scratch'"),
        ({"filesystem": replace(XFS, label="data")}, "holds xfs labelled 'data'"),
        ({"filesystem": replace(XFS, sunit_bytes=64 * KIB)}, "sunit 65536"),
        ({"filesystem": None, "blank": False}, "holds data, but no filesystem"),
        (
            {"chunk_bytes": 64 * KIB},
            "with chunk 64KiB, the layout declares raid0 with chunk 256KiB",
        ),
    ],
)
def test_an_assembled_array_that_is_not_as_declared(
    facts: dict[str, object], fragment: str
) -> None:
    members = held(*OURS)
    made = decide(*members, arrays=(array(*members, **facts),))
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert fragment in made.volumes[0].reason


def test_array_members_in_another_order_than_their_slots() -> None:
    members = held(*OURS)
    made = decide(*members, arrays=(array(*reversed(members)),))
    assert made.decision is Decision.REFUSE


def test_where_nobody_knows_the_number_disks_are_waited_for_until_none_comes() -> None:
    seen = inventory(*FOUR_BLANK[:2], machine=UNKNOWN_TYPE)
    early = plan(seen, LAYOUT, waited=False, settled=False)
    assert (early.decision, early.steps) == (Decision.WAIT, ())
    assert early.volumes[0].settles
    assert "it is not known how many there are" in early.volumes[0].reason
    assert plan(seen, LAYOUT, waited=True, settled=False).decision is Decision.CREATE
    # A preview shows what would come of it.
    assert plan(seen, LAYOUT, waited=False).decision is Decision.CREATE
    none = plan(inventory(machine=UNKNOWN_TYPE), LAYOUT, waited=False, settled=False)
    assert (none.decision, none.volumes[0].settles) == (Decision.WAIT, False)


def test_blank_disks_beside_a_whole_volume_are_named() -> None:
    five = replace(FOUR, expected_disks=5)
    assert (
        "blank and unused: /dev/nvme9n1" in decide(*OURS, disk(9), machine=five).volumes[0].reason
    )
    members = held(*OURS)
    running = array(*members, mountpoint="/mnt/scratch")
    made = decide(*members, disk(9), arrays=(running,), machine=five)
    assert made.decision is Decision.NOTHING
    assert "blank and unused: /dev/nvme9n1" in made.volumes[0].reason
    assert "not used" not in decide(*OURS).volumes[0].reason


def test_an_array_that_exists_but_does_not_run_is_stopped_first() -> None:
    members = held(*OURS)
    made = decide(*members, arrays=(array(*members, state="inactive", filesystem=None),))
    assert [step.argv[:2] for step in made.steps[:2]] == [
        ("mdadm", "--stop"),
        ("mdadm", "--assemble"),
    ]


# -------------------------------------------------------------------------------- loss


def test_a_member_late_then_lost() -> None:
    assert decide(*OURS[:3], waited=False).decision is Decision.WAIT
    made = decide(*OURS[:3])
    assert made.decision is Decision.REFUSE
    assert "has 3 of 4 members; lost: slot 3" in made.volumes[0].reason
    assert 'on_loss = "recreate"' in made.volumes[0].hint


def test_a_member_replaced_by_a_blank_disk() -> None:
    made = decide(OURS[0], OURS[2], OURS[3], disk(9))
    assert made.decision is Decision.REFUSE
    assert "lost: slot 1" in made.volumes[0].reason
    assert "/dev/nvme9n1" in made.volumes[0].reason


def test_recreate_is_done_only_when_declared_and_after_marking_what_is_left() -> None:
    assert decide(*OURS[:3], disk(9), layout=RECREATE, waited=False).decision is Decision.WAIT
    made = decide(*OURS[:3], disk(9), layout=RECREATE)
    assert made.decision is Decision.RECREATE
    assert programs(made) == CREATED
    assert "--run" in made.steps[1].argv
    assert [one.holds for one in made.steps[0].destroys] == [
        *["a member of the lost volume, its data given up"] * 3, "blank",
    ]  # fmt: skip


def test_only_instance_storage_is_recreated() -> None:
    network = [replace(one, kind=DiskKind.NETWORK, role="data") for one in OURS[:3]]
    volume = replace(SCRATCH, on_loss="recreate", select=Selector(None, role="data"))
    seen = replace(
        inventory(), disks=tuple(replace(one, claimable=True) for one in (*network, disk(9)))
    )
    made = plan(seen, Layout((volume,)), waited=True)
    assert made.decision is Decision.REFUSE
    assert "is not instance storage, and nothing else is made again" in made.volumes[0].reason


def test_recreate_is_not_done_over_a_foreign_or_missing_disk() -> None:
    foreign = disk(9, signatures=(Signature("ext4", 0x438),), blank=False)
    assert decide(*OURS[:3], foreign, layout=RECREATE).decision is Decision.REFUSE
    assert decide(*OURS[:3], layout=RECREATE).decision is Decision.REFUSE
    other = member(0, number=9, name="stripewright:data")
    assert decide(*OURS[:3], other, layout=RECREATE).decision is Decision.REFUSE
    swapped = replace(disk(9, swap=True), claimable=True)
    assert decide(*OURS[:3], swapped, layout=RECREATE).decision is Decision.REFUSE


def test_recreate_is_not_done_while_the_broken_array_still_runs() -> None:
    members = held(*OURS[:3])
    running = array(*members, state="broken", member_count=4, mountpoint="/mnt/scratch")
    made = decide(*members, disk(9), arrays=(running,), layout=RECREATE)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())


# ----------------------------------------------------------------------------- strangers


def test_two_arrays_with_our_name() -> None:
    made = decide(*OURS[:2], member(2, uuid=OTHER_UUID), member(3, uuid=OTHER_UUID))
    assert made.decision is Decision.REFUSE
    assert "2 different arrays carry the name 'scratch'" in made.volumes[0].reason


def test_a_copy_of_a_member() -> None:
    made = decide(*OURS, member(3, number=9))
    assert made.decision is Decision.REFUSE
    assert "is here more than once" in made.volumes[0].reason


@pytest.mark.parametrize(("count", "slot"), [(0, 0), (2**32 - 1, 0), (4, 7), (4, None)])
def test_superblocks_with_impossible_numbers(count: int, slot: int | None) -> None:
    assert decide(member(slot, number=1, count=count)).decision is Decision.REFUSE


def test_a_raid10_of_impossible_size_costs_no_memory() -> None:
    """A disk's writer chooses the count of members, and root reads it at every boot."""
    mirrored = Layout(volumes=(replace(SCRATCH, stripe="md-raid10"),))
    limits = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**30, limits[1]))
    try:
        made = decide(member(0, count=2**32 - 1, level="raid10"), layout=mirrored)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert made.decision is Decision.REFUSE


def test_our_name_on_a_network_volume() -> None:
    ebs = member(0, number=7, model="Amazon Elastic Block Store", serial="vol0abc")
    made = decide(ebs, *FOUR_BLANK)
    assert made.decision is Decision.REFUSE
    assert "no instance storage" in made.volumes[0].reason


def test_an_array_under_our_name_on_other_disks() -> None:
    for name in ("stripewright:scratch", "host:scratch"):
        foreign = array(path="/dev/md9", name=name, uuid=OTHER_UUID, members=("dm-3",))
        made = decide(*FOUR_BLANK, arrays=(foreign,))
        assert made.decision is Decision.REFUSE
        assert "/dev/md9 runs as" in made.volumes[0].reason


def test_an_array_of_others_on_other_disks_is_left_alone() -> None:
    foreign = array(path="/dev/md9", name="host:home", uuid=OTHER_UUID, members=("dm-3",))
    assert decide(*FOUR_BLANK, arrays=(foreign,)).decision is Decision.CREATE


def test_members_of_a_volume_that_is_not_declared() -> None:
    others = [member(slot, name="stripewright:data") for slot in range(4)]
    made = decide(*others)
    assert made.decision is Decision.REFUSE
    assert "belongs to volume 'data', which is not in the layout" in made.volumes[0].reason


# --------------------------------------------------------------------- one disk, plain


ONE = replace(FOUR, machine_type="i4i.4xlarge", expected_disks=1)


def test_a_plain_volume_is_mounted_or_left_mounted() -> None:
    made = decide(plain(), machine=ONE)
    assert (made.decision, programs(made)) == (Decision.ASSEMBLE, ["mount"])
    mounted = decide(plain(mountpoints=("/mnt/scratch",), busy=True), machine=ONE)
    assert (mounted.decision, mounted.steps) == (Decision.NOTHING, ())
    twice = decide(plain(mountpoints=("/x", "/mnt/scratch"), busy=True), machine=ONE)
    assert (twice.decision, twice.steps) == (Decision.NOTHING, ())
    elsewhere = decide(plain(mountpoints=("/x",), busy=True), machine=ONE)
    assert elsewhere.decision is Decision.REFUSE


def test_a_plain_volume_among_more_disks() -> None:
    assert decide(plain(), disk(2), machine=UNKNOWN_TYPE).decision is Decision.REFUSE
    assert decide(plain(1), plain(2), machine=UNKNOWN_TYPE).decision is Decision.REFUSE
    assert decide(plain(9), *OURS).decision is Decision.REFUSE


def test_a_plain_volume_whose_mkfs_never_ended() -> None:
    half = plain(filesystem=replace(XFS, unfinished=True, label=""))
    (marked,) = making(half)
    made = decide(marked, machine=ONE)
    assert programs(made) == ["mark", "mkfs.xfs", "mount", "unmark"]
    assert made.steps[1].argv[1] == "-f"
    assert decide(half, machine=ONE).decision is Decision.REFUSE


# ------------------------------------------------------------------------- without root


def test_without_root_a_preview_is_made_from_what_udev_knows() -> None:
    unread = [replace(one, blank=None) for one in FOUR_BLANK]
    made = decide(*unread, privileged=False)
    assert made.decision is Decision.CREATE
    assert "not read without root" in made.volumes[0].reason
    labelled = Signature("linux_raid_member", None, "stripewright:scratch", "u")
    members = [replace(one, signatures=(labelled,)) for one in unread]
    assert decide(*members, privileged=False).decision is Decision.ASSEMBLE
    running = held(*members)
    mounted = array(*running, mountpoint="/mnt/scratch", filesystem=replace(XFS, sunit_bytes=None))
    assert decide(*running, arrays=(mounted,), privileged=False).decision is Decision.NOTHING


# ------------------------------------------------------------------------------ read in full

_HALF = Scan(10**9, 0, 10**9)


def being_read(number: int) -> Disk:
    return replace(disk(number), blank=None, scan=_HALF, claimable=False, reason="is being read")


def test_what_has_to_be_read_in_full_is_waited_for_and_then_refused() -> None:
    disks = [being_read(1), *FOUR_BLANK[1:]]
    made = decide(*disks, waited=False)
    assert made.volumes[0].decision is Decision.WAIT
    assert made.volumes[0].reading
    assert "so it is read in full" in made.volumes[0].reason
    late = decide(*disks)
    assert late.volumes[0].decision is Decision.REFUSE
    assert not late.volumes[0].reading


def test_reading_is_not_waited_for_where_another_disk_speaks_against_it() -> None:
    foreign = replace(disk(2), blank=False, claimable=False, reason="holds an ext4 signature")
    made = decide(being_read(1), foreign, *FOUR_BLANK[2:], waited=False)
    assert made.volumes[0].decision is Decision.REFUSE


def test_a_lost_volume_waits_for_reading_only_if_it_is_made_anew() -> None:
    disks = [being_read(5), *OURS[:3]]
    kept = decide(*disks, waited=False)
    assert (kept.volumes[0].decision, kept.volumes[0].reading) == (Decision.WAIT, False)
    anew = decide(*disks, layout=RECREATE, waited=False)
    assert (anew.volumes[0].decision, anew.volumes[0].reading) == (Decision.WAIT, True)
