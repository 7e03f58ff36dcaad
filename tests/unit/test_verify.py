from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.model.disks import Disk, MdMember
from appliance.model.plans import Step, Volume
from appliance.storage.execute import verify
from appliance.storage.execute.builtin_steps import StepContext, by_path
from appliance.storage.execute.verify import VerifyContext
from appliance.storage.formats import filesystem, md
from appliance.storage.policy import steps
from appliance.storage.probe import blockdev, events
from appliance.system import process
from appliance.system.kernel import Kernel

SCRATCH = Volume("scratch", "/mnt/scratch")
_DATA = Path(__file__).parent / "data/storage"


def _kernel(root: Path, mountinfo: str = "") -> Kernel:
    (root / "self").mkdir()
    (root / "self/mountinfo").write_text(mountinfo)
    return Kernel(proc_root=root)


def _scene(volume: Volume, disks: int, kernel: Kernel | None = None) -> VerifyContext:
    made = tuple(Disk(f"/dev/nvme{n}n1", f"id{n}", "m", f"S{n}", 10**9) for n in range(disks))
    bench = StepContext(by_path(made), "")
    return VerifyContext(volume, made, kernel or Kernel(), bench)


def _says(monkeypatch: pytest.MonkeyPatch, text: str) -> list[tuple[str, ...]]:
    ran: list[tuple[str, ...]] = []

    def run(argv: tuple[str, ...], **_: object) -> process.Completed:
        ran.append(tuple(argv))
        return process.Completed(tuple(argv), 0, text, "")

    monkeypatch.setattr(process, "run", run)
    return ran


def _step(*argv: str) -> Step:
    return Step(argv, "")


def test_geometry_is_compared_with_chunk_times_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = _says(monkeypatch, "")
    device = tmp_path / "md"
    block = (_DATA / "xfs-superblock.bin").read_bytes().ljust(4096, b"\0")
    device.write_bytes(block)
    made = _step("mkfs.xfs", str(device))
    found = filesystem.parse_superblock(block)
    assert found is not None
    assert found.sunit_bytes
    assert found.swidth_bytes
    chunk, members = found.sunit_bytes, found.swidth_bytes // found.sunit_bytes
    volume = replace(SCRATCH, name=found.label, chunk_bytes=chunk)
    verify.check_geometry(made, _scene(volume, members))
    assert ran == [("xfs_repair", "-n", str(device))]
    raid10 = replace(volume, stripe="md-raid10")
    verify.check_geometry(made, _scene(raid10, 2 * members))
    for other in (1, members + 1):
        with pytest.raises(OperatorError, match=f"sunit {chunk} and swidth {chunk * members}"):
            verify.check_geometry(made, _scene(volume, other))
    with pytest.raises(OperatorError, match="has the label"):
        verify.check_geometry(made, _scene(replace(volume, name="other"), members))
    with pytest.raises(OperatorError, match="no finished ext4"):
        verify.check_geometry(made, _scene(replace(volume, filesystem="ext4"), members))
    device.write_bytes(block[:126] + b"\1" + block[127:])
    with pytest.raises(OperatorError, match="no finished xfs"):
        verify.check_geometry(made, _scene(volume, members))
    device.unlink()
    with pytest.raises(OperatorError, match="cannot be read"):
        verify.check_geometry(made, _scene(volume, members))


