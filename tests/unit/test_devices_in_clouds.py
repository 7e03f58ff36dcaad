from __future__ import annotations

from pathlib import Path

import pytest

from appliance.model.disks import DiskKind
from appliance.storage.probe import devices, nvme
from appliance.system.kernel import Kernel
from tests.unit.fakesysfs import FakeSysfs, by_name, three_disks


@pytest.fixture
def sysfs(tmp_path: Path) -> FakeSysfs:
    return three_disks(tmp_path)


def test_namespaces_of_one_controller_are_told_apart(sysfs: FakeSysfs) -> None:
    """Google's local SSDs: one controller, one serial, and a link that each of them claims."""
    by_id = "/dev/disk/by-id/"
    for number in (1, 2):
        sysfs.disk(f"nvme7n{number}", f"259:7{number}", model="nvme_card", serial="nvme_card")
        sysfs.put(f"block/nvme7n{number}/nsid", str(number))
        links = [
            f"{by_id}nvme-nvme_card_nvme_card", f"{by_id}nvme-nvme_card_nvme_card_{number}",
            f"{by_id}nvme-nvme.1ae0-6e76-0000000{number}",
        ]  # fmt: skip
        sysfs.udev(f"nvme7n{number}", *links)
    found = by_name(sysfs.probe())
    assert [found[f"nvme7n{at}"].serial for at in (1, 2)] == ["nvme_card-n1", "nvme_card-n2"]
    assert found["nvme7n2"].id == "nvme-nvme_card_nvme_card_2"
    assert found["nvme7n1"].claimable
    sysfs.udev("nvme7n2", links[0], f"{by_id}google-local-nvme-ssd-1")
    assert by_name(sysfs.probe())["nvme7n2"].id == "google-local-nvme-ssd-1"


