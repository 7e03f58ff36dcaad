"""What our own marks on disks prove, and what they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import Array, Disk, Filesystem, Inventory, Machine, Signature
from appliance.model.plans import Decision, Layout, Plan
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
    group,
    held,
    inventory,
    making,
    member,
    plain,
    pv,
    released,
)

FOUR_BLANK = tuple(disk(number) for number in (1, 2, 3, 4))
OURS = tuple(member(slot) for slot in range(4))
RECREATE = Layout(volumes=(replace(SCRATCH, on_loss="recreate"),))
UNKNOWN_TYPE = Machine()
CREATED = ["mark", "mdadm", "mkfs.xfs", "mount", "unmark"]


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
    }
    for name, disks in states.items():
        made = decide(*disks)
        assert made.decision is Decision.CREATE, name
        assert programs(made) == CREATED, name
        assert "--run" in made.steps[1].argv
        assert made.steps[2].argv[1] == "-f"
        assert "interrupted and starts over" in made.volumes[0].reason


MADE = "9c4f34e5" + "0" * 24
WHOLE = replace(XFS, uuid="9c4f34e5-0000-0000-0000-000000000000")
ONE = Machine(expected_disks=1)


def _whole(form: str, found: Filesystem, uuid: str, *, intact: bool = False) -> Inventory:
    """A volume with a whole filesystem, all of its disks marked as being made; mounted once,
    unless it is ``intact``.
    """
    if form == "single":
        alone = replace(found, sunit_bytes=0, swidth_bytes=0)
        return inventory(*making(plain(1, filesystem=alone), uuid=uuid, intact=intact), machine=ONE)
    if form.startswith("lvm"):
        disks = making(*[pv(number) for number in (1, 2, 3, 4)], uuid=uuid, intact=intact)
        asleep = group(*disks).volumes[0]
        logical = replace(asleep, active=form == "lvm-active", filesystem=found)
        return inventory(*disks, groups=(group(*disks, logical=logical),))
    level = "raid10" if form == "raid10" else "raid0"
    if level == "raid10":
        found = replace(found, swidth_bytes=512 * KIB)
    disks = making(
        *[member(s, level=level, filesystem=found) for s in range(4)], uuid=uuid, intact=intact
    )
    if form != "running":
        return inventory(*disks)
    # What the member was read as is older than what the array has written.
    older = replace(found, uuid="0" * 32)
    stale = making(*[member(slot, filesystem=older) for slot in range(4)], uuid=uuid, intact=intact)
    members = held(*stale)
    return inventory(*members, arrays=(array(*members, filesystem=found),))


FORMS = {
    "single": ("single", ["mount", "unmark"]),
    "raid0": ("md-raid0", ["mdadm", "mount", "unmark"]),
    "running": ("md-raid0", ["mount", "unmark"]),
    "raid10": ("md-raid10", ["mdadm", "mount", "unmark"]),
    "lvm": ("lvm-stripe", ["lvchange", "mount", "unmark"]),
    "lvm-active": ("lvm-stripe", ["mount", "unmark"]),
}


def _decide(
    form: str, found: Filesystem, uuid: str, *, intact: bool = False, **facts: object
) -> Plan:
    layout = Layout((replace(SCRATCH, stripe=FORMS[form][0], **facts),))  # type: ignore[arg-type]
    return plan(_whole(form, found, uuid, intact=intact), layout, waited=True)


@pytest.mark.parametrize("form", FORMS)
def test_what_was_made_and_mounted_is_never_made_again(form: str) -> None:
    made = _decide(form, WHOLE, MADE)
    assert (made.decision, programs(made)) == (Decision.ASSEMBLE, FORMS[form][1])
    assert not any(step.destroys for step in made.steps)
    (unmark,) = [step for step in made.steps if step.argv[2] == "unmark"]
    assert len(unmark.argv) - 4 == (1 if form == "single" else 4)
    assert "in-progress marks are left on" in made.volumes[0].reason


@pytest.mark.parametrize("form", FORMS)
def test_what_was_made_and_never_mounted_is_made_again(form: str) -> None:
    """Power may have gone before all of it had reached the disks. It keeps its UUID, by which
    the next attempt knows what this one has left.
    """
    made = _decide(form, WHOLE, MADE, intact=True)
    assert made.decision is Decision.CREATE
    (mark,) = [step for step in made.steps if step.argv[2:3] == ("mark",)]
    assert f"uuid={MADE}" in mark.argv
    assert programs(made)[-2:] == ["mount", "unmark"]


@pytest.mark.parametrize("intact", [False, None])
@pytest.mark.parametrize("form", FORMS)
def test_half_made_and_written_to_since(form: str, intact: bool | None) -> None:
    nothing = replace(WHOLE, unfinished=True)
    seen = _whole(form, nothing, MADE)
    disks = [
        replace(one, mark=replace(one.mark, intact=intact)) if one.mark else one
        for one in seen.disks
    ]
    layout = Layout((replace(SCRATCH, stripe=FORMS[form][0]),))
    made = plan(replace(seen, disks=tuple(disks)), layout, waited=True)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    words = (
        "it is not known what was written to it since"
        if intact is None
        else ("holds what that does not write")
    )
    assert f"was being made into volume 'scratch', and {words}" in made.volumes[0].reason
    assert "--remove scratch" in made.volumes[0].hint


def test_a_volume_without_filesystem_is_whole_when_its_array_or_group_is() -> None:
    """From then on it may hold anything."""
    for form in ("raid0", "raid10", "lvm"):
        seen = _whole(form, replace(WHOLE, kind="swap"), "")
        volume = replace(SCRATCH, stripe=FORMS[form][0], filesystem="none", mount="")
        made = plan(seen, Layout((volume,)), waited=True)
        assert made.decision is Decision.ASSEMBLE
        assert programs(made)[-1] == "unmark"
        assert not any(step.destroys for step in made.steps)
    parts = making(*[member(slot) for slot in (0, 1, 2)], disk(4), intact=False)
    volume = replace(SCRATCH, filesystem="none", mount="")
    assert plan(inventory(*parts), Layout((volume,)), waited=True).decision is Decision.REFUSE


def test_what_else_is_in_a_half_made_group_or_array_is_kept() -> None:
    disks = making(*[pv(number) for number in (1, 2, 3, 4)])
    ours = group(*disks)
    other = replace(ours.volumes[0], name="backup", path="/dev/stripewright-scratch/backup")
    lvm = replace(SCRATCH, stripe="lvm-stripe")
    seen = inventory(*disks, groups=(replace(ours, volumes=(*ours.volumes, other)),))
    made = plan(seen, Layout((lvm,)), waited=True)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert "has a logical volume 'backup', too" in made.volumes[0].reason
    more = replace(ours, members=(*ours.members, "nvme-else"), member_count=5)
    made = plan(inventory(*disks, groups=(more,)), Layout((lvm,)), waited=True)
    assert "stripewright-scratch has nvme-else as a member, too" in made.volumes[0].reason
    members = held(*making(*[member(slot, filesystem=None) for slot in range(4)]))
    running = array(*members, filesystem=None)
    running = replace(running, members=(*running.members, "nvme-else"))
    made = decide(*members, arrays=(running,))
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert "/dev/md127 has nvme-else as a member, too" in made.volumes[0].reason


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("found", "uuid"),
    [
        (WHOLE, "0" * 32),
        # A mark of an older version.
        (WHOLE, ""),
        (replace(WHOLE, uuid=""), ""),
        (replace(WHOLE, uuid="0" * 8), MADE),
    ],
)
def test_a_filesystem_that_the_marks_do_not_name_is_not_made_anew(
    form: str, found: Filesystem, uuid: str
) -> None:
    made = _decide(form, found, uuid)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert f"holds xfs labelled 'scratch' ({found.uuid})" in made.volumes[0].reason
    assert "mount it at /mnt/scratch and plan again" in made.volumes[0].hint
    assert "--remove scratch" in made.volumes[0].hint


@pytest.mark.parametrize("form", [form for form in FORMS if form != "single"])
def test_a_filesystem_with_another_label_is_not_made_anew(form: str) -> None:
    made = _decide(form, replace(WHOLE, label="home"), MADE)
    assert (made.decision, made.steps) == (Decision.REFUSE, ())
    assert "labelled 'home'" in made.volumes[0].reason


@pytest.mark.parametrize("form", ["raid0", "lvm"])
@pytest.mark.parametrize("known", [True, False])
def test_where_nobody_can_see_whether_it_is_whole_nothing_is_made_anew(
    form: str, known: bool
) -> None:
    """Its beginning is late; the layout would accept a short volume."""
    seen = _whole(form, WHOLE, MADE)
    here = seen.disks[1:]
    groups = tuple(
        replace(
            one,
            members=one.members[1:],
            volumes=(replace(one.volumes[0], filesystem=None),),
        )
        for one in seen.groups
    )
    machine = FOUR if known else UNKNOWN_TYPE
    volume = replace(SCRATCH, stripe=FORMS[form][0], on_short="accept")

    def decided(*more: Disk, waited: bool = True, **facts: str) -> Plan:
        now = inventory(*here, *more, groups=groups, machine=machine)
        layout = Layout((replace(volume, **facts),))  # type: ignore[arg-type]
        return plan(now, layout, waited=waited)

    assert decided(waited=False).decision is Decision.WAIT
    refused = decided()
    assert (refused.decision, refused.steps) == (Decision.REFUSE, ())
    assert "the one that it begins with is not here" in refused.volumes[0].reason
    assert decided(disk(9)).decision is Decision.REFUSE
    assert decided(disk(9), on_loss="recreate").decision is Decision.RECREATE


def test_what_a_later_attempt_has_taken_away_is_not_waited_for() -> None:
    """The first disk is here, and no longer a member."""
    members = [member(slot, filesystem=None) for slot in (1, 2, 3)]
    made = decide(*making(disk(1), *members), machine=UNKNOWN_TYPE)
    assert made.decision is Decision.CREATE


def test_what_the_marks_name_is_confirmed_with_the_plan() -> None:
    one, other = (_decide("raid0", WHOLE, uuid) for uuid in ("0" * 32, "1" * 32))
    assert one.decision is other.decision is Decision.REFUSE
    assert one.digest != other.digest


def test_the_uuid_of_the_filesystem_is_in_the_marks_before_it_is_made() -> None:
    made, again = decide(*FOUR_BLANK), decide(*FOUR_BLANK)
    (word,) = [word for word in made.steps[0].argv if word.startswith("uuid=")]
    dashed = next(word for word in made.steps[2].argv if word.startswith("uuid="))
    assert word == dashed.replace("-", "")
    assert (made.digest, made.steps) == (again.digest, again.steps)
    # Another attempt makes another one.
    next_one = decide(*making(*FOUR_BLANK))
    assert word not in next_one.steps[0].argv
    assert next_one.steps[0].argv[5].startswith("uuid=")


def test_without_root_nobody_knows_the_uuid() -> None:
    seen = replace(inventory(*FOUR_BLANK), privileged=False)
    steps = plan(seen, LAYOUT, waited=True).steps
    assert steps
    assert not any("uuid=" in word for step in steps for word in step.argv)


def test_what_a_volume_without_filesystem_holds_is_left_alone() -> None:
    made = _decide("raid0", WHOLE, "", filesystem="none", mount="")
    assert (made.decision, programs(made)) == (Decision.ASSEMBLE, ["mdadm", "unmark"])


def test_what_was_made_is_judged_as_any_other_volume() -> None:
    other = _decide("raid0", WHOLE, MADE, filesystem="ext4")
    assert (other.decision, other.steps) == (Decision.REFUSE, ())
    assert "not ext4 labelled 'scratch'" in other.volumes[0].reason
    disks = making(*[member(slot, filesystem=WHOLE) for slot in range(4)], uuid=MADE, intact=False)
    lost = decide(*disks[:3])
    assert (lost.decision, lost.steps) == (Decision.REFUSE, ())
    assert "lost: slot 3" in lost.volumes[0].reason
    # Half of an older attempt beside it, and a mark alone.
    old = making(member(1, number=5, uuid=OTHER_UUID, filesystem=None), uuid=MADE)
    beside = decide(*disks, *old, machine=UNKNOWN_TYPE)
    assert "and it is half made on" in beside.volumes[0].reason
    bare = decide(*disks, *making(disk(9)), machine=UNKNOWN_TYPE)
    assert programs(bare) == ["mdadm", "mount", "unmark"]
    assert len(bare.steps[2].argv) - 4 == 5


def test_what_still_runs_of_a_creation_is_stopped_first() -> None:
    members = held(*making(*[member(slot, filesystem=None) for slot in range(4)]))
    made = decide(*members, arrays=(array(*members, filesystem=None),))
    assert programs(made) == ["mdadm", *CREATED]
    assert made.steps[0].argv == ("mdadm", "--stop", "/dev/md127")


def test_marks_that_are_left_on_a_finished_volume_go_when_it_is_mounted() -> None:
    made = decide(*OURS[:2], *making(*OURS[2:]))
    assert made.decision is Decision.ASSEMBLE
    assert programs(made) == ["mdadm", "mount", "unmark"]
    assert made.steps[2].argv[-2:] == tuple(one.stable_path for one in OURS[2:])


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
    assert programs(bare) == ["mdadm", "mount", "unmark"]


def test_an_array_without_filesystem_and_without_marks_is_nobodys_to_judge() -> None:
    empty = [member(slot, filesystem=None) for slot in range(4)]
    made = decide(*empty)
    assert made.decision is Decision.REFUSE
    assert "no in-progress mark" in made.volumes[0].reason
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