def test_a_mount_without_its_options_is_not_accepted(tmp_path: Path) -> None:
    # /dev/null has a device number on every machine; its mount is only on paper.
    number = Kernel().device_number("/dev/null")
    line = f"9 1 {number} / /mnt/scratch rw,nodev,nosuid%s - xfs /dev/null rw\n"
    kernel = _kernel(tmp_path, line % ",noatime")

    def mounted(device: str, volume: Volume = SCRATCH) -> None:
        step = _step("mount", device, volume.mount)
        verify.check_mount(step, _scene(volume, 1, kernel))

    mounted("/dev/null")
    with pytest.raises(OperatorError, match="of /dev/zero"):
        mounted("/dev/zero")
    with pytest.raises(OperatorError, match="not ext4"):
        mounted("/dev/null", replace(SCRATCH, filesystem="ext4"))
    (tmp_path / "self/mountinfo").write_text(line % "")
    with pytest.raises(OperatorError, match="with rw,nodev,nosuid,rw, not"):
        mounted("/dev/null")
    # What a volume asks for itself is shown in either column.
    (tmp_path / "self/mountinfo").write_text(line % ",noatime")
    with pytest.raises(OperatorError, match="nodev,nosuid,noatime,largeio"):
        mounted("/dev/null", replace(SCRATCH, mount_options=("largeio",)))
    # Whether the device discards is unknown here; tests/lab has disks that do not.
    with pytest.raises(OperatorError, match="nodev,nosuid,noatime,discard"):
        mounted("/dev/null", replace(SCRATCH, mount_options=("discard",)))
    (tmp_path / "self/mountinfo").write_text(
        line.replace("null rw", "null rw,largeio") % ",noatime"
    )
    mounted("/dev/null", replace(SCRATCH, mount_options=("largeio",)))
    (tmp_path / "self/mountinfo").write_text("")
    with pytest.raises(OperatorError, match="nothing is mounted"):
        mounted("/dev/null")


def test_what_is_still_mounted_after_umount_is_told(tmp_path: Path) -> None:
    kernel = _kernel(tmp_path, "9 1 8:1 / /mnt/scratch rw - ext4 /dev/sda1 rw\n")
    with pytest.raises(OperatorError, match="still mounted"):
        verify.check(_step("umount", "/mnt/scratch"), _scene(SCRATCH, 1, kernel))
    verify.check(_step("umount", "/mnt/other"), _scene(SCRATCH, 1, kernel))


class Array:
    """A sysfs with one array of ours, as the kernel shows it."""

    def __init__(self, root: Path, **attributes: str) -> None:
        self.kernel = Kernel(sys_root=root)
        self.md = root / "block" / "scratch" / "md"
        self.md.mkdir(parents=True)
        found = {
            "level": "raid10", "chunk_size": "262144", "raid_disks": "4", "layout": "0x102",
            "array_state": "clean", "degraded": "0", **attributes,
        }  # fmt: skip
        for name, value in found.items():
            (self.md / name).write_text(value + "\n")
        for slot in range(4):
            (self.md / f"dev-nvme{slot}n1").mkdir()
            self.slot(slot, str(slot))

    def slot(self, disk: int, slot: str) -> None:
        (self.md / f"dev-nvme{disk}n1" / "slot").write_text(slot + "\n")


_UUID = "8f3aff54:cb72c56c:6d0a5fe1:cbc332e8"
_MEMBER = MdMember("stripewright:scratch", _UUID, "", "raid10", 4, 262144, 0)


def _superblocks(monkeypatch: pytest.MonkeyPatch, found: MdMember | None) -> None:
    monkeypatch.setattr(blockdev, "read_md_superblock", lambda _: b"")
    monkeypatch.setattr(md, "parse_superblock", lambda _: found)


_RAID10 = replace(SCRATCH, stripe="md-raid10")
_CREATE = ("mdadm", "--create", "/dev/md/scratch")


