"""What is looked at of a new filesystem before it is mounted, with the real tools on files."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.errors import OperatorError
from appliance.model import Disk, Step, Volume
from appliance.storage import filesystem
from appliance.storage.act import verify
from appliance.storage.act.chores import Bench, by_path
from appliance.storage.probe.kernel import Kernel

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
    scene = verify.Scene(volume, (disk,), Kernel(), Bench(by_path([disk]), ""))
    step = Step(argv, "")
    verify.check_geometry(step, scene)
    # The superblock has reached the disk, the rest of the first MiB has not.
    with node.open("r+b") as file:
        os.pwrite(file.fileno(), bytes(MIB - 4096), 4096)
    with pytest.raises(OperatorError, match=r"xfs_repair|e2fsck") as failed:
        verify.check_geometry(step, scene)
    assert "makes it again" in failed.value.hint
