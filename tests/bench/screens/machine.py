"""A made-up machine of 64 disks in a folder: what the boot unit left, block counters, a history.

Nothing of the machine that measures is read for it, and nothing is written outside the folder.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field

from appliance.history import rows
from appliance.model.disks import Disk, DiskKind, Inventory, Machine, Signature
from appliance.model.runs import RunState
from appliance.system import liveness
from tests.bench.screens.places import Places

DISKS = 64
# No figure of the history is near it, so on a screen it can only be a live one.
AWAIT_MS = 0.7
# Where a volume is mounted, and its device number, as far as this machine says.
_MOUNT, _DEVICE_NUMBER = "/mnt/scratch", "9:127"
_ARRAY = "md127"
_DISK_BYTES = 3_750_000_000_000
_KIB = 1024
_MODEL = "Amazon EC2 NVMe Instance Storage"
_PHASE_SECONDS = 1e6


@dataclass(slots=True)
class MadeUp:
    """The machine in ``places``."""

    places: Places
    _done: dict[str, list[int]] = field(default_factory=dict)

    def make(self) -> None:
        """Write everything but the history, and its folder."""
        names = [f"nvme{number}n1" for number in range(1, DISKS + 1)]
        for name in (*names, _ARRAY):
            (self.places.sys_block / name).mkdir(parents=True)
            self._done[name] = [0] * 17
            self._write_counters(name)
        (self.places.sys_block / _ARRAY / "dev").write_text(f"{_DEVICE_NUMBER}\n")
        md = self.places.sys_block / _ARRAY / "md"
        md.mkdir()
        for what, said in (("array_state", "clean"), ("sync_action", "idle"), ("degraded", "0")):
            (md / what).write_text(f"{said}\n")
        self.places.mountinfo.write_text(
            "22 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw\n"
            f"40 22 {_DEVICE_NUMBER} / {_MOUNT} rw,noatime - xfs /dev/{_ARRAY} rw\n"
        )
        run = self.places.root / "run/stripewright"
        run.mkdir(parents=True)
        (run / "state.json").write_text(json.dumps(_state(names)))
        self.places.history.parent.mkdir(parents=True)

    @contextmanager
    def at_work(self, *, speed: float = 1.0, moves_per_s: float = 4.0) -> Iterator[None]:
        """A run is in the history, and the counters move ``moves_per_s`` times a second, as they
        should for clocks that run ``speed`` times as fast as others.
        """
        with closing(sqlite3.connect(self.places.history)) as history:
            record = _running_row()
            marks = ", ".join("?" for _ in record)
            with history:
                history.execute(
                    f"INSERT INTO run ({', '.join(record)}) VALUES ({marks})",  # noqa: S608
                    tuple(record.values()),
                )
        ended = threading.Event()
        share = speed / moves_per_s
        worker = threading.Thread(
            target=self._work, args=(ended, 1.0 / moves_per_s, share), daemon=True
        )
        worker.start()
        try:
            yield
        finally:
            ended.set()
            worker.join()
            with closing(sqlite3.connect(self.places.history)) as history, history:
                history.execute("DELETE FROM run WHERE state = ?", (RunState.RUNNING.value,))

    def _work(self, ended: threading.Event, interval_seconds: float, share: float) -> None:
        """``share`` is how much of a second passes in an interval."""
        chance = random.Random(5)  # noqa: S311
        members = [name for name in self._done if name != _ARRAY]
        while not ended.wait(interval_seconds):
            for name in members:
                self._add(name, round(chance.randrange(9_000, 11_000) * share), share)
            reads = sum(self._done[name][0] for name in members) - self._done[_ARRAY][0]
            self._add(_ARRAY, reads, share)

    def _add(self, name: str, reads: int, seconds: float) -> None:
        """``reads`` of 4 KiB in ``seconds``, each :data:`AWAIT_MS`."""
        done = self._done[name]
        ms = round(reads * AWAIT_MS)
        for index, more in ((0, reads), (2, reads * 8), (3, ms), (9, round(990 * seconds))):
            done[index] += more
        self._write_counters(name)

    def _write_counters(self, name: str) -> None:
        """In one step, as the kernel answers; format: Documentation/block/stat.rst."""
        fresh = self.places.sys_block / name / "stat.new"
        fresh.write_text(" ".join(f"{value:8}" for value in self._done[name]) + "\n")
        fresh.rename(self.places.sys_block / name / "stat")


def _state(names: list[str]) -> dict[str, object]:
    disks = tuple(
        Disk(
            path=f"/dev/{name}",
            id=f"nvme-Amazon_EC2_NVMe_Instance_Storage_AWS{number:05d}EXAMPLE",
            model=_MODEL,
            serial=f"AWS{number:05d}EXAMPLE",
            size_bytes=_DISK_BYTES,
            transport="nvme",
            kind=DiskKind.INSTANCE_STORE,
            claimable=True,
            reason=f"instance storage: the model is exactly '{_MODEL}'",
            signatures=(Signature("linux_raid_member", 4096, "stripewright:scratch"),),
            blank=False,
        )
        for number, name in enumerate(names, 1)
    )
    machine = Machine("aws", "i4i.16xlarge", "Amazon EC2", "6.12.0", 64, "boot", DISKS)
    volume = {
        "name": "scratch",
        "decision": "assemble",
        "outcome": "mounted",
        "reason": "a complete array of ours",
        "hint": "",
        "device": f"/dev/{_ARRAY}",
        "mount": _MOUNT,
        "filesystem": "xfs",
        "level": "raid0",
        "members": [{"path": one.path, "id": one.id, "serial": one.serial} for one in disks],
        "chunk_bytes": 256 * _KIB,
        "sunit_bytes": 256 * _KIB,
        "swidth_bytes": 256 * _KIB * DISKS,
        "data_disks": DISKS,
        "size_bytes": DISKS * _DISK_BYTES,
    }
    return {
        "at": time.time(),
        "boot_id": "boot",
        "pid": os.getpid(),
        "outcome": "mounted",
        "message": "",
        "hint": "",
        "volumes": [volume],
        "inventory": asdict(Inventory(machine, disks)),
    }


def _running_row() -> dict[str, object]:
    """A run of the suite smoke that is in its second job, and whose process is this one."""
    now = time.time()
    return {
        "suite_hash": "0",
        "suite": "smoke",
        "epoch_id": 1,
        "state": RunState.RUNNING.value,
        "target": f"{_MOUNT}/.stripewright-bench",
        "device": _ARRAY,
        "members": rows.to_json([]),
        "machine_type": "i4i.16xlarge",
        "engine": "io_uring",
        "fio_version": "fio-3.39",
        "time_factor": 1.0,
        "notes": "[]",
        "target_kind": "filesystem",
        "conditions": "{}",
        "started_at": now - 60,
        "seen_at": now,
        "phase": "rand-read-4k",
        "job_index": 2,
        "job_count": 5,
        "phase_started_at": now,
        "phase_seconds": _PHASE_SECONDS,
        "pid": os.getpid(),
        "pid_start_ticks": liveness.start_ticks(os.getpid()),
        "boot_id": liveness.boot_id(),
    }
