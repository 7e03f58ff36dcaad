"""The guest side: play the cases that need disks of their own, md, LVM or device-mapper.

Runs as root inside the guest kernel only; it refuses to start anywhere else.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.lab.guest import must_be_guest
from tests.lab.shell import sh
from tests.validity_set import bogus, good, places
from tests.validity_set.places import MOUNT
from tests.validity_set.record import MIB, Place, play

RESULTS = Path("/run/results")
NAMES = RESULTS / "names.txt"
_BAD_SECTORS = range(200_000, 203_000, 8)


def _filesystem(
    device: Callable[[], AbstractContextManager[str]], filesystem: str
) -> Callable[[], AbstractContextManager[Place]]:
    @contextlib.contextmanager
    def build() -> Iterator[Place]:
        with device() as node, places.mounted(node, filesystem) as place:
            yield place

    return build


def _on_md(disks: list[str]) -> Callable[[], AbstractContextManager[str]]:
    return lambda: places.md(disks, 64)


def all_places(disks: list[str]) -> dict[str, Callable[[], AbstractContextManager[Place]]]:
    """Where the guest's cases run, by name."""
    first, second, third, last = disks

    @contextlib.contextmanager
    def md_raw() -> Iterator[Place]:
        with places.md(disks, 256) as node, places.raw(node) as place:
            yield place

    @contextlib.contextmanager
    def slow_md() -> Iterator[str]:
        with places.slow(last, 10) as slow, places.md([first, second, third, slow], 64) as node:
            yield node

    @contextlib.contextmanager
    def slow_lvm() -> Iterator[str]:
        with places.slow(last, 10) as slow, places.lvm([first, slow], stripes=2) as node:
            yield node

    def delayed() -> AbstractContextManager[str]:
        return places.slow(last, 10)

    @contextlib.contextmanager
    def root() -> Iterator[Place]:
        MOUNT.mkdir(exist_ok=True)
        places.write_files(MOUNT)
        try:
            yield Place(MOUNT)
        finally:
            for file in MOUNT.iterdir():
                file.unlink()

    @contextlib.contextmanager
    def dust() -> Iterator[Place]:
        with places.mapped("dust", f"0 {600 * 1024} dust {first} 0 512") as node:
            sh("dd", "if=/dev/urandom", f"of={node}", "bs=1M", "oflag=direct", check=False)
            for sector in _BAD_SECTORS:
                sh("dmsetup", "message", "dust", "0", "addbadblock", str(sector))
            sh("dmsetup", "message", "dust", "0", "enable")
            yield Place(Path("/run"), node=node, expected=(Path(node).resolve().name,))

    @contextlib.contextmanager
    def flakey() -> Iterator[Place]:
        with places.mapped("flakey", f"0 {600 * 1024} flakey {first} 0 4 60") as node:
            yield Place(Path("/run"), node=node, expected=(Path(node).resolve().name,))

    @contextlib.contextmanager
    def zram() -> Iterator[Place]:
        sh("modprobe", "zram", "num_devices=1")
        Path("/sys/block/zram0/disksize").write_text(str(64 * MIB))
        try:
            with places.raw("/dev/zram0") as place:
                yield place
        finally:
            sh("rmmod", "zram")

    def plain(node: str) -> Callable[[], AbstractContextManager[str]]:
        return lambda: contextlib.nullcontext(node)

    return {
        "disk": lambda: places.raw(first),
        "disk-xfs": _filesystem(plain(first), "xfs"),
        "disk-ext4": _filesystem(plain(first), "ext4"),
        "disk-ext4-lazy": _filesystem(plain(first), "ext4-lazy"),
        "other-disk": _filesystem(plain(second), "xfs"),
        "md": md_raw,
        "md-xfs": _filesystem(_on_md(disks), "xfs"),
        "md-slow": _filesystem(slow_md, "xfs"),
        "lvm-ext4": _filesystem(lambda: places.lvm([second], stripes=1), "ext4"),
        "lvm-stripe-xfs": _filesystem(lambda: places.lvm([second, third], stripes=2), "xfs"),
        "lvm-slow": _filesystem(slow_lvm, "xfs"),
        "delayed": _filesystem(delayed, "xfs"),
        "dust": dust,
        "flakey": flakey,
        "zram": zram,
        "root": root,
    }


def main() -> None:
    must_be_guest()
    wanted = set(NAMES.read_text().split())
    made = all_places(places.load())
    cases = [one for one in (*good.CASES, *bogus.CASES) if one.name in wanted]
    for where in dict.fromkeys(one.place for one in cases):
        with _reported(where), made[where]() as place:
            for case in (one for one in cases if one.place == where):
                with _reported(case.name):
                    play(case, place, RESULTS / "set" / case.name)
    if bogus.DIARY[0].name in wanted:
        with _reported(bogus.DIARY[0].name):
            _diary(made)


def _diary(made: dict[str, Callable[[], AbstractContextManager[Place]]]) -> None:
    """Two reports in one file, with the facts and the label of the second."""
    text = ""
    for case in bogus.DIARY:
        folder = RESULTS / "set" / case.name
        with made[case.place]() as place:
            play(case, place, folder)
        text += (folder / "report.txt").read_text()
        (folder / "report.txt").write_text(text)


@contextlib.contextmanager
def _reported(name: str) -> Iterator[None]:
    """Say on the console how long it took; the next one must still run."""
    began = time.monotonic()
    try:
        yield
    except Exception:
        print(f"{name}: {traceback.format_exc()}", flush=True)
    else:
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
