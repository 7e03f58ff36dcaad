"""Guest program: power that goes while mkfs runs, and any part of what it wrote reaches the disks.

mkfs.xfs flushes once, at its end: until then a disk with a volatile cache keeps whatever blocks
it likes. The disks are saved before and after mkfs; each shot begins with the first and some of
the blocks of the second.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
import traceback
from pathlib import Path

from tests.lab import rack
from tests.lab.guest import RESULTS, load_all, must_be_guest, taken
from tests.lab.kills.points import Point, reporting
from tests.lab.kills.sigkill import Range, quiet
from tests.lab.kills.works import MOUNT
from tests.lab.play import release
from tests.lab.shell import sh

_BLOCK = 4096
_BEFORE, _AFTER = Path("/tmp/before"), Path("/tmp/after")
# How much of what mkfs wrote has reached the disks.
_SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
_CHECKS = {"xfs": ("xfs_repair", "-n"), "ext4": ("e2fsck", "-f", "-n")}


class _Cut(BaseException):
    """The work ends here."""


class Torn(Range):
    """A range on which mkfs has run once."""

    def save(self, folder: Path) -> None:
        sh("mdadm", "--wait", "/dev/md/data", check=False)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for disk in self.stage.rack.disks.values():
            disk.flush()
            sh("cp", "--sparse=always", str(disk.file), str(folder / disk.file.name))

    def make(self) -> None:
        """Save the disks on both sides of mkfs."""
        at = next(at for at, one in enumerate(self.learn()) if one.command.startswith("mkfs"))
        self.reset()

        def cut() -> None:
            self.save(_AFTER)
            raise _Cut

        try:
            with (
                reporting(Point(at, "before"), lambda: self.save(_BEFORE)),
                reporting(Point(at, "ended"), cut),
            ):
                quiet(self.stage.do)
        except _Cut:
            return
        raise AssertionError("mkfs was never reached")

    def tear(self, seed: int) -> None:
        """Put back what was there before mkfs, and some blocks of what it wrote."""
        self.reset()
        chance = random.Random(seed)  # noqa: S311 - to be repeated
        share = _SHARES[seed % len(_SHARES)]
        for disk in self.stage.rack.disks.values():
            before, after = _BEFORE / disk.file.name, _AFTER / disk.file.name
            sh("cp", "--sparse=always", "--no-preserve=all", str(before), str(disk.file))
            with before.open("rb") as old, after.open("rb") as new, disk.file.open("r+b") as file:
                for offset in _data(new.fileno(), disk.size_bytes):
                    block = os.pread(new.fileno(), _BLOCK, offset)
                    if block != os.pread(old.fileno(), _BLOCK, offset) and chance.random() < share:
                        os.pwrite(file.fileno(), block, offset)
            disk.forget_cache()
        self.stage.rack.settle()

    def prove(self, *, reboot: bool) -> None:
        super().prove(reboot=reboot)
        (line,) = [one for one in Path("/proc/mounts").read_text().splitlines()
                   if one.split()[1] == str(MOUNT)]  # fmt: skip
        device, _, kind = line.split()[:3]
        sh("umount", str(MOUNT))
        sh(*_CHECKS[kind], device)


def _data(descriptor: int, size_bytes: int) -> list[int]:
    found, end = [], 0
    while end < size_bytes:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        found += range(start // _BLOCK * _BLOCK, end, _BLOCK)
    return found


def main(shots: int) -> None:
    must_be_guest()
    rack.load()
    load_all()
    done: dict[str, dict[str, object]] = {}
    for name in taken():
        began = time.monotonic()
        place = Torn(name)
        failures: list[str] = []
        tried = 0
        try:
            place.open()
            place.reset()
            place.make()
            for seed in range(shots):
                try:
                    tried += 1
                    place.tear(seed)
                    place.prove(reboot=True)
                except Exception as error:  # the others must still be tried
                    failures.append(f"seed {seed}: {error!r}")
                    print(f"{name}: {failures[-1]}", flush=True)
        except Exception:
            failures.append(traceback.format_exc())
        finally:
            release()
            place.close()
        done[name] = {
            "tried": tried,
            "hit": tried,
            "failures": failures,
            "seconds": round(time.monotonic() - began, 1),
        }
        print(f"{name}: {tried} torn, {len(failures)} failures", flush=True)
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]))