@pytest.mark.parametrize(
    ("attributes", "argv", "wrong"),
    [
        ({}, _CREATE, ""),
        ({"layout": "258"}, _CREATE, ""),
        ({"raid_disks": "4 (6)"}, _CREATE, ""),
        ({"layout": "513"}, _CREATE, "layout is far=2, not near=2"),
        ({"level": "raid0"}, _CREATE, "level is raid0"),
        ({"chunk_size": "65536"}, _CREATE, "chunk is 65536"),
        ({"array_state": "inactive"}, _CREATE, "state is inactive"),
        ({"degraded": "1"}, _CREATE, "1 members are missing"),
        ({"degraded": "1"}, (*_CREATE, "--run"), "1 members are missing"),
        ({"degraded": "1"}, ("mdadm", "--assemble", "/dev/md/scratch"), "1 members are missing"),
        ({"degraded": "1"}, ("mdadm", "--assemble", "/dev/md/scratch", "--run"), ""),
        ({"degraded": "1"}, ("mdadm", "--manage", "/dev/md/scratch", "--add"), ""),
    ],
)
def test_an_array_is_proved_by_what_the_kernel_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attributes: dict[str, str],
    argv: tuple[str, ...],
    wrong: str,
) -> None:
    _superblocks(monkeypatch, _MEMBER)
    array = Array(tmp_path, **attributes)
    if "0x" in (array.md / "layout").read_text():
        (array.md / "layout").write_text("258\n")
    scene = _scene(_RAID10, 4, array.kernel)
    if not wrong:
        verify.check_array(_step(*argv), scene)
        return
    with pytest.raises(OperatorError, match=wrong):
        verify.check_array(_step(*argv), scene)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (_MEMBER, ""),
        (None, "/dev/nvme0n1 has no superblock"),
        (replace(_MEMBER, array_name="other:scratch"), "is of 'other:scratch'"),
        (replace(_MEMBER, level="raid0"), "says raid0 of 262144 bytes"),
        (replace(_MEMBER, chunk_bytes=4096), "says raid10 of 4096 bytes"),
        (replace(_MEMBER, member_count=3), "says 3 members, not 4"),
        (replace(_MEMBER, array_uuid="0:0:0:0"), "has the uuid 0:0:0:0"),
    ],
)
def test_an_array_is_proved_by_its_members_superblocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: MdMember | None, wrong: str
) -> None:
    _superblocks(monkeypatch, found)
    scene = _scene(_RAID10, 4, Array(tmp_path, layout="258").kernel)
    step = _step(*_CREATE, "--uuid=8F3AFF54-cb72c56c-6d0a5fe1-cbc332e8")
    if not wrong:
        verify.check_array(step, scene)
        return
    with pytest.raises(OperatorError, match=wrong):
        verify.check_array(step, scene)


def test_udev_is_waited_for_only_where_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    monkeypatch.setattr(events, "refresh", waited.append)
    link = tmp_path / "scratch"
    verify.wait_for_udev(_step("mdadm", "--create", str(link)))
    assert waited == [str(link)]
    link.touch()
    verify.wait_for_udev(_step("mdadm", "--assemble", str(link)))
    verify.wait_for_udev(Step(("mkfs.xfs", str(link)), "", check=steps.CHECK_GEOMETRY))
    assert waited == [str(link)]
    verify.wait_for_udev(
        Step(("stripewright", "chore", "release", "data", "/dev/a"), "", check="released")
    )
    assert waited[1:] == ["/dev/a"]


def test_a_member_in_another_slot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _superblocks(monkeypatch, _MEMBER)
    array = Array(tmp_path, layout="258")
    array.slot(2, "none")
    with pytest.raises(OperatorError, match="/dev/nvme2n1 is in slot none, not 2"):
        verify.check_array(_step(*_CREATE), _scene(_RAID10, 4, array.kernel))
    # A disk that was just added has no place of its own yet, but it is in the array.
    verify.check_array(
        _step("mdadm", "--manage", "/dev/md/scratch", "--add"), _scene(_RAID10, 4, array.kernel)
    )


_LVM = replace(SCRATCH, name="data", stripe="lvm-stripe")


