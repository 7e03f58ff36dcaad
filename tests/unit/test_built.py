from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import ProgramMissing
from appliance.model.disks import Disk, Filesystem, LvmMember, Signature
from appliance.storage.formats import hwraid, lvm
from appliance.storage.probe import blockdev, built
from appliance.system import process
from appliance.system.kernel import Kernel, Mount
from tests.unit.disks import disk, making
from tests.unit.formats import LABEL_BYTES, physical_volume

_DATA = Path(__file__).parent / "data/storage"

_LABEL = Signature("LVM2_member", 0x218, "", "pv")
_REPORT = {
    "report": [
        {
            "vg": [
                {
                    "vg_name": "stripewright-data", "vg_uuid": "vg-1", "pv_count": "3",
                    "vg_tags": "stripewright:data,stripewright-host:0123456789abcdef",
                    "vg_extent_size": "4194304", "vg_free": "0",
                }
            ],
            "pv": [
                {"pv_name": "/dev/nvme1n1", "pv_uuid": "pv-1", "pv_size": "900"},
                {"pv_name": "/dev/disk/by-id/two", "pv_uuid": "pv-2", "pv_size": "901"},
                {"pv_name": "[unknown]", "pv_uuid": "pv-3", "pv_size": "902"},
            ],
            "lv": [
                {
                    "lv_name": "data", "lv_path": "/dev/stripewright-data/data",
                    "lv_size": "1800", "lv_active": "active",
                }
            ],
            "seg": [
                {
                    "lv_name": "data", "segtype": "striped", "stripe_size": "262144",
                    "seg_start": "0", "devices": "/dev/nvme1n1(0),/dev/disk/by-id/two(0)",
                }
            ],
        },
        {"pv": [{"pv_name": "/dev/nvme3n1", "pv_uuid": "pv-9", "pv_size": "900"}]},
    ]
}  # fmt: skip


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """One device-mapper device, the logical volume."""
    folder = tmp_path / "sys/block/dm-4/dm"
    folder.mkdir(parents=True)
    (folder / "uuid").write_text("LVM-vglv\n")
    (folder / "name").write_text("stripewright--data-data\n")
    (folder.parent / "dev").write_text("253:4\n")
    (folder.parent / "size").write_text("4096\n")
    return Kernel(tmp_path / "sys", tmp_path / "proc", tmp_path / "dev")


