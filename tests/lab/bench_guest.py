"""Guest program: runs on a real stripe and on raw disks, and what is known of them afterwards.

The numbers of an emulated kernel mean nothing; where its I/O went does.
"""

from __future__ import annotations

import dataclasses
import json
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from appliance.bench import idle_check, member_baseline, prepare, runner
from appliance.bench import target as place
from appliance.bench.block_devices import devices_of
from appliance.bench.suite import parse_suite
from appliance.errors import OperatorError
from appliance.figures import steady
from appliance.history import queries
from tests.lab import rack
from tests.lab.guest import DISKS, RESULTS, must_be_guest
from tests.lab.rack import MIB
from tests.lab.shell import sh

_DB = Path("/tmp/history.db")
_MOUNT = Path("/mnt/stripe")
_SUITE = parse_suite(
    "lab",
    """
summary = "reads and writes"
precondition = true
files = 2
file_size = "32MiB"
[[job]]
name = "reads"
rw = "randread"
block_size = "64KiB"
iodepth = 1
jobs = 2
engine = "psync"
runtime_seconds = 2
[[job]]
name = "writes"
rw = "randwrite"
block_size = "64KiB"
iodepth = 1
jobs = 2
engine = "psync"
runtime_seconds = 2
""",
)


def _run(target: runner.Target) -> dict[str, Any]:
    run_id = runner.run_suite(_SUITE, target=target, db=_DB, patience=idle_check.Patience(1.0))
    with queries.open_readonly(_DB) as reader:
        return {
            "run": dataclasses.asdict(reader.run(run_id)),
            "results": [dataclasses.asdict(result) for result in reader.results(run_id)],
        }


def stripe(one: rack.DiskOfLab, two: rack.DiskOfLab) -> dict[str, Any]:
    """A run with --members on an md RAID0, and what that array is said to be."""
    sh(
        *("mdadm", "--create", "/dev/md/lab", "--run", "--quiet", "--metadata=1.2", "--level=0"),
        *("--chunk=64K", "--raid-devices=2", one.path, two.path),
    )
    sh("mkfs.xfs", "-q", "-f", "-K", "/dev/md/lab")
    _MOUNT.mkdir(parents=True, exist_ok=True)
    sh("mount", "/dev/md/lab", str(_MOUNT))
    try:
        devices = devices_of(_MOUNT.stat().st_dev)
        found = member_baseline.read_stripe(devices)
        assert found is not None, devices
        # Writing to a member of it is refused, though the serial is right.
        refused = _refusal(one.path, one.serial)
        return {
            **_run(runner.Target(_MOUNT, members=True)),
            "stripe": dataclasses.asdict(found),
            "refused": refused,
            "names": [Path(disk.path).name for disk in (one, two)],
        }
    finally:
        sh("umount", str(_MOUNT))
        sh("mdadm", "--stop", "/dev/md/lab")


def raw(disk: rack.DiskOfLab) -> dict[str, Any]:
    """A run that overwrites a disk, and whether it is blank again."""
    wrong = _refusal(disk.path, "another")
    found = _run(runner.Target(disk.path, place.RAW_WRITE, serial=disk.serial))
    return {**found, "wrong": wrong, "zero": not disk.file.read_bytes().strip(b"\0")}


def _refusal(path: str, serial: str) -> str:
    try:
        _run(runner.Target(path, place.RAW_WRITE, serial=serial))
    except OperatorError as error:
        return error.message
    return ""


def main() -> None:
    must_be_guest()
    rack.load()
    os.environ.pop("INVOCATION_ID", None)
    idle_check.WINDOW_SECONDS = 0.2
    prepare._ROUND_SECONDS = 1.0
    steady.MAX_ROUNDS = 6
    disks = rack.Rack(DISKS)
    one, two, three = (disks.add(f"d{number}", 160 * MIB) for number in (1, 2, 3))
    for disk in (one, two, three):
        disk.plug()
    disks.settle()
    done: dict[str, Any] = {}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "stripe": lambda: stripe(one, two),
        "raw": lambda: raw(three),
    }
    for name, part in parts.items():
        try:
            done[name] = part()
        except BaseException:  # the other part must still run
            done[name] = {"trace": traceback.format_exc()}
        RESULTS.write_text(json.dumps(done))


if __name__ == "__main__":
    main()
