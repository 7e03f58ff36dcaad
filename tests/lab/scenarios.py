"""The scenarios, in the order in which they run; each begins with four blank disks.

Every refusal compares the checksum of every byte of every disk (``Lab.refused``).
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from appliance.storage.md import create_argv
from tests.lab.workbench import DB, DISK_MIB, ELSEWHERE, MIB, MOUNT, Lab, sh

KIB = 1024

SCENARIOS: dict[str, Callable[[Lab], None]] = {}


def scenario(function: Callable[[Lab], None]) -> Callable[[Lab], None]:
    SCENARIOS[function.__name__] = function
    return function


def _array_uuid() -> str:
    found = re.search(
        r"^MD_UUID=(.*)$", sh("mdadm", "--detail", "--export", "/dev/md/scratch"), re.M
    )
    assert found
    return found.group(1)


@scenario
def create(lab: Lab) -> None:
    """Four blank disks become an aligned, mounted stripe; a second run finds nothing to do."""
    state = lab.mounted("create")
    volume = state["volumes"][0]
    assert (volume["level"], volume["chunk_bytes"]) == ("raid0", 256 * KIB)
    assert (volume["sunit_bytes"], volume["swidth_bytes"]) == (256 * KIB, 1024 * KIB)
    assert [one["path"] for one in volume["members"]] == lab.disks
    assert volume["device"] == "/dev/stripewright/scratch"
    assert "sunit=64     swidth=256 blks" in sh("xfs_info", str(MOUNT))
    options = sh("findmnt", "--noheadings", "--output=OPTIONS", str(MOUNT)).strip().split(",")
    assert {"nodev", "nosuid", "noatime"} <= set(options), options
    assert (MOUNT / ".stripewright-bench").stat().st_mode & 0o7777 == 0o750
    assert (MOUNT / ".stripewright-bench").owner() == "stripewright"
    assert 0 < state["mounted_at_monotonic_s"] < time.clock_gettime(time.CLOCK_MONOTONIC)
    assert volume["epoch_id"] is not None, state["message"]
    again = lab.expect("nothing", "nothing", 0)
    assert again["plan"]["steps"] == []
    assert again["volumes"][0]["epoch_id"] == volume["epoch_id"]


@scenario
def assemble(lab: Lab) -> None:
    """After a reboot the same array comes back by identity, with what was stored."""
    first = lab.mounted("create")
    uuid = _array_uuid()
    (MOUNT / "kept").write_text("still here")
    lab.release()
    second = lab.mounted("assemble")
    assert _array_uuid() == uuid
    assert (MOUNT / "kept").read_text() == "still here"
    assert second["volumes"][0]["epoch_id"] == first["volumes"][0]["epoch_id"]
    assert [step["argv"][0] for step in second["plan"]["steps"]] == ["mdadm", "mount"]


@scenario
def benchmark_directory_is_a_link(lab: Lab) -> None:
    """Whoever owns the top of the volume cannot have another directory given away."""
    lab.mounted("create")
    (MOUNT / ".stripewright-bench").rmdir()
    (MOUNT / "theirs").mkdir()
    (MOUNT / ".stripewright-bench").symlink_to("theirs")
    state = lab.expect("nothing", "nothing", 0)
    assert "no benchmarks" in state["message"], state["message"]
    assert (MOUNT / "theirs").stat().st_uid == 0


@scenario
def history_damaged(lab: Lab) -> None:
    """A damaged history is set aside, and the stripe comes up all the same."""
    lab.mounted("create")
    lab.release()
    with DB.open("r+b") as file:
        file.seek(100)  # behind SQLite's header
        file.write(b"\xff" * 8000)
    state = lab.mounted("assemble")
    assert "set aside" in state["message"], state["message"]
    assert list(DB.parent.glob("history.db.damaged-*"))


@scenario
def history_is_a_link(lab: Lab) -> None:
    """Root does not follow what the service user put in the history's place."""
    target = Path("/etc/owned-by-root")
    target.write_text("")
    DB.symlink_to(target)
    try:
        state = lab.mounted("create")
        assert "history is not written" in state["message"], state["message"]
        status = target.stat()
        assert (status.st_uid, status.st_size) == (0, 0)
    finally:
        DB.unlink()
        target.unlink()


