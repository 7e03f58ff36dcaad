"""Drift of mounts, filesystems and links: each kind is found, and one cause is one fact."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from appliance.drift.looks import observe
from tests.unit.drift_machine import LAYOUT, ROOT_MOUNT, XFS, Machine, booted, codes, only


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return booted(tmp_path)


def test_a_volume_that_was_unmounted(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT)
    missing = only(machine.layout_facts(), "MOUNT-MISSING")
    # The mount unit itself mounts only what the boot unit has just proved.
    assert missing.next_step.endswith(
        "as root: systemctl reload-or-restart stripewright-assemble.service"
    )


def test_another_filesystem_in_the_volumes_place(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, "41 22 8:1 / /mnt/scratch rw - ext4 /dev/sda1 rw")
    assert only(machine.layout_facts(), "MOUNT-SOURCE").observed == "ext4 of /dev/sda1"


@pytest.mark.parametrize(
    "cover",
    [
        "60 40 0:60 / /mnt/scratch rw - tmpfs tmpfs rw",
        "60 22 0:60 / /mnt rw - tmpfs tmpfs rw",
        "60 40 9:127 /sub /mnt/scratch rw - xfs /tmpfs rw",
    ],
)
def test_a_mount_on_top_of_the_volume(machine: Machine, cover: str) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(), cover)
    assert "tmpfs" in only(machine.layout_facts(), "MOUNT-COVERED").observed


def test_what_only_begins_with_the_same_letters_hides_nothing(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(), "60 22 0:60 / /mnt/scr rw - tmpfs tmpfs rw")
    assert machine.layout_facts() == ()


def test_another_root_hides_everything_and_the_last_cover_is_named(machine: Machine) -> None:
    inner = "60 40 0:60 / /mnt/scratch rw - tmpfs inner rw"
    machine.mounts(ROOT_MOUNT, machine.line(), inner, "61 22 0:61 / / rw - tmpfs outer rw")
    assert only(machine.layout_facts(), "MOUNT-COVERED").observed == "tmpfs of outer at /"


def test_the_size_of_what_hides_the_volume_is_not_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = machine.state()
    state["surroundings"]["volumes"]["scratch"]["mount"]["size_bytes"] = 2**30
    machine.write(state)
    machine.mounts(ROOT_MOUNT, machine.line(), "60 40 0:60 / /mnt/scratch rw - tmpfs tmpfs rw")
    monkeypatch.setattr(observe, "_ask", lambda mount: (2**31, None))
    only(machine.layout_facts(), "MOUNT-COVERED")


def test_the_answer_of_what_hides_the_volume_is_not_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(), "60 40 0:60 / /mnt/scratch rw - fuse theirs rw")
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EIO))
    only(machine.layout_facts(), "MOUNT-COVERED")


def test_a_filesystem_that_was_read_only_when_it_came_up_has_not_stopped(
    machine: Machine,
) -> None:
    only_read = XFS.replace("rw,", "ro,")
    state = machine.state()
    state["surroundings"]["volumes"]["scratch"]["mount"]["super_options"] = only_read
    machine.write(state)
    machine.mounts(ROOT_MOUNT, machine.line(more=only_read))
    assert machine.layout_facts() == ()


def test_of_a_volume_that_is_mounted_twice_the_upper_mount_counts(machine: Machine) -> None:
    upper = machine.line("rw,nosuid,nodev,relatime").replace("40 22", "41 40")
    machine.mounts(ROOT_MOUNT, machine.line(), upper)
    assert only(machine.layout_facts(), "MOUNT-OPTIONS").evidence["lost"] == "noatime"


def test_what_is_below_the_mount_point_hides_nothing(machine: Machine) -> None:
    below = "30 22 0:60 / /mnt rw - tmpfs tmpfs rw"
    under = "31 30 0:61 / /mnt/scratch rw - tmpfs tmpfs rw"
    ours = machine.line().replace("40 22", "40 31")
    machine.mounts(ROOT_MOUNT, below, under, ours)
    assert machine.layout_facts() == ()


def test_options_that_were_changed_by_hand(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line("rw,nosuid,nodev,relatime", XFS + ",discard"))
    options = only(machine.layout_facts(), "MOUNT-OPTIONS")
    assert options.evidence["lost"] == "noatime"
    assert options.evidence["new"] == "discard,relatime"
    assert options.next_step.endswith("as root: mount -o remount,noatime /mnt/scratch")
    machine.boot(changed=())
    assert codes(machine.layout_facts()) == ["MOUNT-OPTIONS"], "a later look does not accept it"


def test_read_only_by_hand_is_an_option(machine: Machine) -> None:
    machine.mounts(ROOT_MOUNT, machine.line("ro,nosuid,nodev,noatime", XFS.replace("rw,", "ro,")))
    assert only(machine.layout_facts(), "MOUNT-OPTIONS").evidence["new"] == "ro"


def test_options_that_the_layout_declares_and_that_are_not_there(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text(LAYOUT + 'mount_options = ["discard"]\n')
    options = only(machine.layout_facts(), "MOUNT-OPTIONS")
    assert options.evidence["lost"] == "discard"
    assert options.next_step.endswith("do not support it: take it out of the layout")


def test_a_mount_point_that_the_layout_has_changed(machine: Machine) -> None:
    (machine.root / "layout.toml").write_text(LAYOUT.replace("/mnt/scratch", "/mnt/other"))
    assert only(machine.layout_facts(), "MOUNT-MISSING").expected == "mounted at /mnt/other"


@pytest.mark.parametrize("more", [XFS.replace("rw,", "ro,"), XFS + ",shutdown", "rw,emergency_ro"])
def test_a_filesystem_that_stopped_because_of_errors(machine: Machine, more: str) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(more=more))
    assert "FS-FAILED" in codes(machine.layout_facts())
    assert "MOUNT-OPTIONS" not in codes(machine.layout_facts()) or "emergency" in more


def test_a_filesystem_that_answers_with_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EIO))
    assert only(machine.layout_facts(), "FS-FAILED").observed == "it answers EIO"
    monkeypatch.setattr(observe, "_ask", lambda mount: (None, errno.EACCES))
    assert machine.layout_facts() == ()


def test_a_filesystem_that_lies_otherwise(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.mounts(ROOT_MOUNT, machine.line(more=XFS.replace("sunit=512", "sunit=128")))
    assert "sunit 64 KiB" in only(machine.layout_facts(), "FS-GEOMETRY").observed
    machine.mounts(ROOT_MOUNT, machine.line())
    machine.seen(
        filesystems={
            "scratch": {
                "kind": "xfs",
                "label": "scratch",
                "uuid": "new",
                "sunit_bytes": 262144,
                "swidth_bytes": 1048576,
            }
        }
    )
    assert "xfs new" in only(machine.layout_facts(), "FS-GEOMETRY").observed


def test_a_filesystem_of_another_size(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    state = machine.state()
    state["surroundings"]["volumes"]["scratch"]["mount"]["size_bytes"] = 2**30
    machine.write(state)
    monkeypatch.setattr(observe, "_ask", lambda mount: (2**30, None))
    assert machine.layout_facts() == ()
    monkeypatch.setattr(observe, "_ask", lambda mount: (2**31, None))
    assert "2 GiB" in only(machine.layout_facts(), "FS-GEOMETRY").observed


def test_a_geometry_that_nobody_read_is_not_compared(machine: Machine) -> None:
    state = machine.state()
    state["volumes"][0] |= {"sunit_bytes": None, "swidth_bytes": None}
    machine.write(state)
    assert machine.layout_facts() == ()


def test_a_link_that_is_gone_or_leads_elsewhere(machine: Machine) -> None:
    link = machine.root / "dev/stripewright/scratch"
    link.unlink()
    assert "no such link" in only(machine.layout_facts(), "LINK-WRONG").observed
    (machine.root / "dev/nvme0n1").touch()
    link.symlink_to(machine.root / "dev/nvme0n1")
    assert "259:0" in only(machine.layout_facts(), "LINK-WRONG").observed


def test_what_disks_say_is_made_printable(machine: Machine) -> None:
    machine.local_disk("nvme7n1", "259:70", "A\x1b[31m")
    machine.put("md127/md/dev-nvme7n1/slot", "0")
    machine.remove("md127/md/dev-nvme1n1")
    swapped = next(one for one in machine.layout_facts() if one.code == "MEMBER-SWAPPED")
    assert "\x1b" not in str(swapped.summary) + swapped.member + swapped.subject
    assert r"\x1b[31m" in swapped.observed
