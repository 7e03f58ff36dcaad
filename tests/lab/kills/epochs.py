"""Guest program: power that goes between any two flushes of a work, and a disk's cache with it.

dm-log-writes lies below the disks and records a work once: what was written, in the order in which
flushes made it durable. The states that are tried: all that a flush has reached, and of what was
written since, nothing or any part of its blocks. mkfs.xfs flushes once, at its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import struct
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from appliance.storage.execute import apply
from tests.lab import rack
from tests.lab.guest import DISKS, RESULTS, load_all, must_be_guest, taken
from tests.lab.kills.sigkill import SAVED, Range, quiet
from tests.lab.kills.works import MOUNT, Stage
from tests.lab.play import release
from tests.lab.shell import sh

_BLOCK = 4096
_SECTOR = 512
_LOG = Path("/tmp/log")
_LOG_BYTES = 1 << 30
_TABLE = Path("/tmp/table")
_DURABLE = Path("/tmp/durable")
_CHECKS = {"xfs": ("xfs_repair", "-n"), "ext4": ("e2fsck", "-f", "-n")}
# How much of what was not flushed is on the disks all the same.
_SHARES = (0.5, 0.02, 0.9, 0.3, 0.98, 0.1, 0.7)
# The log's format: drivers/md/dm-log-writes.c.
_MAGIC = 0x6A736677736872
_SUPER = struct.Struct("<QQQI")
_ENTRY = struct.Struct("<QQQQ")
_FLUSH, _FUA, _DISCARD, _MARK = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes of a disk's file, and where in the log they are."""

    file: str
    offset: int
    size_bytes: int
    logged_at: int

    def blocks(self) -> Iterator[Write]:
        for at in range(0, self.size_bytes, _BLOCK):
            size_bytes = min(_BLOCK, self.size_bytes - at)
            yield Write(self.file, self.offset + at, size_bytes, self.logged_at + at)


class LoggedDisk(rack.DiskOfLab):
    """A disk whose writes are recorded: a part of the one device below all of them."""

    def __init__(self, on: rack.Rack, name: str, number: int, serial: str, size_bytes: int) -> None:
        super().__init__(on, name, number, serial, size_bytes)
        self._core = rack.TARGET / "core/iblock_0" / name

    def make(self, model: rack.Model) -> None:
        super().make(model)
        # A loop device has no FUA, and the target would drop it: the kernel flushes in its place.
        self._write("attrib/emulate_fua_write", "0")

    def _backing(self) -> str:
        return f"udev_path=/dev/mapper/part-{self.name}"


class LoggedRack(rack.Rack):
    of = LoggedDisk


@contextlib.contextmanager
def _recorder(sizes: Mapping[str, int]) -> Iterator[None]:
    """``/dev/mapper/part-NAME`` for each disk, all of them recorded in ``_LOG``."""
    sh("modprobe", "-a", "loop", "dm-log-writes", "target_core_iblock")
    with _LOG.open("wb") as file:
        file.truncate(_LOG_BYTES)
    log = _loop(_LOG)
    loops = {name: _loop(DISKS / f"{name}.disk") for name in sizes}
    tables: dict[str, list[str]] = {"below": [], "logged": []}
    at = 0
    for name, size_bytes in sizes.items():
        sectors = size_bytes // _SECTOR
        tables["below"].append(f"{at} {sectors} linear {loops[name]} 0")
        tables[f"part-{name}"] = [f"0 {sectors} linear /dev/mapper/logged {at}"]
        at += sectors
    tables["logged"] = [f"0 {at} log-writes /dev/mapper/below {log}"]
    for name, lines in tables.items():
        _TABLE.write_text("\n".join(lines) + "\n")
        sh("dmsetup", "create", name, str(_TABLE))
    try:
        yield
    finally:
        for name in reversed(tables):
            sh("dmsetup", "remove", "--retry", name)
        for loop in (*loops.values(), log):
            sh("losetup", "--detach", loop)