class Programs:
    """What would have been started, and what each prints."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[tuple[str, ...]] = []
        self.prints: dict[str, str] = {}
        monkeypatch.setattr(process, "run", self.run)
        monkeypatch.setattr(process, "find_program", self.prints.get)

    def run(self, argv: Sequence[str], **_: object) -> process.Completed:
        self.started.append(tuple(argv))
        if argv[0] not in self.prints:
            raise ProgramMissing(argv[0])
        return process.Completed(tuple(argv), 0, self.prints[argv[0]], "")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


def labelled(number: int, **facts: object) -> Disk:
    return disk(number, blank=False, signatures=(_LABEL,), **facts)


def test_lvm_is_asked_about_labelled_disks_only(kernel: Kernel, programs: Programs) -> None:
    unread = disk(5, blank=None, signatures=(_LABEL,))
    assert built.read_groups(kernel, [disk(1), unread], {}) == lvm.Report()
    assert programs.started == []
    programs.prints["lvm"] = json.dumps(_REPORT)
    built.read_groups(kernel, [disk(1), labelled(2), unread, labelled(3)], {})
    argv = programs.started[0]
    assert argv[argv.index("--devices") + 1] == "/dev/nvme2n1,/dev/nvme3n1"


def test_groups_members_and_what_the_volume_holds(
    kernel: Kernel, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[str, int]] = []

    def contents(wanted: Sequence[blockdev.Device]) -> list[blockdev.Contents]:
        read.extend((one.node, one.size_bytes) for one in wanted)
        return [blockdev.Contents((Signature("xfs", 0, "data"),), 0)]

    monkeypatch.setattr(blockdev, "read_contents", contents)
    found = Filesystem("xfs", "data", "u")
    superblock: list[Filesystem | None] = [found]
    monkeypatch.setattr(blockdev, "read_filesystem", lambda _: superblock[0])
    programs.prints["lvm"] = json.dumps(_REPORT)
    disks = [labelled(1), labelled(2, stable_path="/dev/disk/by-id/two"), labelled(3)]
    mounted = {"253:4": [Mount("253:4", "/mnt/data", "xfs", "/dev/dm-4", "rw,noatime")]}
    seen = built.read_groups(kernel, disks, mounted)
    (group,) = seen.groups
    assert group.members == (disks[0].id, disks[1].id)
    assert group.member_count == 3
    (volume,) = group.volumes
    assert volume.segments == ((disks[0].id, disks[1].id),)
    assert (volume.active, volume.mountpoint, volume.mount_options) == (
        True, "/mnt/data", "rw,noatime",
    )  # fmt: skip
    assert (volume.filesystem, volume.blank) == (found, False)
    # What the kernel has mounted as what its superblock says is not asked about.
    assert read == []
    for other, mounts in ((replace(found, kind="ext4"), mounted), (found, {})):
        superblock[0] = other
        (group,) = built.read_groups(kernel, disks, mounts).groups
        assert group.volumes[0].filesystem is not None
        assert read.pop() == (str(kernel.dev_root / "dm-4"), 4096 * 512)
    assert seen.members["/dev/nvme2n1"] == LvmMember("pv-2", group.name, group.uuid, group.tags)
    assert seen.members["/dev/nvme3n1"] == LvmMember("pv-9")


def test_a_foreign_volume_is_not_opened(kernel: Kernel, programs: Programs) -> None:
    text = json.dumps(_REPORT).replace("stripewright:data", "theirs")
    programs.prints["lvm"] = text
    (group,) = built.read_groups(kernel, [labelled(1)], {}).groups
    assert group.volumes[0].blank is None
    assert [argv[0] for argv in programs.started] == ["lvm"]


def _disk(root: Path, start_bytes: int) -> str:
    """A physical volume whose logical volume begins with an XFS."""
    path = root / "pv"
    with path.open("wb") as file:
        file.truncate(8 * 2**20)
        file.seek(LABEL_BYTES)
        file.write(physical_volume(8 * 2**20, 2**20))
        file.seek(start_bytes)
        file.write((_DATA / "xfs-superblock.bin").read_bytes())
    return str(path)


@pytest.mark.parametrize("extent", [0, 1])
def test_what_was_being_made_is_read_through_its_first_disk(
    kernel: Kernel, programs: Programs, tmp_path: Path, extent: int
) -> None:
    """Asleep, and whether it is whole decides whether it is made anew."""
    (kernel.sys_root / "block/dm-4/dm/name").write_text("other-data\n")
    node = _disk(tmp_path, 2**20 + extent * 4194304)
    text = json.dumps(_REPORT).replace("/dev/nvme1n1(0)", f"{node}({extent})")
    programs.prints["lvm"] = text.replace("/dev/nvme1n1", node)
    plain = labelled(1, path=node)
    (marked,) = making(plain, volume="data")

    def seen(disk: Disk) -> Filesystem | None:
        (group,) = built.read_groups(kernel, [disk], {}).groups
        assert not group.volumes[0].active
        return group.volumes[0].filesystem

    found = seen(marked)
    assert found is not None
    assert (found.kind, found.label) == ("xfs", "scratch")
    assert seen(plain) is None
    # What nobody can read must not be taken for nothing.
    with Path(node).open("r+b") as file:
        file.write(bytes(8192))
    unknown = seen(marked)
    assert unknown is not None
    assert (unknown.kind, unknown.uuid) == ("unreadable", "")
    Path(node).unlink()
    assert seen(marked) == unknown


def test_a_volume_without_its_node_is_not_active(kernel: Kernel, programs: Programs) -> None:
    (kernel.sys_root / "block/dm-4/dm/name").write_text("other-data\n")
    programs.prints["lvm"] = json.dumps(_REPORT)
    (group,) = built.read_groups(kernel, [labelled(1)], {}).groups
    assert not group.volumes[0].active


def test_without_lvm_nothing_is_known_of_a_label(kernel: Kernel, programs: Programs) -> None:
    assert built.read_groups(kernel, [labelled(1)], {}) == lvm.Report()
    programs.prints["lvm"] = "File descriptor 3 leaked"
    assert built.read_groups(kernel, [labelled(1)], {}) == lvm.Report()


@pytest.mark.parametrize(
    ("note", "group"),
    [
        ("LVM volume 'stripewright--data-data'", "stripewright-data"),
        ("LVM volume 'vg0-root'", "vg0"),
        ("LVM volume 'a---b-c'", None),
        ("LUKS 'vg0-root'", None),
    ],
)
def test_the_group_by_device_mappers_name(note: str, group: str | None) -> None:
    found = built.member_by_holders([_LABEL], [note, "md array, raid0"])
    assert (found.group if found else None) == group
    assert built.member_by_holders([], [note]) is None


_DRIVES = {"Controllers": [{"Command Status": {"Status": "Success"}, "Response Data": {}}]}


def test_storcli_is_started_only_where_it_is(programs: Programs) -> None:
    assert built.controllers() == built.Controllers()
    assert programs.started == []
    programs.prints[hwraid.PROGRAM] = json.dumps(_DRIVES)
    assert built.controllers() == built.Controllers()
    assert programs.started == [hwraid.drives_argv(), hwraid.virtual_drives_argv()]
    programs.prints[hwraid.PROGRAM] = "Segmentation fault"
    assert built.controllers() == built.Controllers()


def test_a_virtual_drive_of_ours_by_node_or_wwid() -> None:
    def drive(name: str, path: str, wwid: str = "") -> built.VirtualDrive:
        return built.VirtualDrive(0, 1, name, "raid0", 4096, 9, "Optl", path, (), wwid)

    ours = built.Controllers((), (drive("sw-data", "/dev/nvme1n1"), drive("sw-logs", "", "6ab")))
    assert ours.has_our_name(disk(1))
    assert ours.has_our_name(disk(2, id="wwn-0x6AB"))
    assert not ours.has_our_name(disk(3))
    theirs = built.Controllers((), (drive("VD1", "/dev/nvme1n1", "6ab"),))
    assert not theirs.has_our_name(disk(1, id="wwn-0x6ab"))
