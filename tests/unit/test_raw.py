"""What speaks against overwriting a device, and against opening it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.bench import fingerprint, member_baseline, raw_device
from appliance.bench.block_devices import Devices
from appliance.errors import OperatorError, Refused, UsageError
from appliance.model.disks import Disk, Mark, MarkState, Signature

BLANK = Disk(
    path="/dev/nvme1n1",
    id="nvme-x",
    model="Amazon EC2 NVMe Instance Storage",
    serial="AWS1234",
    size_bytes=10**12,
    transport="nvme",
    blank=True,
)


def test_a_blank_disk_whose_serial_was_typed_may_be_written():
    assert raw_device.why_not(BLANK, "AWS1234") == ("", "")
    # EBS volumes are known by both spellings.
    volume = replace(BLANK, serial="vol0abc")
    assert raw_device.why_not(volume, "vol-0abc") == ("", "")


@pytest.mark.parametrize("typed", ["", "AWS123", "aws1234", "AWS1234 ", "AWS12345"])
def test_another_serial_is_refused_without_telling_the_right_one(typed):
    reason, hint = raw_device.why_not(BLANK, typed)
    assert "another serial" in reason
    assert "AWS1234" not in reason + hint


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"holds_root": True}, "running system"),
        ({"serial": ""}, "no serial"),
        ({"mountpoints": ("/data",)}, "mounted at /data"),
        ({"swap": True}, "swap"),
        ({"partitions": ("nvme1n1p1",)}, "partitions"),
        ({"holders": ("md0",), "holder_notes": ("md array, raid0",)}, "held by md0"),
        ({"claimed_by": "/etc/fstab"}, "claimed by"),
        ({"signatures": (Signature("ext4", 0x438),), "blank": False}, "ext4"),
        ({"signatures": (Signature("unreadable"),), "blank": None}, "cannot be read"),
        ({"busy": True}, "opened exclusively"),
        ({"blank": False, "nonzero_offset_bytes": 4096}, "not blank"),
        ({"read_only": True}, "read-only"),
        ({"size_bytes": 0}, "size zero"),
        (
            {"blank": False, "mark": Mark(MarkState.MAKING, "scratch", "", 0)},
            "not blank",
        ),
    ],
)
def test_whatever_is_on_a_disk_or_uses_it_speaks_against_writing(changes, says):
    disk = replace(BLANK, **changes)
    reason, hint = raw_device.why_not(disk, disk.serial or "x")
    assert says in reason
    assert hint
    assert "--erase" not in hint


def test_the_file_behind_a_loop_device_stands_for_its_serial():
    loop = replace(BLANK, path="/dev/loop0", serial="/tmp/a file")
    assert raw_device.why_not(loop, "/tmp/a file") == ("", "")
    assert "another serial" in raw_device.why_not(loop, "/tmp/another")[0]
    # Elsewhere a serial like that is that of nobody's disk.
    assert "serial" in raw_device.why_not(replace(BLANK, serial="/tmp/a file"), "/tmp/a file")[0]


def test_what_is_no_device_is_told_apart(tmp_path):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "pipe", "missing", "", "file/below"):
        with pytest.raises((UsageError, OperatorError)) as caught:
            raw_device.open_to_read(tmp_path / name).__enter__()
        assert caught.value.hint


def test_writing_is_for_root_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(OperatorError, match="only root"):
        raw_device.open_to_overwrite(tmp_path, "x").__enter__()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("INVOCATION_ID", "0" * 32)
    with pytest.raises(Refused, match="unit or timer"):
        raw_device.open_to_overwrite(tmp_path, "x").__enter__()


# ---------------------------------------------------------------------- sysfs out of files


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def stripe_files(**changes: str) -> dict[str, str]:
    return {
        "md0/md/level": "raid0",
        "md0/md/chunk_size": "262144",
        "md0/md/raid_disks": "2",
        "md0/md/dev-a/slot": "1",
        "md0/md/dev-a/offset": "2048",
        "md0/md/dev-a/size": "1000",
        "md0/md/dev-b/slot": "0",
        "md0/md/dev-b/offset": "4096",
        "md0/md/dev-b/size": "1000",
    } | {f"md0/md/{name.replace('__', '/')}": text for name, text in changes.items()}


def test_a_stripe_is_read_in_the_order_of_its_slots(tmp_path):
    found = member_baseline.read_stripe(
        Devices("md0", ("a", "b")), sys_block=put(tmp_path, stripe_files())
    )
    assert found is not None
    assert found.members == ("b", "a")
    assert found.data_offsets == (4096 * 512, 2048 * 512)
    assert found.chunk_bytes == 262144


@pytest.mark.parametrize(
    "changes",
    [
        {"level": "raid10"},
        {"chunk_size": "x"},
        {"raid_disks": "3"},
        {"dev-a__slot": "none"},
        {"dev-a__size": "999"},
    ],
)
def test_what_is_no_plain_stripe_is_not_taken_for_one(tmp_path, changes):
    folder = put(tmp_path, stripe_files(**changes))
    assert member_baseline.read_stripe(Devices("md0", ("a", "b")), sys_block=folder) is None
    assert member_baseline.read_stripe(Devices(), sys_block=folder) is None


def test_conditions_say_once_what_is_the_same_on_all_members(tmp_path):
    put(
        tmp_path,
        {
            "sys/class/block/a/queue/write_cache": "write back",
            "sys/class/block/b/queue/write_cache": "write through",
            "sys/class/block/a/queue/scheduler": "[none] mq-deadline",
            "sys/class/block/b/queue/scheduler": "[none] mq-deadline",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave",
            "sys/devices/system/cpu/cpu0/cpuidle/state0/name": "POLL",
            "sys/devices/system/cpu/cpu0/cpuidle/state0/disable": "0",
            "sys/devices/system/cpu/cpu0/cpuidle/state1/name": "C6",
            "sys/devices/system/cpu/cpu0/cpuidle/state1/disable": "1",
            "proc/meminfo": "MemTotal:       1024 kB",
            "proc/self/mountinfo": "1 0 253:5 / /mnt rw,noatime shared:1 - xfs /dev/md0 rw,discard",
        },
    )
    found = fingerprint.read_conditions(
        Devices("md0", ("a", "b")),
        os.makedev(253, 5),
        sys_root=tmp_path / "sys",
        proc_root=tmp_path / "proc",
        cpu_latency_file=tmp_path / "none",
    )
    assert found == {
        "write_cache": "a write back, b write through",
        "scheduler": "none",
        "cpu_governor": "performance, powersave",
        "cpu_idle_states": "POLL",
        "memory_bytes": str(1024 * 1024),
        "mount_discard": "yes",
    }


def test_conditions_that_cannot_be_read_are_not_there(tmp_path):
    nothing = {"sys_root": tmp_path, "proc_root": tmp_path, "cpu_latency_file": tmp_path / "x"}
    assert fingerprint.read_conditions(Devices(), None, **nothing) == {}
    assert fingerprint.read_conditions(Devices("a", ("a",)), 5, **nothing) == {}