@scenario
def other_disks_after_stop_and_start(lab: Lab) -> None:
    """Blank disks with other serials: a new stripe, a new epoch, and the message says why."""
    first = lab.mounted("create")
    old = [one["serial"] for one in first["volumes"][0]["members"]]
    lab.release()
    with lab.other_disks():
        second = lab.mounted("create")
        new = [one["serial"] for one in second["volumes"][0]["members"]]
        assert not set(old) & set(new), (old, new)
        assert f"{','.join(old)} -> {','.join(new)}" in second["message"], second["message"]
        assert second["volumes"][0]["epoch_id"] != first["volumes"][0]["epoch_id"]


@scenario
def ext4_on_one_disk(lab: Lab) -> None:
    sh("mkfs.ext4", "-q", "-L", "pgdata", lab.disks[2])
    lab.refused(lab.disks[2], "ext4 signature at 0x438", "label 'pgdata'")


@scenario
def mounted_disk(lab: Lab) -> None:
    sh("mkfs.ext4", "-q", lab.disks[1])
    ELSEWHERE.mkdir(exist_ok=True)
    sh("mount", "-o", "ro", lab.disks[1], str(ELSEWHERE))
    lab.refused(lab.disks[1], f"is mounted at {ELSEWHERE}")


@scenario
def partition_table(lab: Lab) -> None:
    """An MBR with one partition of 16 MiB, written by hand."""
    entry = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little")
    entry += (32768).to_bytes(4, "little")
    lab.write(lab.disks[3], 446, entry + bytes(48) + b"\x55\xaa")
    sh("blockdev", "--rereadpt", lab.disks[3])
    sh("udevadm", "settle")
    lab.refused(lab.disks[3], f"has partitions: {Path(lab.disks[3]).name}1")


@scenario
def held_by_device_mapper(lab: Lab) -> None:
    sectors = DISK_MIB * MIB // 512
    sh("dmsetup", "create", "theirs", "--table", f"0 {sectors} linear {lab.disks[0]} 0")
    sh("udevadm", "settle")
    lab.refused(lab.disks[0], "is held by dm-")


@scenario
def data_without_signature(lab: Lab) -> None:
    """As a database on a raw device: no prober knows it, and it is still not blank."""
    lab.write(lab.disks[1], 512 * KIB, b"\x01")
    lab.refused(lab.disks[1], "no known signature, but data at 0x80000")


@scenario
def foreign_array(lab: Lab) -> None:
    """Somebody else's array on our disks, first stopped and then running."""
    sh(
        "mdadm", "--create", "/dev/md/theirs", "--run", "--metadata=1.2", "--homehost=db7",
        "--name=data", "--level=0", "--raid-devices=4", *lab.disks,
    )  # fmt: skip
    lab.refused("is held by md")
    sh("mdadm", "--stop", "/dev/md/theirs")
    lab.refused("is a member of another md array, 'db7:data'")


@scenario
def killed_at_each_step(lab: Lab) -> None:
    """SIGKILL after (and for mkfs also before) each step of a creation; the next boot goes on."""
    points = [
        ("mdadm", "--create", False, "create"),
        ("mdadm", "--create", True, "assemble"),
        ("mkfs.xfs", "", True, "assemble"),
        ("mount", "", True, "nothing"),
    ]
    for program, subcommand, after, decision in points:
        lab.killed(program, subcommand=subcommand, after=after)
        state = lab.boot()
        assert (state["volumes"][0]["decision"], state["exit"]) == (decision, 0), state["message"]
        assert (MOUNT / ".stripewright-bench").is_dir()
        lab.release()
        lab.blank(*lab.disks)


@scenario
def killed_between_create_and_mkfs_then_reboot(lab: Lab) -> None:
    """The array was made and stopped by the reboot: it is assembled and gets its filesystem."""
    lab.killed("mkfs.xfs", after=False)
    uuid = _array_uuid()
    lab.release()
    state = lab.mounted("assemble")
    assert _array_uuid() == uuid
    assert "never got its filesystem" in state["volumes"][0]["reason"]


