"""What is packed for the clouds, read back by other programs; no boot."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.rig import tools
from tests.rig.build import TREE, Image
from tests.rig.cloud_image import CLOUDS, GIB, MIB, check_vhd, pack_tar, pack_vhd
from tests.rig.errors import RigError


@pytest.fixture
def disk(image: Image, tmp_path: Path) -> Path:
    """The image's first 8 MiB and a hole, no whole number of MiB: all of it takes half a minute."""
    disk = tmp_path / "disk"
    with image.disk.open("rb") as file:
        disk.write_bytes(file.read(8 * MIB))
    os.truncate(disk, 20 * MIB + 512)
    return disk


def test_a_vhd_is_fixed_and_holds_the_disk(disk: Path, tmp_path: Path) -> None:
    packed = tmp_path / "stripewright.vhd"
    pack_vhd(disk, packed)
    asked = [*tools.argv("qemu-img"), "info", "-f", "vpc", "--output=json", str(packed)]
    found = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    assert found["virtual-size"] % MIB == 0
    assert found["virtual-size"] == packed.stat().st_size - 512
    assert packed.read_bytes().startswith(disk.read_bytes())

    for at in (0, 12 + 4, 48, 60, 64):  # cookie, data offset, size, type, checksum
        broken = bytearray(packed.read_bytes()[-512:])
        broken[at] ^= 1
        with packed.open("r+b") as file:
            file.seek(-512, 2)
            kept = file.read()
            file.seek(-512, 2)
            file.write(broken)
            file.flush()
            with pytest.raises(RigError, match="footer"):
                check_vhd(packed, found["virtual-size"])
            file.seek(-512, 2)
            file.write(kept)
    check_vhd(packed, found["virtual-size"])


def test_an_archive_holds_the_disk_alone(disk: Path, tmp_path: Path) -> None:
    packed = tmp_path / "stripewright.tar.gz"
    pack_tar(disk, packed)
    listed = subprocess.run(["tar", "-tzf", packed], capture_output=True, text=True, check=True)
    assert listed.stdout == "disk.raw\n"
    with gzip.open(packed) as archive:
        header = archive.read(512)
    # GNU's old format says so itself, and that the file has holes (tar.h).
    assert (header[156:157], header[257:265]) == (b"S", b"ustar  \0")
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-xzSf", packed, "-C", tmp_path / "out"], check=True)
    unpacked = tmp_path / "out" / "disk.raw"
    assert unpacked.stat().st_size == GIB
    size_bytes = disk.stat().st_size
    with unpacked.open("rb") as file:
        assert file.read(size_bytes) == disk.read_bytes()


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_page_has_the_commands(cloud: str) -> None:
    page = (TREE / "docs" / "cloud-import.md").read_text()
    assert f"```\n{CLOUDS[cloud].commands}```" in page