def _report(**cells: str) -> str:
    two = "/dev/nvme0n1(0),/dev/nvme1n1(0)"
    pv = [
        {"pv_name": f"/dev/nvme{n}n1", "pv_uuid": f"p{n}", "pv_size": "9", "pe_start": "1048576"}
        for n in (0, 1)
    ]
    vg = {
        "vg_name": "stripewright-data", "vg_uuid": "u", "vg_tags": "stripewright:data",
        "vg_extent_size": "4194304", "vg_free": "0", "pv_count": "2",
    }  # fmt: skip
    lv = {"lv_name": "data", "lv_path": "/dev/x", "lv_size": "9", "lv_active": "active"}
    seg = {
        "lv_name": "data", "segtype": "striped", "stripe_size": "262144", "seg_start": "0",
        "devices": two,
    }  # fmt: skip
    rows = {"vg": [vg], "pv": pv, "lv": [lv], "seg": [seg]}
    for key, value in cells.items():
        for table in rows.values():
            for row in table:
                if key in row:
                    row[key] = value
    return json.dumps({"report": [rows]})


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        ({}, ""),
        ({"vg_name": "other"}, "no volume group"),
        ({"vg_tags": ""}, "no tag"),
        ({"lv_name": "other"}, "no logical volume"),
        ({"stripe_size": "65536"}, "stripes of 65536 bytes"),
        ({"devices": "/dev/nvme0n1(0)"}, "1 stripes, not 2"),
        ({"pv_count": "3"}, "it is on"),
        ({"lv_active": ""}, "not active"),
    ],
)
def test_a_group_is_proved_by_its_own_report(
    monkeypatch: pytest.MonkeyPatch, cells: dict[str, str], wrong: str
) -> None:
    ran = _says(monkeypatch, _report(**cells))
    step = _step("lvcreate", "--devices", "/dev/nvme0n1,/dev/nvme1n1", "--name", "data")
    if wrong:
        with pytest.raises(OperatorError, match=wrong):
            verify.check_group(step, _scene(_LVM, 2))
    else:
        verify.check_group(step, _scene(_LVM, 2))
    assert "/dev/nvme0n1,/dev/nvme1n1" in ran[0], "it looks at these disks only"


def test_disks_that_are_still_held_are_not_gone(tmp_path: Path) -> None:
    holders = tmp_path / "block/nvme0n1/holders"
    holders.mkdir(parents=True)
    scene = _scene(SCRATCH, 1, Kernel(sys_root=tmp_path))
    verify.check_gone(_step("mdadm", "--stop"), scene)
    (holders / "md127").touch()
    with pytest.raises(OperatorError, match="/dev/nvme0n1 by md127"):
        verify.check_gone(_step("mdadm", "--stop"), scene)


def test_a_grown_filesystem_covers_its_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (_DATA / "xfs_info-6.13.txt").read_text()
    size = filesystem.parse_info("xfs", text).size_bytes
    _says(monkeypatch, text)
    kernel = _kernel(tmp_path, "9 1 9:127 / /mnt/scratch rw - xfs /dev/md127 rw\n")
    kernel = replace(kernel, sys_root=tmp_path)
    node = tmp_path / "block/md127"
    node.mkdir(parents=True)
    step = _step("xfs_growfs", "-d", "/mnt/scratch")
    (node / "size").write_text(str(size // 512))
    verify.check_size(step, _scene(SCRATCH, 4, kernel))
    (node / "size").write_text(str(size // 512 * 2))
    with pytest.raises(OperatorError, match="covers"):
        verify.check_size(step, _scene(SCRATCH, 4, kernel))
    verify.check_size(_step("pvresize"), _scene(SCRATCH, 4, kernel))


def test_every_check_that_a_step_can_name_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [value for key, value in vars(steps).items() if key.startswith("CHECK_")]
    assert len(names) == 9
    for name in names:
        # Whatever it finds on nothing, it is not that nobody knows the check.
        with contextlib.suppress(OperatorError, IndexError, ValueError, AssertionError):
            verify.check(Step(("x", "y", "z"), "", check=name), _scene(SCRATCH, 0))