def _loop(file: Path) -> str:
    return sh("losetup", "--find", "--show", str(file)).strip()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A work as the disks saw it.

    ``before`` is what was written until it began, ``epochs`` what each flush since made durable.
    After so many flushes as ``declared_at`` says, the layout was another one.
    """

    before: Sequence[Write]
    epochs: Sequence[Sequence[Write]]
    declared_at: int


def read_log(log: Path, sizes: Mapping[str, int]) -> Recorded:
    starts, at = [], 0
    for name, size_bytes in sizes.items():
        starts.append((at, name))
        at += size_bytes
    before: list[Write] = []
    now, found = before, []
    declared_at = -1
    with log.open("rb") as file:
        magic, version, count, sector_bytes = _SUPER.unpack(file.read(_SUPER.size))
        assert (magic, version) == (_MAGIC, 1), "no log of dm-log-writes"
        at = sector_bytes
        for _ in range(count):
            file.seek(at)
            sector, sectors, flags, mark_bytes = _ENTRY.unpack(file.read(_ENTRY.size))
            assert not flags & (_FUA | _DISCARD), f"an entry of a kind that is not played: {flags}"
            mark = file.read(mark_bytes).rstrip(b"\0") if flags & _MARK else b""
            at += sector_bytes
            if mark == b"work" or (flags & _FLUSH and now and now is not before):
                found.append(now := [])
            if mark == b"declared":
                declared_at = len(found) - 1
            if size_bytes := sectors * sector_bytes:
                start, name = max(one for one in starts if one[0] <= sector * sector_bytes)
                offset = sector * sector_bytes - start
                now.append(Write(f"{name}.disk", offset, size_bytes, at))
                at += size_bytes
    assert found, "the work was never marked"
    return Recorded(before, [one for one in found if one], declared_at)


def _mark(what: str) -> None:
    sh("dmsetup", "message", "logged", "0", "mark", what)


@contextlib.contextmanager
def _telling_when_declared() -> Iterator[None]:
    real = apply._run_step

    def run(step: Any, work: Any) -> None:
        real(step, work)
        if "declare" in step.argv:
            _mark("declared")

    with mock.patch.object(apply, "_run_step", run):
        yield


class Epochs(Range):
    """A range whose work was recorded."""

    def record(self) -> Recorded:
        release()
        self.stage.rack.clear(keep_files=True)
        sizes = {one.stem: one.stat().st_size for one in sorted(SAVED.iterdir())}
        with _recorder(sizes):
            stage = Stage(self.stage.work, LoggedRack(DISKS, discard=False), self.stage.places)
            stage.attach()
            stage.declare()
            if stage.work.request is not None:
                assert quiet(stage.boot) == 0, "boot before the work"
            _mark("work")
            with _telling_when_declared():
                quiet(stage.do)
            release()
            stage.rack.clear(keep_files=True)
        self.stage.attach()
        return read_log(_LOG, sizes)

    def lose(self, cached: Sequence[Write], *, declared: bool) -> None:
        """The state in which all of ``_DURABLE`` is on the disks, and ``cached`` besides."""
        self.put_back(_DURABLE, lambda: play(cached, DISKS))
        request = self.stage.work.request
        if declared and request and request.layout_text is not None:
            self.stage.places.layout.write_text(request.layout_text)

    def prove(self, *, reboot: bool) -> None:
        super().prove(reboot=reboot)
        for line in Path("/proc/mounts").read_text().splitlines():
            device, mount, kind = line.split()[:3]
            if mount == str(MOUNT):
                sh("umount", mount)
                sh(*_CHECKS[kind], device)


def play(writes: Sequence[Write], folder: Path) -> None:
    """Do the writes again, to files in ``folder``."""
    with _LOG.open("rb") as log, contextlib.ExitStack() as stack:
        files = {name: stack.enter_context((folder / name).open("r+b", buffering=0))
                 for name in {one.file for one in writes}}  # fmt: skip
        for one in writes:
            os.pwrite(
                files[one.file].fileno(),
                os.pread(log.fileno(), one.size_bytes, one.logged_at),
                one.offset,
            )


def shots(
    recorded: Sequence[Sequence[Write]], *, parts: int, seed: str
) -> Iterator[tuple[int, str, list[Write]]]:
    """The number of flushes that happened, what is told of the state, and what of the cache is on
    the disks. ``parts`` of those with more than one block are drawn: more of a large one.
    """
    for at, epoch in enumerate(recorded):
        yield at, "nothing else", []
        blocks = [block for write in epoch for block in write.blocks()]
        if len(blocks) == 1:
            continue
        for part in range(parts * min(10, 1 + len(blocks) // 100)):
            chance = random.Random(f"{seed} {at} {part}")  # noqa: S311 - to be repeated
            share = _SHARES[part % len(_SHARES)]
            kept = [block for block in blocks if chance.random() < share]
            yield at, f"part {part} of {len(blocks)} blocks", kept
    yield len(recorded), "nothing else", []


def _try(name: str, parts: int, limit: int) -> dict[str, object]:
    began = time.monotonic()
    failures: list[str] = []
    tried = flushes = 0
    place = Epochs(name)
    try:
        place.open()
        recorded = place.record()
        flushes = len(recorded.epochs)
        shutil.rmtree(_DURABLE, ignore_errors=True)
        sh("cp", "--recursive", "--sparse=always", str(SAVED), str(_DURABLE))
        play(recorded.before, _DURABLE)
        every = list(shots(recorded.epochs, parts=parts, seed=name))
        durable = 0
        for at, what, cached in every[:: max(1, len(every) // limit)] if limit else every:
            for epoch in recorded.epochs[durable:at]:
                play(epoch, _DURABLE)
            durable = at
            sh("dmesg", "--clear")
            try:
                tried += 1
                place.lose(cached, declared=0 <= recorded.declared_at <= at)
                place.prove(reboot=True)
            except Exception as error:  # the others must still be tried
                failures.append(f"after {at} of {flushes} flushes, {what}: {str(error)[:1000]}")
                print(f"{name}: {failures[-1]}\n{sh('dmesg')}", flush=True)
    except Exception:
        failures.append(traceback.format_exc())
    finally:
        place.close()
    return {
        "tried": tried,
        "hit": tried,
        "flushes": flushes,
        "failures": failures,
        "seconds": round(time.monotonic() - began, 1),
    }


def main(parts: int, limit: int) -> None:
    must_be_guest()
    rack.load()
    load_all()
    done = {}
    for name in taken():
        done[name] = one = _try(name, parts, limit)
        print(f"{name}: {one['flushes']} flushes, {one['tried']} states,"
              f" {len(one['failures'])} failures", flush=True)  # type: ignore[arg-type] # fmt: skip
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
