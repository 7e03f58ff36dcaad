"""What is done to files and disks before and while fio runs: the misuse, and its tools."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.lab.shell import sh
from tests.validity_set.places import LIMITED
from tests.validity_set.record import MIB, Beside, Limits, Place, load

_BIG = 24 * MIB


def sparse(place: Place) -> None:
    """A file of holes only."""
    _truncate(place.folder / "sparse.0.0", _BIG)


def unwritten(place: Place) -> None:
    """Files with space and nothing in it: reads are answered with zeros."""
    for number in range(2):
        sh("fallocate", "-l", str(_BIG), str(place.folder / f"unwritten.{number}.0"))


def partly(share: float) -> Callable[[Place], None]:
    """A file of which the first ``share`` is written, the rest a hole."""

    def make(place: Place) -> None:
        file = place.folder / "partly.0.0"
        _truncate(file, _BIG)
        sh("dd", "if=/dev/urandom", f"of={file}", "bs=1M", "conv=notrunc", "oflag=direct",
           f"count={round(share * _BIG / MIB)}")  # fmt: skip

    return make


def hot(place: Place) -> None:
    """Have the files in the page cache."""
    for file in place.folder.glob("data.*"):
        file.read_bytes()


def cold(_: Place) -> None:
    """Have nothing in the page cache."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def lazy_writeback(_: Place) -> None:
    """Let much stay in memory before it is written, as many database machines do."""
    Path("/proc/sys/vm/dirty_ratio").write_text("80")
    Path("/proc/sys/vm/dirty_background_ratio").write_text("70")


def second_fio(rw: str, block: str, iodepth: int, *more: str) -> Beside:
    """Another fio on another file of the same filesystem, or on the same device."""

    @contextlib.contextmanager
    def beside(place: Place) -> Iterator[None]:
        where = place.node or "data.3.0"
        with load("fio", "--name=other", f"--filename={where}", "--direct=1", f"--rw={rw}",
                  f"--bs={block}", f"--iodepth={iodepth}", "--ioengine=libaio", "--time_based",
                  "--runtime=60", "--size=24m", "--allow_file_create=0", *more,
                  cwd=place.folder):  # fmt: skip
            yield

    return beside


def dd_reader(node: str) -> Beside:
    @contextlib.contextmanager
    def beside(_: Place) -> Iterator[None]:
        again = f"while :; do dd if={node} of=/dev/null bs=256k iflag=direct; done"
        with load("setsid", "sh", "-c", f"trap 'trap - TERM; kill 0' TERM; {again} & wait"):
            yield

    return beside


@contextlib.contextmanager
def dd_writer(place: Place) -> Iterator[None]:
    """What a backup does: one large file, again and again."""
    again = (
        f"while :; do dd if=/dev/zero of={place.folder}/backup bs=1M count=24 oflag=direct; done"
    )
    with load("setsid", "sh", "-c", f"trap 'trap - TERM; kill 0' TERM; {again} & wait"):
        yield
    (place.folder / "backup").unlink(missing_ok=True)


@contextlib.contextmanager
def burning(_: Place) -> Iterator[None]:
    """A program that takes all of a processor."""
    with load("sh", "-c", "while :; do :; done"):
        yield


def io_max(limits: str) -> Limits:
    """cgroup v2 io.max on every member, as a provider limits a volume."""

    @contextlib.contextmanager
    def limit(place: Place) -> Iterator[Sequence[str]]:
        set_io_max(place, limits)
        try:
            yield ("sh", "-c", f'echo $$ > {LIMITED}/cgroup.procs; exec "$@"', "sh")
        finally:
            set_io_max(place, "rbps=max wbps=max riops=max wiops=max")

    return limit


def blkio(read_iops: int) -> Limits:
    """The same with cgroup v1, which some machines have."""

    @contextlib.contextmanager
    def limit(place: Place) -> Iterator[Sequence[str]]:
        group = Path("/sys/fs/cgroup/blkio/validity-set")
        group.mkdir(exist_ok=True)
        member = place.devices.members[0]
        number = Path(f"/sys/class/block/{member}/dev").read_text().strip()
        (group / "blkio.throttle.read_iops_device").write_text(f"{number} {read_iops}")
        try:
            yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        finally:
            group.rmdir()

    return limit


def set_io_max(place: Place, limits: str) -> None:
    for member in place.devices.members:
        number = Path(f"/sys/class/block/{member}/dev").read_text().strip()
        (LIMITED / "io.max").write_text(f"{number} {limits}")


def changing(*steps: tuple[float, str]) -> Beside:
    """New io.max limits, each so many seconds after the last."""

    @contextlib.contextmanager
    def beside(place: Place) -> Iterator[None]:
        over = threading.Event()

        def work() -> None:
            for seconds, limits in steps:
                if over.wait(seconds):
                    return
                set_io_max(place, limits)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return beside


def _truncate(file: Path, size_bytes: int) -> None:
    file.unlink(missing_ok=True)
    with file.open("wb") as made:
        made.truncate(size_bytes)