@scenario
def killed_inside_create(lab: Lab) -> None:
    """Superblocks on the first two disks and nothing else: nothing was stored, so begin again."""
    lab.killed("mkfs.xfs", after=False)
    lab.release()
    lab.blank(*lab.disks[2:])
    state = lab.mounted("create")
    assert "nothing was stored" in state["volumes"][0]["reason"]


@scenario
def killed_inside_mkfs(lab: Lab) -> None:
    """A superblock that still says "in progress" was never mounted: it is made again.

    Killed before that mkfs, and then in the middle of it, the next boot still goes on.
    """
    lab.mounted("create")
    lab.release()
    data_offset = 1 * MIB
    # sb_inprogress of the superblock that slot 0 holds.
    lab.write(lab.disks[0], data_offset + 126, b"\x01")
    lab.killed("mkfs.xfs", after=False)
    lab.release()
    # What a second mkfs leaves when it is killed in the middle.
    lab.write(lab.disks[0], data_offset + 126, b"\x01")
    state = lab.mounted("assemble")
    (mkfs,) = (step["argv"] for step in state["plan"]["steps"] if step["argv"][0] == "mkfs.xfs")
    assert "-f" in mkfs


@scenario
def mdadm_is_the_last_to_refuse(lab: Lab) -> None:
    """Our own command line on disks of which one is not blank: mdadm itself refuses."""
    sh("mkfs.ext4", "-q", "-L", "pgdata", lab.disks[2])
    before = lab.checksums()
    argv = create_argv("scratch", 256 * KIB, lab.disks)
    said = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert said.returncode, "mdadm wrote over an ext4 without being told to"
    assert lab.checksums() == before


@scenario
def member_lost_and_back(lab: Lab) -> None:
    """A member is missing: waited for, refused with its slot, and welcome when it is back."""
    lab.mounted("create")
    (MOUNT / "kept").write_text("still here")
    lab.release()
    lab.unplug(lab.disks[2])
    lab.refused("has 3 of 4 members; lost: slot 2")
    lab.replug()
    lab.mounted("assemble")
    assert (MOUNT / "kept").read_text() == "still here"


@scenario
def member_late(lab: Lab) -> None:
    """A disk that arrives while boot waits is taken at once, by its event."""
    lab.mounted("create")
    lab.release()
    lab.unplug(lab.disks[3])
    lab.declare(wait="60s")
    began = time.monotonic()
    waiting = lab.start()
    time.sleep(6)
    assert waiting.poll() is None, "it did not wait"
    lab.replug()
    assert waiting.wait() == 0
    assert time.monotonic() - began < 50, "the event did not end the waiting"
    assert MOUNT.is_mount()


@scenario
def member_replaced_by_blank(lab: Lab) -> None:
    """Refused; and made anew only when on_loss says so, without the old filesystem."""
    lab.mounted("create")
    (MOUNT / "old").write_text("lost")
    lab.release()
    lab.blank(lab.disks[1])
    lab.refused("lost: slot 1", f"other disks: {lab.disks[1]}")
    lab.declare(on_loss="recreate")
    state = lab.mounted("recreate")
    assert len(state["volumes"][0]["members"]) == 4
    assert not (MOUNT / "old").exists()


@scenario
def mount_point_in_use(lab: Lab) -> None:
    MOUNT.mkdir(exist_ok=True)
    (MOUNT / "theirs").write_text("a file below the mount point")
    lab.refused("is not empty")
    assert (MOUNT / "theirs").exists()


@scenario
def a_step_that_fails(lab: Lab) -> None:
    """mkfs fails: the message says what was done; when the cause is gone, boot goes on."""
    stand_in = Path("/usr/local/sbin/mkfs.xfs")
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    stand_in.chmod(0o755)
    state = lab.expect("failed", "create", 1)
    assert "out of luck" in state["message"]
    assert "done before: mdadm; not done: mount" in state["message"]
    stand_in.unlink()
    lab.mounted("assemble")
