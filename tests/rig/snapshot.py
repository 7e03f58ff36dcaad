"""A machine that was booted once and goes on from there in each test that wants one.

Booting an emulated machine takes a minute and more, loading its memory two seconds. What is kept
(root disk, carrier, memory) belongs to one build of the image and one version of the rig; it lies
beside the images. The root disk is virtio's, because QEMU cannot save its NVMe drive; the four
drives are the guest kernel's own, and so in its memory.

The guest's clock goes on where it stood.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rig import tools
from tests.rig.build import Image, cache_root, forget_old, locked, say
from tests.rig.drives import EBS_MODEL, Carrier, Drive, blank_drives
from tests.rig.qemu import Guest, Machine, acceleration

EBS_SERIAL = "vol0f1e2d3c4b5a69788"
EBS_BYTES = 768 << 20
# One machine for all tests that are not about the boot: a stripe of four, and a volume that takes
# part only once it is named.
DRIVES = (*blank_drives(), Drive(EBS_SERIAL, EBS_BYTES, model=EBS_MODEL))

_RIG = Path(__file__).parent
_KEEP = 4
_IN_USE_SECONDS = 3600
_DISKS = ("root.qcow2", "carrier.raw", "efivars.fd", "key", "key.pub")


@contextmanager
def booted(image: Image, folder: Path) -> Iterator[Guest]:
    """A machine in ``folder`` with its stripe mounted and SSH answering; killed at the end."""
    saved = _saved(image)
    folder.mkdir(parents=True, exist_ok=True)
    for name in _DISKS:
        subprocess.run(["cp", "--sparse=always", saved / name, folder / name], check=True)
    machine = _machine(image, folder, Carrier.of(folder / "carrier.raw", DRIVES))
    with machine.boot(full_path=True, memory=saved / "memory") as guest:
        guest.wait_for_root()
        guest.wait_for_ssh()
        yield guest


def _machine(image: Image, folder: Path, carrier: Carrier) -> Machine:
    return Machine(image, folder, carrier, root_device="virtio-blk-pci")


def _saved(image: Image) -> Path:
    """The folder of what is kept for such a machine; made if there is none yet."""
    digest = hashlib.sha256(repr((image.key, tools.qemu(), acceleration())).encode())
    for name in ("qemu.py", "drives.py", "snapshot.py"):
        digest.update((_RIG / name).read_bytes())
    kept = cache_root() / "booted"
    final = kept / digest.hexdigest()[:16]
    with locked(kept / f"{final.name}.lock"):
        if final.exists():
            os.utime(final)
            return final
        say("booting a machine to be kept for the tests")
        began = time.monotonic()
        partial = final.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        machine = _machine(image, partial, Carrier(partial / "carrier.raw", DRIVES))
        with machine.up(full_path=True) as guest:
            guest.wait_until_idle()
            guest.save(partial / "memory")
        partial.rename(final)
        say(f"kept after {time.monotonic() - began:.0f} s")
    forget_old(kept, _KEEP, unused_seconds=_IN_USE_SECONDS)
    return final
