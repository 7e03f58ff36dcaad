"""Each kind of layout drift is found, with the right member, and one cause is one fact."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.drift.looks import observe
from appliance.drift.rules import layout_rules
from appliance.model.findings import DriftSeverity
from tests.unit.drift_machine import (
    LAYOUT,
    OTHER_UUID,
    ROOT_MOUNT,
    XFS,
    Machine,
    booted,
    codes,
    only,
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return booted(tmp_path)


# ----------------------------------------------------------------------- an ordinary day


def test_an_ordinary_day_has_no_drift(machine: Machine) -> None:
    assert machine.layout_facts() == ()
    # I/O, a remount with the same options, other mounts, a loop device, a member that writes.
    machine.put("md127/md/array_state", "write-pending")
    machine.fake.disk("loop0", "7:0")
    machine.fake.put("block/md127/md/dev-nvme1n1/state", "in_sync")
    machine.mounts(
        ROOT_MOUNT,
        machine.line("rw,noatime,nosuid,nodev"),
        "50 22 7:0 / /mnt/iso ro,relatime - iso9660 /dev/loop0 ro",
        "51 40 0:50 / /mnt/scratch/tmp rw - tmpfs tmpfs rw",
        "52 22 0:51 / /mnt/scratch2 rw - tmpfs tmpfs rw",
    )
    assert machine.layout_facts() == ()
    assert machine.environment_facts() == ()


def test_a_disk_that_is_plugged_in_is_no_drift(machine: Machine) -> None:
    machine.fake.disk("nvme9n1", "259:90", model="Amazon Elastic Block Store", serial="vol1")
    assert machine.layout_facts() == ()


def test_what_a_plan_has_changed_is_no_drift(machine: Machine) -> None:
    machine.put("md127/md/chunk_size", str(2 * 262144))
    machine.mounts(ROOT_MOUNT, machine.line(more="rw,sunit=1024,swidth=4096,noquota"))
    (machine.root / "layout.toml").write_text(LAYOUT + 'chunk = "512KiB"\n')
    assert codes(machine.layout_facts())
    machine.boot()
    # The probe's stand-in for the superblock does not know of it.
    state = machine.state()
    state["volumes"][0] |= {"sunit_bytes": 524288, "swidth_bytes": 2097152}
    machine.write(state)
    assert machine.layout_facts() == ()


# ------------------------------------------------------------------------ array and members


def test_a_member_of_a_raid0_that_is_pulled_out(machine: Machine) -> None:
    machine.pull("nvme3n1")
    missing = only(machine.layout_facts(), "MEMBER-MISSING")
    assert (missing.member, missing.volume, missing.subject) == ("AWS3", "scratch", "AWS3")
    assert "has not noticed" in missing.summary
    machine.put("md127/md/array_state", "broken")
    broken, missing = machine.layout_facts()
    assert (broken.code, broken.member, broken.subject) == ("ARRAY-BROKEN", "AWS3", "scratch")
    assert (missing.code, missing.member) == ("MEMBER-MISSING", "AWS3")
    assert broken.observed == "array_state broken"


def test_a_broken_array_explains_that_its_filesystem_has_stopped(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EIO))
    machine.put("md127/md/array_state", "broken")
    assert only(machine.layout_facts(), "ARRAY-BROKEN").member == ""


def test_an_array_that_somebody_made_readonly_has_lost_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.put("md127/md/array_state", "readonly")
    found = only(machine.layout_facts(), "ARRAY-READONLY")
    assert (found.severity, found.member) == (DriftSeverity.WARNING, "")
    assert "lost" not in found.summary
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EIO))
    assert codes(machine.layout_facts()) == ["ARRAY-READONLY", "FS-FAILED"]
    machine.pull("nvme3n1")
    assert codes(machine.layout_facts()) == ["ARRAY-READONLY", "MEMBER-MISSING"]
    assert "has not noticed" in machine.layout_facts()[1].summary


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("device/state", "dead"), ("device/state", "offline"), ("size", "0")],
)
def test_a_disk_that_the_kernel_has_given_up_is_missing(
    machine: Machine, attribute: str, value: str
) -> None:
    machine.put(f"nvme2n1/{attribute}", value)
    assert only(machine.layout_facts(), "MEMBER-MISSING").member == "AWS2"


def test_another_disk_under_the_name_of_one_that_was_pulled_out(machine: Machine) -> None:
    block = machine.root / "sys/block/md127/md/dev-nvme3n1/block"
    block.symlink_to(machine.root / "sys/block/nvme3n1")
    assert machine.layout_facts() == ()
    machine.pull("nvme3n1")
    machine.local_disk("nvme3n1", "259:99", "AWS9")
    # md's link still leads to the device that it opened.
    block.unlink()
    block.symlink_to(machine.root / "gone-nvme3n1")
    assert only(machine.layout_facts(), "MEMBER-MISSING").member == "AWS3"


def test_a_mirrored_array_that_runs_without_a_member(machine: Machine) -> None:
    _as_raid10(machine)
    assert machine.layout_facts() == ()
    machine.put("md127/md/degraded", "1")
    machine.put("md127/md/dev-nvme2n1/state", "faulty")
    degraded = only(machine.layout_facts(), "ARRAY-DEGRADED")
    assert (degraded.member, degraded.subject) == ("AWS2", "scratch")
    # Given up by the array, and still here.
    machine.remove("md127/md/dev-nvme2n1")
    assert only(machine.layout_facts(), "ARRAY-DEGRADED").member == "AWS2"
    machine.pull("nvme2n1")
    facts = machine.layout_facts()
    assert [(one.code, one.member) for one in facts] == [
        ("ARRAY-DEGRADED", "AWS2"),
        ("MEMBER-MISSING", "AWS2"),
    ]
    before = facts[0].identity
    machine.put("md127/md/sync_action", "recover")
    machine.put("md127/md/sync_completed", "12 / 100")
    rebuilt = machine.layout_facts()[0]
    assert rebuilt.identity == before, "progress makes no new finding"
    assert "recover 12 %" in rebuilt.summary


def test_a_mirror_that_came_up_degraded_is_still_a_fact(machine: Machine) -> None:
    _as_raid10(machine, lost="nvme2n1")
    assert only(machine.layout_facts(), "ARRAY-DEGRADED").evidence["degraded_at_boot"] == 1
    # The slots behind the empty one are not taken for others.
    machine.pull("nvme4n1")
    facts = machine.layout_facts()
    assert [one.member for one in facts if one.code == "MEMBER-MISSING"] == ["AWS4"]


def test_a_mirror_whose_filesystem_stops_is_told_both(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_raid10(machine)
    machine.put("md127/md/degraded", "1")
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EIO))
    assert codes(machine.layout_facts()) == ["ARRAY-DEGRADED", "FS-FAILED"]


def _as_raid10(machine: Machine, lost: str = "") -> None:
    machine.put("md127/md/level", "raid10")
    machine.put("md127/md/degraded", "1" if lost else "0")
    if lost:
        machine.remove(f"md127/md/dev-{lost}")
    (machine.root / "layout.toml").write_text(LAYOUT + 'stripe = "md-raid10"\n')
    machine.boot()


def test_an_array_that_was_stopped(machine: Machine) -> None:
    _stop(machine)
    assert only(machine.layout_facts(), "ARRAY-MISSING").subject == "scratch"


def test_an_array_that_does_not_run(machine: Machine) -> None:
    machine.put("md127/md/array_state", "inactive")
    assert "inactive" in only(machine.layout_facts(), "ARRAY-MISSING").observed


def _stop(machine: Machine) -> None:
    (machine.root / "sys/dev/block/9:127").unlink()
    (machine.root / "dev/stripewright/scratch").unlink()
    (machine.root / "run/udev/data/b9:127").unlink()
    (machine.root / "sys/block/md127").rename(machine.root / "stopped")
    for name in machine.names:
        (machine.root / f"sys/block/{name}/holders/md127").unlink()
    machine.mounts(ROOT_MOUNT)


@pytest.mark.parametrize("mounted", [True, False])
def test_an_array_that_was_made_again_with_another_chunk(machine: Machine, mounted: bool) -> None:
    _stop(machine)
    machine.fake.array("md0", "9:0", machine.names)
    machine.put("md0/md/chunk_size", "65536")
    machine.udev("9:0", MD_NAME="host:0", MD_UUID=OTHER_UUID)
    if mounted:
        machine.mounts(ROOT_MOUNT, machine.line(more="rw,sunit=128,swidth=512", device="9:0"))
    chunk = only(machine.layout_facts(), "STRIPE-CHUNK")
    assert (chunk.expected, chunk.observed) == ("chunk 256 KiB", "chunk 64 KiB")
    assert chunk.volume == "scratch"


def test_an_array_that_was_made_again_as_it_was(machine: Machine) -> None:
    machine.udev("9:127", MD_NAME="stripewright:scratch", MD_UUID=OTHER_UUID)
    assert OTHER_UUID in only(machine.layout_facts(), "ARRAY-MISSING").observed


def test_a_level_that_is_another(machine: Machine) -> None:
    machine.put("md127/md/level", "raid10")
    found = only(machine.layout_facts(), "STRIPE-LEVEL")
    assert (found.expected, found.observed) == ("level raid0", "level raid10")


def test_a_chunk_that_is_not_the_declared_one(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text(LAYOUT + 'chunk = "1MiB"\n')
    assert only(machine.layout_facts(), "STRIPE-CHUNK").expected == "chunk 1 MiB"


def test_another_disk_in_a_members_place(machine: Machine) -> None:
    machine.local_disk("nvme7n1", "259:70", "AWS7")
    machine.remove("md127/md/dev-nvme2n1")
    machine.put("md127/md/dev-nvme7n1/slot", "1")
    swapped = next(one for one in machine.layout_facts() if one.code == "MEMBER-SWAPPED")
    assert (swapped.member, swapped.evidence["was"]) == ("AWS7", "AWS2")
    assert "slot 1" in swapped.expected


def test_members_in_another_order(machine: Machine) -> None:
    machine.put("md127/md/dev-nvme1n1/slot", "1")
    machine.put("md127/md/dev-nvme2n1/slot", "0")
    order = only(machine.layout_facts(), "MEMBER-ORDER")
    assert order.expected == "AWS1, AWS2, AWS3, AWS4"
    assert order.observed == "AWS2, AWS1, AWS3, AWS4"


def test_the_same_disks_under_other_names_are_no_drift(machine: Machine) -> None:
    for name, other in (("nvme1n1", "nvme5n1"), ("nvme2n1", "nvme1n1"), ("nvme5n1", "nvme2n1")):
        for folder in ("sys/block", "sys/block/md127/md/dev-"):
            joint = "" if folder.endswith("-") else "/"
            (machine.root / f"{folder}{joint}{name}").rename(
                machine.root / f"{folder}{joint}{other}"
            )
    assert machine.layout_facts() == ()


def test_a_disk_is_known_by_its_serial_when_udev_has_forgotten_it(machine: Machine) -> None:
    for file in (machine.root / "run/udev/data").glob("b259:*"):
        file.unlink()
    assert machine.layout_facts() == ()


def test_an_array_without_one_of_its_members(machine: Machine) -> None:
    machine.put("md127/md/raid_disks", "3")
    machine.remove("md127/md/dev-nvme4n1")
    count = only(machine.layout_facts(), "MEMBER-COUNT")
    assert (count.member, count.observed) == ("AWS4", "3 members")


def test_more_members_declared_than_there_are(machine: Machine) -> None:
    machine.fake.put("class/dmi/id/product_name", "nobody.knows")
    text = LAYOUT + 'select = { kind = "instance-store", count = 6 }\n'
    (machine.root / "layout.toml").write_text(text)
    assert only(machine.layout_facts(), "MEMBER-COUNT").expected == "6 members"


def test_fewer_disks_than_the_machine_type_has(tmp_path: Path) -> None:
    machine = Machine(tmp_path, count=3)
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS.replace("2048", "1536")))
    machine.boot()
    machine.seen()
    count = only(machine.layout_facts(), "DISK-COUNT")
    assert (count.subject, count.expected) == ("i4i.16xlarge", "4 local disks")


def test_more_disks_than_the_machine_type_has_are_worth_a_notice(machine: Machine) -> None:
    machine.local_disk("nvme9n1", "259:90", "AWS9")
    assert only(machine.layout_facts(), "DISK-COUNT").severity is DriftSeverity.NOTICE


def test_disks_are_not_counted_while_they_are_waited_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path, count=3)
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS.replace("2048", "1536")))
    machine.boot(outcome="waiting")
    machine.seen()
    assert machine.layout_facts() == ()
    assert ("DISK-COUNT", "") in machine.look().blind
    machine.worker.rmdir()
    assert codes(machine.layout_facts()) == ["DISK-COUNT"], "nobody waits for them any more"


def test_an_array_that_nobody_declared(machine: Machine) -> None:
    machine.fake.disk("sdx", "8:1", serial="X")
    machine.fake.disk("md0", "9:5")
    machine.put("md0/md/dev-sdx/slot", "0")
    machine.put("md0/md/array_state", "clean")
    machine.udev("9:5", MD_NAME="host:theirs", MD_UUID=OTHER_UUID)
    appeared = only(machine.layout_facts(), "ARRAY-APPEARED")
    assert appeared.subject == "host:theirs"
    assert appeared.identity == f"md:{OTHER_UUID.replace(':', '')}"
    assert appeared.evidence["disks"] == "X"
    machine.boot(changed=())
    assert codes(machine.layout_facts()) == ["ARRAY-APPEARED"], "a later look does not accept it"


def test_an_array_of_somebody_elses_that_was_there(machine: Machine) -> None:
    machine.fake.disk("sdx", "8:1", serial="X")
    machine.fake.disk("md0", "9:5")
    machine.put("md0/md/dev-sdx/slot", "0")
    machine.put("md0/md/array_state", "clean")
    machine.write({})
    # Before udev had a look at it.
    machine.boot()
    assert machine.layout_facts() == ()
    machine.udev("9:5", MD_NAME="host:theirs", MD_UUID=OTHER_UUID)
    assert machine.layout_facts() == ()


def test_a_group_that_nobody_declared(machine: Machine) -> None:
    machine.fake.mapped("dm-0", ["nvme0n1"], dm=("LVM-" + "a" * 64, "their--vg-lv"))
    assert only(machine.layout_facts(), "ARRAY-APPEARED").subject == "their-vg"


def test_the_volumes_own_array_is_the_one_with_its_uuid(machine: Machine) -> None:
    seen = machine.look()
    (array,), (volume,) = seen.arrays, seen.volumes
    # One that somebody gave its name, and its own, whose name was taken away.
    named = replace(array, kernel_name="md5", number="9:5", uuid=OTHER_UUID, slots=())
    ours = replace(array, name="elsewhere:0")
    seen = replace(seen, built_then={}, built_now={}, arrays=(named, ours))
    assert layout_rules.judge(seen) == ()
    # Where no UUID was written down, one that has none is not the volume's for that.
    bare = replace(named, uuid="", name="")
    seen = replace(seen, arrays=(bare, array), volumes=(replace(volume, uuid=""),))
    assert array.uuid in only(layout_rules.judge(seen), "ARRAY-MISSING").observed


def test_an_array_whose_uuid_cannot_be_read_was_not_made_anew(machine: Machine) -> None:
    seen = machine.look()
    (array,) = seen.arrays
    assert layout_rules.judge(replace(seen, arrays=(replace(array, uuid=""),))) == ()
    other_form = array.uuid.upper().replace(":", "-")
    assert layout_rules.judge(replace(seen, arrays=(replace(array, uuid=other_form),))) == ()


def test_an_array_of_its_name_on_other_disks_is_looked_at(machine: Machine) -> None:
    seen = machine.look()
    (array,) = seen.arrays
    slots = tuple(
        replace(one, disk=replace(one.disk, id=f"x{one.slot}", serial=f"X{one.slot}"))
        for one in array.slots
        if one.disk is not None
    )
    theirs = replace(array, uuid=OTHER_UUID, slots=slots)
    facts = layout_rules.judge(replace(seen, arrays=(theirs,), built_then={}, built_now={}))
    assert {"MEMBER-SWAPPED"} == {one.code for one in facts if one.code.startswith("M")}


def test_a_disk_that_left_an_array_made_again_of_the_others(machine: Machine) -> None:
    machine.pull("nvme1n1")
    seen = machine.look()
    (array,) = seen.arrays
    # What was in slot 1 is in slot 0 now.
    rest = tuple(
        replace(one, slot=one.slot - 1) for one in array.slots if one.kernel_name != "nvme1n1"
    )
    md = replace(array.md, raid_disks=3, state="clean", degraded=0)
    fewer = replace(array, uuid=OTHER_UUID, slots=rest, md=md)
    facts = layout_rules.judge(replace(seen, arrays=(fewer,), built_then={}, built_now={}))
    assert ("MEMBER-MISSING", "AWS1") in {(one.code, one.member) for one in facts}


def test_an_array_that_counts_its_loss_has_noticed_it(machine: Machine) -> None:
    machine.pull("nvme1n1")
    seen = machine.look()
    for state, degraded, noticed in (("clean", 0, False), ("clean", 1, True), ("broken", 0, True)):
        md = replace(seen.arrays[0].md, state=state, degraded=degraded)
        array = replace(seen.arrays[0], md=md)
        facts = layout_rules.judge(replace(seen, arrays=(array,)))
        (gone,) = (one for one in facts if one.code == "MEMBER-MISSING")
        assert ("has not noticed yet" in gone.summary) is not noticed
