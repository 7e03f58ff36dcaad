"""Pack the built image as a cloud takes it, and print the commands that take it there:
``python -m tests.rig.cloud_image azure``, or ``make cloud-image CLOUD=azure``; with ``--keys`` or
``KEYS=`` signed for Secure Boot, with ``--arch arm64`` or ``ARCH=arm64`` for that processor.

What is packed is read back by another program, or by the format's own text, before it is named. The
commands are those of docs/cloud-import.md (a test holds the two together).
"""

from __future__ import annotations

import argparse
import os
import shlex
import struct
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.rig import secure_boot, tools
from tests.rig.architecture import AMD64, ARCHITECTURES, ARM64
from tests.rig.build import build, cache_root
from tests.rig.diskimage import ESP, offset_bytes
from tests.rig.errors import RigError

MIB = 1024 * 1024
GIB = 1024 * MIB
_DEFECT = "a defect of the packer"
# A VHD's footer, big-endian: cookie, features, version, data offset, time, creator and its version,
# its system, original and current size, geometry, type, checksum ("Virtual Hard Disk Image Format
# Specification", Microsoft, 2006).
_FOOTER = struct.Struct(">8sIIQI4sIIQQIII")
_FOOTER_BYTES = 512
_CHECKSUM_AT = 64
_FIXED = 2


@dataclass(frozen=True, slots=True)
class Cloud:
    """``pack`` makes ``file`` of the raw disk; ``commands`` name it as their user's own. ``signed``
    are the parts that differ for a signed image, ``arm64`` those for one of that architecture.
    """

    file: str
    commands: str
    pack: Callable[[Path, Path], None]
    signed: Mapping[str, str]
    arm64: Mapping[str, str]

    def signed_commands(self, keys: str) -> str:
        return _replaced(
            self.commands, {plain: one.replace("KEYS", keys) for plain, one in self.signed.items()}
        )

    def arm64_commands(self) -> str:
        return _replaced(self.commands, self.arm64)


def _replaced(commands: str, parts: Mapping[str, str]) -> str:
    for plain, other in parts.items():
        commands = commands.replace(plain, other)
    return commands


