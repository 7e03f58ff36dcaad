"""What is packed for the clouds, and signed, read back by other programs; no boot."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from tests.rig import secure_boot, tools
from tests.rig.build import TREE, Image
from tests.rig.cloud_image import CLOUDS, GIB, MIB, check_vhd, pack_tar, pack_vhd
from tests.rig.diskimage import BootFilesystem
from tests.rig.errors import RigError

_COMMAND = re.compile(r"(?:.*\\\n)*.*\n")


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
    # Each part is there to be replaced.
    parts = (*CLOUDS[cloud].signed, *CLOUDS[cloud].arm64)
    assert all(CLOUDS[cloud].commands.count(part) == 1 for part in parts)
    plain = _COMMAND.findall(CLOUDS[cloud].commands)
    for changed in (CLOUDS[cloud].signed_commands("KEYS"), CLOUDS[cloud].arm64_commands()):
        others = [command for command in _COMMAND.findall(changed) if command not in plain]
        assert others
        assert all(command in page for command in others)


def _verified(program: Path, certificate: Path) -> bool:
    argv = [*tools.argv("sbverify"), "--cert", str(certificate), str(program)]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def test_every_efi_program_is_signed(image: Image, keys: Path, tmp_path: Path) -> None:
    signed, program = tmp_path / "signed", tmp_path / "program"
    secure_boot.sign_copy(image.disk, keys, signed)
    programs = [one for one in BootFilesystem(signed).paths() if one.lower().endswith(".efi")]
    # The fallback, systemd-boot under its own name, and the unified kernel image.
    assert len(programs) == 3
    for path in programs:
        BootFilesystem(image.disk).copy_out(path, program)
        assert not _verified(program, keys / "db.pem")
        BootFilesystem(signed).copy_out(path, program)
        assert _verified(program, keys / "db.pem")
        assert not _verified(program, keys / "KEK.pem")
    # All else is as it was, to the byte.
    before, after = tmp_path / "before", tmp_path / "after"
    for disk, folder in ((image.disk, before), (signed, after)):
        folder.mkdir()
        BootFilesystem(disk).copy_all_out(folder)
    files = {one.relative_to(before) for one in before.rglob("*") if one.is_file()}
    assert files == {one.relative_to(after) for one in after.rglob("*") if one.is_file()}
    differing = {one for one in files if (before / one).read_bytes() != (after / one).read_bytes()}
    assert {f"/{one}" for one in differing} == set(programs)


def test_keys_are_secret_and_never_overwritten(keys: Path) -> None:
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in keys.glob("*.key")} == {0o600}
    kept = (keys / "db.key").read_bytes()
    with pytest.raises(RigError, match="already exists"):
        secure_boot.make_keys(keys)
    assert (keys / "db.key").read_bytes() == kept
    with pytest.raises(RigError, match="in the source tree"):
        secure_boot.make_keys(TREE / "keys")
    with pytest.raises(RigError, match="cannot be made"):
        secure_boot.make_keys(keys / "db.key" / "keys")


def test_no_image_is_signed_without_all_keys(disk: Path, keys: Path, tmp_path: Path) -> None:
    before = disk.read_bytes()
    (tmp_path / "db.pem").write_bytes((keys / "db.pem").read_bytes())
    with pytest.raises(RigError, match=r"has no db\.key"):
        secure_boot.sign(disk, tmp_path)
    assert disk.read_bytes() == before


def test_the_clouds_get_the_certificates(keys: Path) -> None:
    certificate = (keys / "db.der").read_bytes()
    version = json.loads((keys / "azure-version.json").read_text())
    settings = version["properties"]["securityProfile"]["uefiSettings"]
    (added,) = settings["additionalSignatures"]["db"]
    assert base64.b64decode(*added["value"], validate=True) == certificate
    # EC2's store begins with its name; the rest is compressed (awslabs/python-uefivars).
    assert base64.b64decode((keys / "uefi-data").read_text()).startswith(b"AMZNUEFI")
