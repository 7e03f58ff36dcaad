"""What our own marks on disks prove, and what they do not."""

from __future__ import annotations

from dataclasses import replace

from appliance.model import (
    Array,
    Decision,
    Disk,
    Layout,
    Machine,
    Plan,
    Signature,
)
from appliance.storage.planner import plan
from tests.unit.disks import (
    FOUR,
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
    released,
)

FOUR_BLANK = tuple(disk(number) for number in (1, 2, 3, 4))
OURS = tuple(member(slot) for slot in range(4))
RECREATE = Layout(volumes=(replace(SCRATCH, on_loss="recreate"),))
UNKNOWN_TYPE = Machine()
CREATED = ["mark", "mdadm", "mkfs.xfs", "unmark", "mount"]


def decide(
    *disks: Disk,
    layout: Layout = LAYOUT,
    arrays: tuple[Array, ...] = (),
    machine: Machine = FOUR,
) -> Plan:
    return plan(inventory(*disks, arrays=arrays, machine=machine), layout, waited=True)


def programs(made: Plan) -> list[str]:
    """The programs, and our own chores by their name."""
    return [step.argv[2] if step.argv[0] == "stripewright" else step.argv[0] for step in made.steps]


def test_what_is_marked_as_being_made_is_begun_again() -> None:
    """Whatever the creation was killed in: half of its superblocks, no filesystem, half of one."""
    half = [member(slot, filesystem=None) for slot in (0, 1)]
    states = {
        "marks": (*making(*FOUR_BLANK[:2]), *FOUR_BLANK[2:]),
        "superblocks": making(*half, *FOUR_BLANK[2:]),
        "array": making(*[member(slot, filesystem=None) for slot in range(4)]),
        "mkfs": making(
            *[member(slot, filesystem=replace(XFS, unfinished=True)) for slot in range(4)]
        ),
        # A whole filesystem, but nobody has proved it yet; it may be an older volume's.
        "unproved": making(*OURS),
    }
    for name, disks in states.items():
        made = decide(*disks)
        assert made.decision is Decision.CREATE, name
        assert programs(made) == CREATED, name
        assert "--run" in made.steps[1].argv
        assert made.steps[2].argv[1] == "-f"
        assert "interrupted and begins again" in made.volumes[0].reason


def test_what_still_runs_of_a_creation_is_stopped_first() -> None:
    members = held(*making(*[member(slot, filesystem=None) for slot in range(4)]))
    made = decide(*members, arrays=(array(*members, filesystem=None),))
    assert programs(made) == ["mdadm", *CREATED]
    assert made.steps[0].argv == ("mdadm", "--stop", "/dev/md127")


def test_marks_that_are_left_on_a_finished_volume_go_before_it_is_mounted() -> None:
    made = decide(*OURS[:2], *making(*OURS[2:]))
    assert made.decision is Decision.ASSEMBLE
    assert programs(made) == ["mdadm", "unmark", "mount"]
    assert made.steps[1].argv[-2:] == tuple(one.stable_path for one in OURS[2:])


def test_marks_on_a_volume_that_somebody_mounted_by_hand() -> None:
    members = held(*making(*OURS))
    mounted = decide(*members, arrays=(array(*members, mountpoint="/mnt/scratch"),))
    assert (mounted.decision, programs(mounted)) == (Decision.ASSEMBLE, ["unmark"])
    elsewhere = decide(*members, arrays=(array(*members, mountpoint="/x"),))
    assert (elsewhere.decision, elsewhere.steps) == (Decision.REFUSE, ())
    assert "may hold data now" in elsewhere.volumes[0].hint


def test_a_mark_does_not_excuse_what_is_not_the_volumes() -> None:
    """Somebody used the disk after the creation was given up; the mark was not overwritten."""
    foreign = disk(4, signatures=(Signature("ext4", 0x438, "home"),), blank=False)
    assert decide(*FOUR_BLANK[:3], *making(foreign)).decision is Decision.REFUSE
    other = member(3, name="stripewright:logs")
    made = decide(*FOUR_BLANK[:3], *making(other))
    assert made.decision is Decision.REFUSE
    assert "belongs to volume 'logs'" in made.volumes[0].reason


def test_half_made_beside_a_whole_volume() -> None:
    new = [member(slot, number=5 + slot, uuid=OTHER_UUID, filesystem=None) for slot in (0, 1)]
    made = decide(*OURS, *making(*new), machine=UNKNOWN_TYPE)
    assert made.decision is Decision.REFUSE
    assert "and it is half made on" in made.volumes[0].reason
    # A mark alone is no second volume.
    bare = decide(*OURS, *making(disk(9)), machine=UNKNOWN_TYPE)
    assert programs(bare) == ["mdadm", "unmark", "mount"]


def test_an_array_without_filesystem_and_without_marks_is_nobodys_to_judge() -> None:
    empty = [member(slot, filesystem=None) for slot in range(4)]
    made = decide(*empty)
    assert made.decision is Decision.REFUSE
    assert "no mark says that it was being made" in made.volumes[0].reason
    assert "--remove scratch" in made.volumes[0].hint
    half = [member(slot, filesystem=replace(XFS, unfinished=True)) for slot in range(4)]
    assert decide(*half).decision is Decision.REFUSE


def test_released_disks_are_used_like_blank_ones_while_nobody_wrote_to_them() -> None:
    made = decide(*released(*FOUR_BLANK[:2]), *FOUR_BLANK[2:])
    assert made.decision is Decision.CREATE
    assert "--run" in made.steps[1].argv
    assert made.steps[1].destroys[0].holds == "released from volume 'old'"
    written = decide(*released(*FOUR_BLANK[:2], intact=False), *FOUR_BLANK[2:])
    assert (written.decision, written.steps) == (Decision.REFUSE, ())


def test_a_removal_that_did_not_end_is_not_undone() -> None:
    made = decide(*released(OURS[0], volume="scratch"), *OURS[1:], layout=RECREATE)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert "a removal of volume 'scratch' did not end" in made.volumes[0].reason