def pack_raw(disk: Path, packed: Path, unit_bytes: int = 1) -> None:
    """A sparse copy, enlarged to a whole number of ``unit_bytes``."""
    _run("cp", "--sparse=always", str(disk), str(packed))
    os.truncate(packed, -(-disk.stat().st_size // unit_bytes) * unit_bytes)
    _check_start(packed)


def _check_start(packed: Path) -> None:
    try:
        offset_bytes(packed, ESP)
    except ValueError as error:
        raise RigError(str(error), _DEFECT) from error


def pack_vhd(disk: Path, packed: Path) -> None:
    """A fixed VHD of a whole number of MiB, and its footer: what Azure wants of one."""
    whole = packed.with_name("whole.raw")
    pack_raw(disk, whole, MIB)
    _run(
        *tools.argv("qemu-img"), "convert", "-f", "raw", "-O", "vpc",
        "-o", "subformat=fixed,force_size=on", str(whole), str(packed),
    )  # fmt: skip
    check_vhd(packed, whole.stat().st_size)


def check_vhd(packed: Path, size_bytes: int) -> None:
    """Raises :class:`RigError` unless ``packed`` is a fixed VHD of ``size_bytes``."""
    if packed.stat().st_size != size_bytes + _FOOTER_BYTES:
        raise RigError(f"{packed} is not its disk and a footer", _DEFECT)
    with packed.open("rb") as file:
        file.seek(size_bytes)
        footer = file.read(_FOOTER_BYTES)
    cookie, _, _, data_offset, *_, current, _, kind, checksum = _FOOTER.unpack_from(footer)
    counted = sum(footer) - sum(footer[_CHECKSUM_AT : _CHECKSUM_AT + 4])
    wrong = [
        what
        for what, right in (
            ("cookie", cookie == b"conectix"),
            ("type", kind == _FIXED),
            ("data offset", data_offset == 2**64 - 1),
            ("size", current == size_bytes and size_bytes % MIB == 0),
            ("checksum", checksum == ~counted & 0xFFFFFFFF),
        )
        if not right
    ]
    if wrong:
        raise RigError(f"{packed}: the footer's {', '.join(wrong)} is wrong", _DEFECT)
    _check_start(packed)


def pack_tar(disk: Path, packed: Path) -> None:
    """An archive of exactly ``disk.raw``, a whole number of GiB, in GNU's old format, holes left
    out: what GCP wants.
    """
    whole = packed.with_name("disk.raw")
    pack_raw(disk, whole, GIB)
    _run("tar", "--format=oldgnu", "-Sczf", str(packed), "-C", str(whole.parent), whole.name)
    with tarfile.open(packed) as archive:
        found = [(member.name, member.size) for member in archive]
    if found != [(whole.name, whole.stat().st_size)]:
        raise RigError(f"{packed} holds {found}, not disk.raw alone", _DEFECT)


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(f"{argv[0]} failed: {done.stderr.strip()}", "is the disk full?")


CLOUDS = {
    "aws": Cloud(
        "stripewright.raw",
        """\
aws s3 cp stripewright.raw s3://BUCKET/stripewright.raw
aws ec2 import-snapshot --description stripewright \\
    --disk-container "Format=RAW,UserBucket={S3Bucket=BUCKET,S3Key=stripewright.raw}"
aws ec2 describe-import-snapshot-tasks          # until completed: snap-…
aws ec2 register-image --name stripewright --architecture x86_64 --virtualization-type hvm \\
    --boot-mode uefi-preferred --ena-support --root-device-name /dev/xvda \\
    --block-device-mappings "DeviceName=/dev/xvda,Ebs={SnapshotId=snap-…,VolumeType=gp3}"
aws ec2 run-instances --image-id ami-… --instance-type i4i.xlarge --key-name KEY \\
    --metadata-options HttpTokens=required
""",
        pack_raw,
        {
            # Started by BIOS, nothing would be checked.
            "--boot-mode uefi-preferred ": """\
--boot-mode uefi --uefi-data "$(cat KEYS/uefi-data)" \\
    """
        },
        {
            "--architecture x86_64": "--architecture arm64",
            "uefi-preferred": "uefi",
            "i4i.xlarge": "i8g.xlarge",
        },
    ),
    "azure": Cloud(
        "stripewright.vhd",
        """\
az storage blob upload --type page --account-name ACCOUNT -c images \\
    -f stripewright.vhd -n stripewright.vhd
az sig create -g GROUP -r GALLERY
az sig image-definition create -g GROUP -r GALLERY -i stripewright --publisher stripewright \\
    --offer stripewright --sku stripewright --os-type Linux --hyper-v-generation V2 \\
    --features "SecurityType=Standard DiskControllerTypes=SCSI,NVMe"
az sig image-version create -g GROUP -r GALLERY -i stripewright -e 1.0.0 \\
    --os-vhd-uri https://ACCOUNT.blob.core.windows.net/images/stripewright.vhd \\
    --os-vhd-storage-account ACCOUNT
az vm create -g GROUP -n NAME --size Standard_L8s_v4 --disk-controller-type NVMe \\
    --image "$(az sig image-definition show -g GROUP -r GALLERY -i stripewright \\
        --query id -o tsv)" \\
    --admin-username operator --ssh-key-values KEY.pub
""",
        pack_vhd,
        {
            "SecurityType=Standard": "SecurityType=TrustedLaunchSupported",
            """\
az sig image-version create -g GROUP -r GALLERY -i stripewright -e 1.0.0 \\
    --os-vhd-uri https://ACCOUNT.blob.core.windows.net/images/stripewright.vhd \\
    --os-vhd-storage-account ACCOUNT
""": """\
# first replace the words in capitals in azure-version.json
az rest --method put --body @KEYS/azure-version.json \\
    --url "$(az sig image-definition show -g GROUP -r GALLERY -i stripewright \\
        --query id -o tsv)/versions/1.0.0?api-version=2024-03-03"
az sig image-version wait --created -g GROUP -r GALLERY -i stripewright -e 1.0.0
""",
            "--disk-controller-type NVMe ": """\
--disk-controller-type NVMe \\
    --security-type TrustedLaunch --enable-vtpm true --enable-secure-boot true """,
        },
        {
            "--os-type Linux ": """\
--os-type Linux --architecture Arm64 \\
    """,
            "Standard_L8s_v4": "Standard_D8pds_v6",
        },
    ),
    "gcp": Cloud(
        "stripewright.tar.gz",
        """\
gsutil cp stripewright.tar.gz gs://BUCKET/
gcloud compute images create stripewright --source-uri gs://BUCKET/stripewright.tar.gz \\
    --guest-os-features UEFI_COMPATIBLE,GVNIC
gcloud compute instances create NAME --image stripewright --machine-type n2-standard-8 \\
    --metadata ssh-keys="operator:$(cat KEY.pub)" \\
    --local-ssd interface=nvme --local-ssd interface=nvme
""",
        pack_tar,
        {
            "UEFI_COMPATIBLE,GVNIC": """\
UEFI_COMPATIBLE,GVNIC \\
    --platform-key-file KEYS/PK.der --key-exchange-key-file KEYS/KEK.der \\
    --signature-database-file KEYS/db.der""",
            "--machine-type n2-standard-8 ": """\
--machine-type n2-standard-8 \\
    --shielded-secure-boot """,
        },
        {
            "gcloud compute images create stripewright ": """\
gcloud compute images create stripewright --architecture ARM64 \\
    """,
            "--machine-type n2-standard-8 ": """\
--machine-type c4a-standard-8-lssd \\
    --boot-disk-type hyperdisk-balanced """,
            """"operator:$(cat KEY.pub)" \\
    --local-ssd interface=nvme --local-ssd interface=nvme
""": """"operator:$(cat KEY.pub)",stripewright-machine-type=c4a-standard-8-lssd
""",
        },
    ),
}  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("cloud", choices=CLOUDS)
    options.add_argument("--keys", type=Path, help="sign it with these (make secure-boot-keys)")
    options.add_argument("--arch", choices=ARCHITECTURES, default=AMD64.name)
    given = options.parse_args()
    cloud, commands = CLOUDS[given.cloud], CLOUDS[given.cloud].commands
    architecture = ARCHITECTURES[given.arch]
    if architecture == ARM64:
        commands = cloud.arm64_commands()
        if given.keys is not None:
            options.error("--keys: Secure Boot is for amd64 only")
    try:
        image = build(architecture)
        folder = cache_root() / "cloud" / architecture.name
        folder.mkdir(parents=True, exist_ok=True)
        # What was packed before, or half, does not stay beside it.
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            packed, disk = Path(beside) / cloud.file, image.disk
            if given.keys is not None:
                disk = Path(beside) / "signed"
                secure_boot.sign_copy(image.disk, given.keys, disk)
                commands = cloud.signed_commands(shlex.quote(str(given.keys.absolute())))
            cloud.pack(disk, packed)
            packed.replace(folder / cloud.file)
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"cd {shlex.quote(str(folder))}\n{commands}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
