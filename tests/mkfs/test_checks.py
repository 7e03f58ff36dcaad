"""What is looked at of a new filesystem before it is mounted, with the real tools on files."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.model.disks import Disk
from appliance.model.plans import Step, Volume
from appliance.storage.execute import verify
from appliance.storage.execute.builtin_steps import StepContext, by_path
from appliance.storage.formats import ext4, filesystem
from appliance.system.kernel import Kernel

MIB = 1 << 20
XFS = Volume("data", "single", "xfs", "/mnt/data")


@pytest.mark.parametrize("volume", [XFS, replace(XFS, filesystem="ext4")], ids=["xfs", "ext4"])
def test_a_new_filesystem_with_a_fault_is_not_mounted(volume: Volume, tmp_path: Path) -> None:
    node = tmp_path / "disk"
    node.touch()
    os.truncate(node, 512 * MIB)
    disk = Disk(str(node), "nvme-x", "m", "S1", 512 * MIB)
    argv = filesystem.mkfs_argv(
        volume, str(node), members=1, size_bytes=filesystem.plain_size(512 * MIB), uuid="12" * 16
    )
    subprocess.run(argv, check=True, capture_output=True)
    scene = verify.VerifyContext(volume, (disk,), Kernel(), StepContext(by_path([disk]), ""))
    step = Step(argv, "")
    verify.check_geometry(step, scene)
    # The superblock has reached the disk, the rest of the first MiB has not.
    with node.open("r+b") as file:
        os.pwrite(file.fileno(), bytes(MIB - 4096), 4096)
    with pytest.raises(OperatorError, match=r"xfs_repair|e2fsck") as failed:
        verify.check_geometry(step, scene)
    assert "makes it again" in failed.value.hint


def test_a_journal_that_is_replayed_before_the_mount(tmp_path: Path) -> None:
    node, block = tmp_path / "disk", tmp_path / "block"
    volume = replace(XFS, filesystem="ext4")
    with node.open("wb") as file:
        file.truncate(64 * MIB)
    argv = filesystem.mkfs_argv(volume, str(node), members=1, size_bytes=64 * MIB, uuid="12" * 16)
    subprocess.run(argv, check=True, capture_output=True)
    assert not ext4.needs_replay(_start(node))
    # What a machine leaves that loses its power: a transaction in the journal, and only there.
    block.write_bytes(b"in the journal".ljust(4096, b"\0"))
    said = f"jo\njw -b 16000 {block}\njc\n"
    subprocess.run(["debugfs", "-w", node], input=said, text=True, check=True, capture_output=True)
    assert ext4.needs_replay(_start(node))
    done = subprocess.run(ext4.replay_argv(str(node)), check=False, capture_output=True)
    assert done.returncode in {0, 1}, done
    assert not ext4.needs_replay(_start(node))
    with node.open("rb") as file:
        assert os.pread(file.fileno(), 4096, 16000 * 4096) == block.read_bytes()


def _start(node: Path) -> bytes:
    with node.open("rb") as file:
        return file.read(filesystem.SUPERBLOCK_SIZE_BYTES)


def test_what_is_no_ext4_has_no_journal() -> None:
    assert not ext4.needs_replay(b"")
    assert not ext4.needs_replay(bytes(filesystem.SUPERBLOCK_SIZE_BYTES))
