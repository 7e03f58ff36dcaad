"""Boot one image again and again, unattended: ``python -m tests.rig.boots --count 200``.

Each boot is of a new machine: four blank drives, until the stripe is mounted and SSH answers. With
QEMU every tenth goes by firmware, UEFI and BIOS in turns; ``--uml`` boots User Mode Linux;
``--matrix`` boots each firmware from each bus once, and UEFI also signed, with Secure Boot. No boot
is tried twice. Prints a line a boot; of one that does not come up, what can be seen is kept
(tests/rig/machine.py). The exit status is 1 if one did not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.rig import secure_boot
from tests.rig.build import Image, build, cache_root, say
from tests.rig.drives import blank_drives
from tests.rig.errors import RigError
from tests.rig.machine import Machine
from tests.rig.qemu import ROOT_BUSES, QemuMachine
from tests.rig.uml_machine import UmlMachine

_FIRMWARES = ("uefi", "bios")
_SECURE = "secure boot"
_FIRMWARE_EVERY = 10


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--at-once", type=int, default=2)
    options.add_argument("--uml", action="store_true")
    options.add_argument("--matrix", action="store_true")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    if given.matrix:
        ways = [(firmware, bus) for firmware in (*_FIRMWARES, _SECURE) for bus in ROOT_BUSES]
    elif given.uml:
        ways = [("uml", "ubd")] * given.count
    else:
        ways = [(_firmware(number), "nvme") for number in range(given.count)]
    image = build()
    with (
        tempfile.TemporaryDirectory(dir=cache_root()) as name,
        ThreadPoolExecutor(given.at_once) as pool,
    ):
        keys, signed = Path(name) / "keys", Path(name) / "signed"
        if given.matrix:
            secure_boot.make_keys(keys)
            secure_boot.sign_copy(image.disk, keys, signed)
        images = {_SECURE: replace(image, disk=signed)}
        boots = list(
            pool.map(
                lambda at: _boot(images.get(ways[at][0], image), at, *ways[at], keys),
                range(len(ways)),
            )
        )
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


def _boot(image: Image, number: int, firmware: str, root_bus: str, keys: Path) -> dict[str, object]:
    folder = cache_root() / "boots" / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    error = ""
    how: dict[str, Any] = {"firmware": firmware}
    if firmware == _SECURE:
        how = {"firmware": "uefi", "secure_boot": keys}
    try:
        machine: Machine = (
            UmlMachine(image, folder, blank_drives())
            if firmware == "uml"
            else QemuMachine(image, folder, blank_drives(), root_bus=root_bus, **how)
        )
        with machine.up():
            pass
    except RigError as failure:
        error = str(failure)
    seconds = time.monotonic() - began
    shutil.rmtree(folder)
    say(f"boot {number} ({firmware or 'fast'}, {root_bus}): {seconds:.0f} s {error or 'came up'}")
    return {
        "boot": number, "firmware": firmware, "root_bus": root_bus,
        "seconds": round(seconds, 1), "error": error,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
