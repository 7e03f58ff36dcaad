"""What is done to a volume by hand, and what the next check must say of it.

A scenario is a function of a :class:`Watched` with a volume that is whole. Whatever it does it
puts right again; before and after it a check finds nothing.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from appliance.storage.execute.request_spool import Request
from tests.lab.drift.watched import LINK, MOUNT, VOLUME, Watched, fio, layout_text, stat
from tests.lab.play import release
from tests.lab.rack import MIB
from tests.lab.shell import sh

Deed = Callable[[Watched], None]

_MD = layout_text("md-raid0")
_OTHER = Path("/mnt/other")


@dataclass(frozen=True, slots=True)
class Scenario:
    """``disks`` are the local SSDs of which the layout's volume is made before the deed. Those
    that are :meth:`alike` and follow each other share one volume.
    """

    deed: Deed
    layout: str
    disks: tuple[str, ...]
    size_bytes: int
    expected_disks: int | None

    def alike(self, other: Scenario) -> bool:
        return replace(self, deed=other.deed) == other


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    layout: str = _MD, *, disks: int = 3, size_mib: int = 256, expected_disks: int | None = None
) -> Callable[[Deed], Deed]:
    """``expected_disks`` is how many local disks the machine's type has, if that is known."""

    def keep(deed: Deed) -> Deed:
        names = tuple(f"d{number}" for number in range(1, disks + 1))
        name = deed.__name__.replace("_", "-")
        SCENARIOS[name] = Scenario(deed, layout, names, size_mib * MIB, expected_disks)
        return deed

    return keep


# ----------------------------------------------------------------------- nothing to be found


@scenario()
def what_changes_nothing(machine: Watched) -> None:
    (MOUNT / "file").write_bytes(b"x" * MIB)
    sh("sync")
    sh("fstrim", str(MOUNT))
    machine.expect()
    options = _mount_options()
    sh("mount", "-o", f"remount,{options}", str(MOUNT))
    machine.expect()
    sh("xfs_freeze", "-f", str(MOUNT))
    try:
        machine.expect()
    finally:
        sh("xfs_freeze", "-u", str(MOUNT))
    with machine.with_network_disks("spare"):
        machine.expect()
        machine.boot()  # what a hot-plug event starts
        machine.expect()


@scenario(layout_text("lvm-stripe", filesystem="ext4"), disks=2, size_mib=64)
def a_plan_that_grows_it(machine: Watched) -> None:
    machine.expect()
    for name in ("d1", "d2"):
        machine.disk(name).enlarge(machine.disk(name).size_bytes + 96 * MIB)
    sh("udevadm", "settle")
    before = _filesystem_bytes()
    machine.apply(Request())
    assert _filesystem_bytes() > before * 1.5
    machine.expect()


# ---------------------------------------------------------------------------------- mounts


def _mount_options() -> str:
    return sh("findmnt", "--noheadings", "--output", "VFS-OPTIONS", str(MOUNT)).strip()


def _filesystem_bytes() -> int:
    return int(sh("findmnt", "--noheadings", "--bytes", "--output", "SIZE", str(MOUNT)))


@scenario()
def mount_options(machine: Watched) -> None:
    sh("mount", "-o", "remount,suid", str(MOUNT))
    found = machine.expect("MOUNT-OPTIONS").document["findings"][0]
    assert "nosuid" in found["expected"], found
    sh("mount", "-o", "remount,nosuid", str(MOUNT))
    machine.expect()
    sh("mount", "-o", "remount,ro", str(MOUNT))
    machine.expect("MOUNT-OPTIONS")
    sh("mount", "-o", "remount,rw", str(MOUNT))


@scenario()
def mounted_on_top(machine: Watched) -> None:
    sh("mount", "-t", "tmpfs", "tmpfs", str(MOUNT))
    machine.expect("MOUNT-COVERED")
    sh("umount", str(MOUNT))


@scenario()
def unmounted(machine: Watched) -> None:
    options = _mount_options()
    sh("umount", str(MOUNT))
    machine.expect("MOUNT-MISSING")
    sh("mount", "-o", options, str(LINK), str(MOUNT))


@scenario()
def another_device_in_its_place(machine: Watched) -> None:
    options = _mount_options()
    with machine.with_network_disks("spare"):
        sh("mkfs.ext4", "-q", machine.path("spare"))
        sh("umount", str(MOUNT))
        sh("mount", "-o", options, machine.path("spare"), str(MOUNT))
        machine.expect("MOUNT-SOURCE")
        sh("umount", str(MOUNT))
    sh("mount", "-o", options, str(LINK), str(MOUNT))