def test_what_the_provider_calls_a_disk(sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def controller(node: str) -> bytes:
        asked.append((node.rpartition("/")[2], 0))
        return b"\x0f\x1d".ljust(3072, b"\0") + b"sdf".ljust(1024, b"\0")

    def namespace(node: str, number: int) -> bytes:
        asked.append((node.rpartition("/")[2], number))
        text = b'{"device_name": "pd-logs"}' if node.endswith("nvme4n2") else b""
        return (bytes(384) + text).ljust(4096, b"\0")

    monkeypatch.setattr(nvme, "controller_page", controller)
    monkeypatch.setattr(nvme, "namespace_page", namespace)
    accelerator = "MSFT NVMe Accelerator v1.0"
    for disk, model in {
        "nvme3n1": "Amazon Elastic Block Store", "nvme4n2": "nvme_card-pd",
        "nvme5n1": accelerator, "nvme5n6": accelerator, "nvme6n1": "QEMU NVMe Ctrl",
    }.items():  # fmt: skip
        sysfs.disk(disk, f"259:9{disk[4]}{disk[6]}", model=model, serial=f"s{disk}")
        sysfs.put(f"block/{disk}/nsid", disk[6:])
    without_root = by_name(sysfs.probe())
    assert not asked
    assert without_root["nvme5n1"].kind is DiskKind.SYSTEM
    monkeypatch.setattr(devices, "try_read", lambda disks, _: disks)
    found = by_name(sysfs.probe(privileged=True))
    assert sorted(asked) == [("nvme3n1", 0), ("nvme4n2", 2), ("nvme5n6", 6)]
    assert [found[one].cloud_name for one in ("nvme3n1", "nvme4n2", "nvme5n1", "nvme5n6")] == [
        "sdf", "pd-logs", "os", "lun4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("device_id", "lun", "place", "kind"),
    [
        ("{00000000-0000-8899-0000-000000000000}", "0", "os", DiskKind.SYSTEM),
        ("{00000000-0001-8899-0000-000000000000}", "0", "resource", DiskKind.UNKNOWN),
        ("{f8b3781a-1e82-4818-a1c3-63d806ec15bb}", "0", "os", DiskKind.SYSTEM),
        ("{f8b3781a-1e82-4818-a1c3-63d806ec15bb}", "1", "resource", DiskKind.UNKNOWN),
        ("{f8b3781a-1e82-4818-a1c3-63d806ec15bb}", "2", "", DiskKind.NETWORK),
        ("{f8b3781b-1e82-4818-a1c3-63d806ec15bb}", "3", "lun3", DiskKind.NETWORK),
        ("{deadbeef}", "0", "", DiskKind.NETWORK),
    ],
)
def test_azure_scsi_disks_by_their_place(
    sysfs: FakeSysfs, device_id: str, lun: str, place: str, kind: DiskKind
) -> None:
    sysfs.put("devices/vmbus/device_id", device_id)
    device = sysfs.root / f"sys/devices/vmbus/host0/target/0:0:0:{lun}"
    bus = sysfs.root / "sys/bus/scsi"
    for folder in (device, bus):
        folder.mkdir(parents=True)
    (device / "subsystem").symlink_to(bus)
    for name, text in {"vendor": "Msft    ", "model": "Virtual Disk    "}.items():
        (device / name).write_text(text + "\n")
    sysfs.disk("sda", "8:0")
    (sysfs.root / "sys/block/sda/device").symlink_to(device)
    sysfs.udev("sda", ID_SERIAL_SHORT="60022480aa")
    found = by_name(sysfs.probe())["sda"]
    assert (found.cloud_name, found.kind) == (place, kind)


def test_xen_disks_of_the_metadata(sysfs: FakeSysfs) -> None:
    dmi = {"sys_vendor": "Xen", "product_version": "4.11.amazon", "product_name": "HVM domU"}
    for name, text in dmi.items():
        sysfs.put(f"class/dmi/id/{name}", text)
    (sysfs.root / "run/cloud-init").mkdir(parents=True)
    (sysfs.root / "run/cloud-init/instance-data.json").write_text(
        '{"ds": {"meta-data": {"instance-type": "c3.xlarge",'
        ' "block-device-mapping": {"ephemeral0": "sdb"}}}}'
    )
    bus = sysfs.root / "sys/bus/xen"
    bus.mkdir(parents=True)
    for number, name in enumerate(("xvdb", "xvdf")):
        folder = sysfs.disk(name, f"202:{number}")
        sysfs.put(f"block/{name}/size", str(40 * 2**30 // 512))
        (folder / "device").mkdir()
        (folder / "device/subsystem").symlink_to(bus)
    found = by_name(sysfs.probe())
    assert (found["xvdb"].kind, found["xvdb"].claimable) == (DiskKind.INSTANCE_STORE, True)
    assert found["xvdf"].kind is DiskKind.UNKNOWN
    (sysfs.root / "etc/cloud").mkdir(parents=True)
    (sysfs.root / "etc/cloud/cloud.cfg").write_text("mounts:\n- [ephemeral0, /mnt]\n")
    claimed = by_name(sysfs.probe())["xvdb"]
    assert claimed.reason == "is claimed by cloud-init, /etc/cloud/cloud.cfg line 2"


@pytest.mark.parametrize("place", ["/boot", "/usr", "/efi", "/boot/efi", "/var"])
def test_what_the_machine_runs_from_is_system(sysfs: FakeSysfs, place: str) -> None:
    sysfs.mapped("dm-0", ["nvme1n1"], dm=("CRYPT-LUKS2-ab-home", "home"))
    (sysfs.root / "sys/block/dm-0/slaves").mkdir()
    (sysfs.root / "sys/block/dm-0/slaves/nvme1n1").symlink_to(sysfs.root / "sys/block/nvme1n1")
    sysfs.mounts(f"1 0 253:0 / {place} rw - ext4 /dev/mapper/home rw")
    assert by_name(sysfs.probe())["nvme1n1"].kind is DiskKind.SYSTEM
    sysfs.mounts("1 0 253:0 / /home rw - ext4 /dev/mapper/home rw")
    found = by_name(sysfs.probe())["nvme1n1"]
    assert found.kind is DiskKind.INSTANCE_STORE
    assert found.reason == "is held by dm-0 (LUKS 'home')"


def test_every_disk_of_a_btrfs_is_under_it(
    sysfs: FakeSysfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("nvme1n1", "259:10"), ("nvme2n1", "259:20")):
        sysfs.put(f"fs/btrfs/0e5b/devices/{name}/dev", number)
    numbers = {"/dev/nvme1n1": "259:10"}
    monkeypatch.setattr(Kernel, "device_number", lambda _, path: numbers.get(path, ""))
    sysfs.mounts("1 0 0:35 /@ / rw - btrfs /dev/nvme1n1 rw")
    found = by_name(sysfs.probe())
    assert found["nvme1n1"].kind is found["nvme2n1"].kind is DiskKind.SYSTEM
    sysfs.mounts("1 0 0:35 / /data rw - btrfs /dev/nvme1n1 rw")
    found = by_name(sysfs.probe())
    assert found["nvme2n1"].mountpoints == ("/data",)
    assert found["nvme2n1"].reason == "is mounted at /data"


@pytest.mark.parametrize(
    ("uuid", "note"),
    [
        ("LVM-abc", "LVM volume 'x'"),
        ("CRYPT-LUKS1-abc", "LUKS 'x'"),
        ("CRYPT-PLAIN-x", "dm-crypt 'x'"),
        ("mpath-3600", "multipath 'x'"),
        ("", "device-mapper 'x'"),
    ],
)
def test_holders_by_what_they_are(sysfs: FakeSysfs, uuid: str, note: str) -> None:
    sysfs.mapped("dm-3", ["nvme1n1"], dm=(uuid, "x"))
    sysfs.put("block/nvme2n1/holders/bcache0", "")
    found = by_name(sysfs.probe())
    assert found["nvme1n1"].holder_notes == (note,)
    assert found["nvme2n1"].reason == "is held by bcache0 (bcache)"


def test_an_fstab_line_claims_a_disk(sysfs: FakeSysfs) -> None:
    (sysfs.root / "etc").mkdir()
    (sysfs.root / "etc/fstab").write_text("/dev/nvme1n1 /data ext4 nofail 0 2\n")
    found = by_name(sysfs.probe())
    assert found["nvme1n1"].reason == "is claimed by /etc/fstab line 1, /data"
    assert found["nvme2n1"].claimable


def test_a_running_raid10_in_full(sysfs: FakeSysfs) -> None:
    sysfs.array("md127", "9:127", ["nvme1n1", "nvme2n1"])
    for attribute, value in {
        "level": "raid10", "layout": "258", "degraded": "1", "sync_action": "recover",
        "component_size": "1024",
    }.items():  # fmt: skip
        sysfs.put(f"block/md127/md/{attribute}", value)
    (array,) = sysfs.probe().arrays
    assert (array.layout, array.degraded, array.sync_action) == ("near=2", 1, "recover")
    assert array.member_bytes == 1024 * 1024


def test_an_active_group_without_root(sysfs: FakeSysfs) -> None:
    sysfs.udev("nvme1n1", ID_FS_TYPE="LVM2_member", ID_FS_UUID="pv-1")
    sysfs.mapped("dm-0", ["nvme1n1"], dm=("LVM-abc", "stripewright--logs-logs"))
    found = by_name(sysfs.probe())["nvme1n1"]
    assert found.lvm_member is not None
    assert (found.lvm_member.pv_uuid, found.lvm_member.group) == ("pv-1", "stripewright-logs")
    assert found.claimable
    sysfs.put("block/dm-0/dm/name", "vg0-root")
    assert "of the volume group 'vg0'" not in by_name(sysfs.probe())["nvme1n1"].reason
    assert not by_name(sysfs.probe())["nvme1n1"].claimable
