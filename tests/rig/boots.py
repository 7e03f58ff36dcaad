"""Boot one image again and again, unattended: ``python -m tests.rig.boots --count 200``.

Each boot is of a new machine: four blank drives, until the stripe is mounted and SSH answers. With
QEMU every tenth goes by firmware, UEFI and BIOS in turns; ``--uml`` boots User Mode Linux;
``--matrix`` boots each firmware from each bus with each kind of local disk once, and UEFI also
signed, with Secure Boot; of ``--arch arm64``, UEFI alone. No boot is tried twice. Prints a line a
boot; of one that does not come up, what can be seen is kept (tests/rig/machine.py). The exit status
is 1 if one did not.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.rig import secure_boot
from tests.rig.architecture import AMD64, ARCHITECTURES, ARM64
from tests.rig.build import Image, build, cache_root, say
from tests.rig.drives import blank_drives
from tests.rig.errors import RigError
from tests.rig.machine import Machine
from tests.rig.qemu import ROOT_BUSES, QemuMachine
from tests.rig.uml_machine import UmlMachine

_FIRMWARES = ("uefi", "bios")
_SECURE = "secure boot"
_LOCAL_BUSES = ("nvme", "scsi")
_FIRMWARE_EVERY = 10


@dataclass(frozen=True, slots=True)
class Way:
    """Firmware, or ``uml``; the bus of the root disk, and of the local disks."""

    firmware: str
    root_bus: str = "nvme"
    local_bus: str = "nvme"

    def __str__(self) -> str:
        return f"{self.firmware or 'fast'}, {self.root_bus} root, {self.local_bus} disks"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--at-once", type=int, default=2)
    options.add_argument("--uml", action="store_true")
    options.add_argument("--matrix", action="store_true")
    options.add_argument("--arch", choices=ARCHITECTURES, default=AMD64.name)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    architecture = ARCHITECTURES[given.arch]
    if architecture == ARM64 and not given.matrix:
        options.error("--arch arm64 goes with --matrix")
    if given.matrix:
        firmwares = ("uefi",) if architecture == ARM64 else (*_FIRMWARES, _SECURE)
        every = itertools.product(firmwares, ROOT_BUSES, _LOCAL_BUSES)
        ways = [Way(*one) for one in every]
    elif given.uml:
        ways = [Way("uml", "ubd", "scsi")] * given.count
    else:
        ways = [Way(_firmware(number)) for number in range(given.count)]
    image = build(architecture)
    with (
        tempfile.TemporaryDirectory(dir=cache_root()) as name,
        ThreadPoolExecutor(given.at_once) as pool,
    ):
        keys, signed = Path(name) / "keys", Path(name) / "signed"
        if any(way.firmware == _SECURE for way in ways):
            secure_boot.make_keys(keys)
            secure_boot.sign_copy(image.disk, keys, signed)

        def one(number: int) -> dict[str, object]:
            way = ways[number]
            if way.firmware == _SECURE:
                return _boot(replace(image, disk=signed), number, way, keys)
            return _boot(image, number, way)

        boots = list(pool.map(one, range(len(ways))))
    seconds = [one["seconds"] for one in boots if not one["error"]]
    failed = [one for one in boots if one["error"]]
    print(f"{len(boots)} boots, {len(failed)} did not come up")
    if seconds:
        print(
            f"power on to mounted and SSH: median {statistics.median(seconds):.0f} s, "
            f"{min(seconds):.0f} to {max(seconds):.0f} s"
        )
    if given.json:
        given.json.write_text(json.dumps(boots, indent=1))
    return 1 if failed else 0


def _firmware(number: int) -> str:
    turn, fast = divmod(number, _FIRMWARE_EVERY)
    return "" if fast else _FIRMWARES[turn % len(_FIRMWARES)]


def _boot(image: Image, number: int, way: Way, keys: Path | None = None) -> dict[str, object]:
    folder = cache_root() / "boots" / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    error = ""
    try:
        with _machine(image, folder, way, keys).up():
            pass
    except RigError as failure:
        error = str(failure)
    seconds = time.monotonic() - began
    shutil.rmtree(folder)
    say(f"boot {number} ({way}): {seconds:.0f} s {error or 'came up'}")
    return {"boot": number, **asdict(way), "seconds": round(seconds, 1), "error": error}


def _machine(image: Image, folder: Path, way: Way, keys: Path | None) -> Machine:
    drives = blank_drives()
    if way.firmware == "uml":
        return UmlMachine(image, folder, drives)
    of_qemu = way.local_bus == "scsi"
    return QemuMachine(
        image,
        folder,
        () if of_qemu else drives,
        plugged=drives if of_qemu else (),
        local_bus=way.local_bus,
        firmware="uefi" if keys else way.firmware,
        root_bus=way.root_bus,
        secure_boot=keys,
    )


if __name__ == "__main__":
    sys.exit(main())