@scenario()
def the_link(machine: Watched) -> None:
    leads_to = LINK.readlink()
    LINK.unlink()
    machine.expect("LINK-WRONG")
    LINK.symlink_to(machine.path("d1"))
    machine.expect("LINK-WRONG")
    LINK.unlink()
    LINK.symlink_to(leads_to)


@scenario()
def a_filesystem_that_shut_down(machine: Watched) -> None:
    options = _mount_options()
    sh("xfs_io", "-x", "-c", "shutdown", str(MOUNT))
    machine.expect("FS-FAILED")
    sh("umount", str(MOUNT))
    sh("mount", "-o", options, str(LINK), str(MOUNT))


# ---------------------------------------------------------------------------- surroundings


@scenario()
def the_scheduler(machine: Watched) -> None:
    file = Path(f"/sys/block/{machine.kernel_name('d2')}/queue/scheduler")
    usual = file.read_text().partition("[")[2].partition("]")[0]
    file.write_text("kyber" if usual != "kyber" else "none")
    found = machine.expect(f"ENV-SCHEDULER:{machine.serial('d2')}").document["findings"][0]
    assert usual in found["expected"], found
    file.write_text(usual)


@scenario()
def the_io_timeout(machine: Watched) -> None:
    file = Path(f"/sys/block/{machine.kernel_name('d3')}/queue/io_timeout")
    usual = file.read_text()
    file.write_text("5000")
    machine.expect(f"ENV-IO-TIMEOUT:{machine.serial('d3')}")
    file.write_text(usual)


# ---------------------------------------------------------------------------------- arrays


@scenario()
def another_array(machine: Watched) -> None:
    with machine.with_network_disks("n1", "n2"):
        sh(
            *("mdadm", "--create", "/dev/md/stranger", "--run", "--quiet", "--metadata=1.2"),
            *("--level=0", "--chunk=64K", "--raid-devices=2"),
            *(machine.path("n1"), machine.path("n2")),
        )
        sh("udevadm", "settle")
        machine.expect("ARRAY-APPEARED")
        sh("mdadm", "--stop", "/dev/md/stranger")
        sh("udevadm", "settle")


@contextlib.contextmanager
def _busy(machine: Watched, seconds: float) -> Iterator[None]:
    """The volume is read, and there is nothing left to write to it."""
    argv = fio(seconds, rw="randread")
    # A write to a member that is gone would shut XFS down, and end all I/O.
    sh(*argv, "--create_only=1")
    sh("xfs_freeze", "-f", str(MOUNT))  # all metadata, too, which sync leaves in the log
    sh("xfs_freeze", "-u", str(MOUNT))
    busy = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _read_from_now(machine)
        yield
    finally:
        busy.kill()
        busy.wait()


def _read_from_now(machine: Watched) -> None:
    """Wait until the volume is read; an error if it is not in a while."""
    before = stat(machine.device)[0]
    until = time.monotonic() + 30.0
    while stat(machine.device)[0] <= before:
        assert time.monotonic() < until, "nothing reads the volume"
        time.sleep(0.1)


def _put_back(machine: Watched, name: str) -> None:
    """The disk that was pulled out is in its slot again, and the volume is up."""
    release()
    machine.disk(name).plug()
    machine.rack.settle()
    machine.boot()


@scenario()
def a_member_pulled_out_under_load(machine: Watched) -> None:
    serial = machine.serial("d2")
    # As long as the look takes, and then it is killed.
    with _busy(machine, 600):
        machine.disk("d2").yank()
        # md notices with the next I/O to that member.
        state = Path(f"/sys/block/{machine.device}/md/array_state")
        until = time.monotonic() + 30.0
        while state.read_text().strip() != "broken" and time.monotonic() < until:
            time.sleep(0.1)
        machine.expect(f"ARRAY-BROKEN:{serial}", f"MEMBER-MISSING:{serial}")
        # It was found with I/O still running.
        _read_from_now(machine)
    _put_back(machine, "d2")


@scenario()
def a_member_pulled_out_at_rest(machine: Watched) -> None:
    sh("sync")
    machine.disk("d2").yank()
    # No I/O has failed yet, so that md has not noticed.
    machine.expect(f"MEMBER-MISSING:{machine.serial('d2')}")
    _put_back(machine, "d2")


@scenario(layout_text("lvm-stripe", filesystem="ext4"), disks=2, size_mib=64)
def a_disk_of_a_logical_volume_pulled_out(machine: Watched) -> None:
    sh("sync")
    machine.disk("d1").yank()
    machine.expect(f"MEMBER-MISSING:{machine.serial('d1')}")
    _put_back(machine, "d1")


@scenario(layout_text("single"), disks=1, size_mib=320)
def the_only_disk_pulled_out(machine: Watched) -> None:
    machine.disk("d1").yank()
    machine.expect(f"MEMBER-MISSING:{machine.serial('d1')}")
    _put_back(machine, "d1")


