"""How the set was made, and makes it anew: ``python -m tests.validity_set.generate [NAME...]``.

Needs root, fio and User Mode Linux (tests/lab). The cases that need md, LVM, device-mapper or
disks that fail run in one guest; the others on this machine, on loop devices over files of
the program's own. ``--old-fio`` is a fio 2.14, which no distribution has any more (tag fio-2.14
of its repository; today's gcc wants -fcommon, and a linux/raw.h that defines RAW_MAJOR): without
it the reports that it made stay as they are. Take a quiet machine: the guest's disks need the
processor, and a job that is labelled steady is not so on a busy one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from tests.lab import guests
from tests.lab.shell import sh
from tests.rig import uml
from tests.rig.build import build
from tests.validity_set import bogus, good, places
from tests.validity_set.places import MOUNT
from tests.validity_set.record import MIB, Place, play

SET = Path(__file__).with_name("set")
_GUEST_SECONDS = 20 * 60
_LOOP_BYTES = 512 * MIB
_FILES = 8


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these cases")
    parser.add_argument("--image", type=Path, help="the root disk of the guest (default: build it)")
    parser.add_argument("--old-fio", type=Path, help="the program of fio 2.14")
    asked = parser.parse_args(argv)
    wanted = set(asked.names) or {
        one.name
        for one in (*good.CASES, *bogus.CASES, *bogus.DIARY, *good.HOST_CASES, *bogus.HOST_CASES)
    }
    guest = {one.name for one in (*good.CASES, *bogus.CASES, *bogus.DIARY)} & wanted
    if guest:
        in_guest(asked.image or build().disk, guest)
    on_host(wanted, asked.old_fio)


def in_guest(image: Path, names: set[str]) -> None:
    if why := uml.missing():
        raise SystemExit(why)
    with tempfile.TemporaryDirectory(prefix="validity-set-") as scratch:
        folder = Path(scratch)
        (folder / "names.txt").write_text("\n".join(sorted(names)))
        run = guests.run_guest(
            image, folder, ["tests.validity_set.guest"], timeout_seconds=_GUEST_SECONDS
        )
        print(run.console)
        for made in (folder / "set").glob("*"):
            _keep(made)


def _keep(made: Path) -> None:
    shutil.rmtree(SET / made.name, ignore_errors=True)
    shutil.copytree(made, SET / made.name)


def on_host(wanted: set[str], old_fio: Path | None) -> None:
    cases = [one for one in (*good.HOST_CASES, *bogus.HOST_CASES) if one.name in wanted]
    with tempfile.TemporaryDirectory(prefix="validity-set-") as scratch:
        made = _host_places(Path(scratch), old_fio)
        for where in dict.fromkeys(one.place for one in cases):
            if where not in made:
                print(f"{where}: left as it is, there is no --old-fio")
                continue
            with made[where]() as place:
                for case in (one for one in cases if one.place == where):
                    folder = Path(scratch) / "set" / case.name
                    play(case, place, folder)
                    _keep(folder)
                    print(case.name)


def _host_places(
    scratch: Path, old_fio: Path | None
) -> dict[str, Callable[[], AbstractContextManager[Place]]]:
    @contextlib.contextmanager
    def loop(direct: str = "on") -> Iterator[str]:
        file = scratch / "loop.img"
        sh("dd", "if=/dev/urandom", f"of={file}", "bs=1M", f"count={_LOOP_BYTES // MIB}")
        node = sh("losetup", "--find", "--show", f"--direct-io={direct}", str(file)).strip()
        try:
            yield node
        finally:
            sh("losetup", "--detach", node)
            file.unlink()

    def on_loop(filesystem: str, fio: str = "fio") -> Callable[[], AbstractContextManager[Place]]:
        @contextlib.contextmanager
        def build_it() -> Iterator[Place]:
            with loop() as node, places.mounted(node, filesystem) as place:
                places.write_files(MOUNT, count=_FILES)
                yield Place(MOUNT, expected=place.expected, fio=fio)

        return build_it

    @contextlib.contextmanager
    def raw_loop() -> Iterator[Place]:
        with loop() as node:
            yield Place(Path("/"), node=node, expected=(Path(node).name,))

    @contextlib.contextmanager
    def cached_loop() -> Iterator[Place]:
        with loop("off") as node:
            Path(node).read_bytes()
            yield Place(Path("/"), node=node, expected=(Path(node).name,))

    def folder_in(where: Path) -> Callable[[], AbstractContextManager[Place]]:
        @contextlib.contextmanager
        def build_it() -> Iterator[Place]:
            where.mkdir()
            try:
                places.write_files(where, count=1)
                yield Place(where)
            finally:
                shutil.rmtree(where)

        return build_it

    made = {
        "loop": raw_loop,
        "loop-cached": cached_loop,
        "loop-xfs": on_loop("xfs"),
        "loop-ext4": on_loop("ext4"),
        "shm": folder_in(Path("/dev/shm/here")),
    }
    if old_fio:
        made["loop-xfs-old"] = on_loop("xfs", str(old_fio))
    return made


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("this needs root: it makes loop devices and mounts")
    main()