@scenario(expected_disks=3)
def a_local_disk_too_many(machine: Watched) -> None:
    machine.add("d4")
    found = machine.expect("DISK-COUNT").document["findings"][0]
    # One more than there should be takes nothing away.
    assert found["severity"] == "notice", found
    machine.rack.disks.pop("d4").remove()
    sh("udevadm", "settle")


@scenario(layout_text("md-raid10", filesystem="ext4"), disks=4, size_mib=64)
def a_mirror_without_a_member(machine: Watched) -> None:
    array, member = f"/dev/{machine.device}", machine.path("d3")
    sh("mdadm", "--wait", array, check=False)
    machine.expect()
    sh("mdadm", array, "--fail", member)
    serial = machine.serial("d3")
    machine.expect(f"ARRAY-DEGRADED:{serial}")
    sh("mdadm", array, "--remove", member)
    machine.expect(f"ARRAY-DEGRADED:{serial}")
    sh("mdadm", array, "--add", member)
    sh("mdadm", "--wait", array, check=False)


def _made_anew(machine: Watched, *names: str, chunk: str = "256K") -> None:
    """The array stopped, and created again by hand under its name, with a filesystem."""
    options = _mount_options()
    sh("umount", str(MOUNT))
    sh("mdadm", "--stop", f"/dev/{machine.device}")
    sh("udevadm", "settle")
    sh(
        *("mdadm", "--create", f"/dev/md/{VOLUME}", "--run", "--quiet", "--metadata=1.2"),
        *("--homehost=stripewright", f"--name={VOLUME}", "--level=0", f"--chunk={chunk}"),
        *(f"--raid-devices={len(names)}", *(machine.path(name) for name in names)),
    )
    sh("udevadm", "settle")
    sh("mkfs.xfs", "-q", "-f", "-K", "-L", VOLUME, f"/dev/md/{VOLUME}")
    sh("udevadm", "settle")
    sh("mount", "-o", options, f"/dev/md/{VOLUME}", str(MOUNT))


@contextlib.contextmanager
def _brought_back(machine: Watched) -> Iterator[None]:
    """What the disks hold now is on them again afterwards, and the volume is up."""
    sh("sync")
    kept = {disk: disk.file.with_suffix(".kept") for disk in machine.rack.disks.values()}
    for disk, copy in kept.items():
        disk.flush()
        sh("cp", "--sparse=always", str(disk.file), str(copy))
    yield
    sh("umount", str(MOUNT))
    sh("mdadm", "--stop", f"/dev/{machine.device}")
    for disk, copy in kept.items():
        disk.blank()
        # Into the same file: the disk has it open.
        sh("cp", "--sparse=always", str(copy), str(disk.file))
        copy.unlink()
        disk.forget_cache()
        sh("udevadm", "trigger", "--settle", "--action=change", f"--name-match={disk.path}")
    machine.boot()


@scenario()
def made_with_another_disk(machine: Watched) -> None:
    with machine.with_network_disks("spare", size_bytes=256 * MIB), _brought_back(machine):
        _made_anew(machine, "d1", "spare", "d3")
        seen = machine.expect(f"MEMBER-SWAPPED:{machine.serial('spare')}")
        assert machine.serial("d2") in seen.document["findings"][0]["expected"]


@scenario()
def made_in_another_order(machine: Watched) -> None:
    with _brought_back(machine):
        _made_anew(machine, "d1", "d3", "d2")
        machine.expect("MEMBER-ORDER")


@scenario()
def made_with_another_chunk(machine: Watched) -> None:
    with _brought_back(machine):
        _made_anew(machine, "d1", "d2", "d3", chunk="64K")
        machine.expect("STRIPE-CHUNK")


@scenario()
def made_of_fewer_disks(machine: Watched) -> None:
    with _brought_back(machine):
        _made_anew(machine, "d1", "d2")
        machine.expect(f"MEMBER-COUNT:{machine.serial('d3')}")


@scenario(layout_text("lvm-stripe", filesystem="ext4"), disks=2, size_mib=64)
def segments_of_a_logical_volume(machine: Watched) -> None:
    volume = sh("lvs", "--noheadings", "--options", "lv_full_name").strip()
    for name in ("d1", "d2"):
        machine.disk(name).enlarge(machine.disk(name).size_bytes + 32 * MIB)
        sh("pvresize", machine.path(name))
    machine.expect()
    sh("lvextend", "--extents", "+4", "--stripes", "1", volume)
    sh("udevadm", "settle")
    machine.expect("LVM-SEGMENTS")
    sh("lvreduce", "--force", "--extents", "-4", volume)
    sh("udevadm", "settle")
