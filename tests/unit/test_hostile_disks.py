"""What a disk says, however absurd, spoils no document and is no fact of udev's."""

from __future__ import annotations

import dataclasses
import json
import struct
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from appliance import paths
from appliance.client import plan_requests
from appliance.drift.looks import observe
from appliance.drift.looks.observation import Health, Observation
from appliance.drift.looks.observe import Sources
from appliance.errors import OperatorError
from appliance.model.disks import Disk, Inventory, Machine
from appliance.state import boot_state
from appliance.state.boot_state import BootState
from appliance.storage.execute import mounting
from appliance.storage.execute.request_spool import Request
from appliance.storage.formats import xfs
from appliance.storage.policy import planner
from appliance.storage.policy.documents import (
    inventory_from_json,
)
from appliance.storage.policy.layout import DEFAULT_LAYOUT
from appliance.storage.probe import probers
from appliance.system.kernel import Kernel, parse_mountinfo, parse_swaps

_LARGEST_COUNTER = 2**128 - 1


def hostile() -> Inventory:
    """A disk whose XFS superblock claims 2^92 bytes."""
    block = bytearray(4096)
    block[:4] = b"XFSB"
    struct.pack_into(">IQ", block, 4, 2**31, 2**61)
    disk = Disk(
        path="/dev/nvme9n1",
        id="e",
        model="m",
        serial="E",
        size_bytes=10**9,
        filesystem=xfs.parse_superblock(bytes(block)),
    )
    return Inventory(machine=Machine(boot_id="b"), disks=(disk,), privileged=True)


def again(document: object) -> Any:
    return json.loads(json.dumps(document))


def answer() -> dict[str, Any]:
    plan = planner.plan(hostile(), DEFAULT_LAYOUT, waited=True)
    inventory = asdict(hostile())
    found = {"plan": asdict(plan), "inventory": inventory, "at_monotonic_s": 1.0}
    return dict(again({**found, "request": dataclasses.asdict(Request())}))


def test_an_absurd_superblock_is_read_back_from_every_document(tmp_path: Path) -> None:
    assert inventory_from_json(again(asdict(hostile()))) == hostile()
    file = tmp_path / "state.json"
    file.write_text(json.dumps(BootState((), boot_id="b", inventory=hostile()).document()))
    state = boot_state.load(file)
    assert state is not None
    assert state.inventory == hostile()
    assert plan_requests._planned(answer()).inventory == hostile()


def test_an_answer_that_cannot_be_read_is_an_error_in_one_line() -> None:
    with pytest.raises(OperatorError, match=r"cannot be read: at_monotonic_s: 'soon' is not a num"):
        plan_requests._planned({**answer(), "at_monotonic_s": "soon"})


def scanned(tmp_path: Path, **health: object) -> tuple[Any, list[str]]:
    file = tmp_path / "seen.json"
    file.write_text(json.dumps({"boot_id": "b", "at": time.time(), "health": health}))
    notes: list[str] = []
    sources = dataclasses.replace(Sources(), seen=file)
    return observe._root_look(sources, Observation("b"), notes)[0], notes


def test_one_drive_with_absurd_health_hides_no_other(tmp_path: Path) -> None:
    good = Health(0, 100, 10, 2, 3, 41, first_media_errors=0)
    worn = dataclasses.replace(good, media_errors=_LARGEST_COUNTER)
    rows = {"good": dataclasses.asdict(good), "worn": dataclasses.asdict(worn)}
    # As it was written before temperatures were kept.
    rows["older"] = {key: one for key, one in rows["good"].items() if "temperature" not in key}
    seen, notes = scanned(tmp_path, **rows, odd={"media_errors": "x"})
    assert seen is not None
    assert not notes
    older = dataclasses.replace(good, temperature_celsius=None)
    assert seen.health == {"good": good, "worn": worn, "older": older, "odd": None}


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_a_label_is_one_line_of_udevs_database(tmp_path: Path, end: str) -> None:
    label = f"x{end}E:ID_SCSI_SERIAL=NAMED{end}S:disk/by-id/other"
    for folder in ("sys/block/sdb", "run/udev/data", "dev", "proc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sys/block/sdb/dev").write_text("8:16\n")
    text = f"S:disk/by-path/p1\nE:ID_SERIAL_SHORT=REAL\nE:ID_FS_LABEL={label}\n"
    (tmp_path / "run/udev/data/b8:16").write_bytes(text.encode())
    kernel = Kernel(
        sys_root=tmp_path / "sys", proc_root=tmp_path / "proc", dev_root=tmp_path / "dev"
    )
    facts = kernel.udev("sdb")
    assert "ID_SCSI_SERIAL" not in facts
    assert facts["ID_FS_LABEL"] == label
    assert facts["DEVLINKS"] == "/dev/disk/by-path/p1"
    (signature,) = probers.parse_blkid(f"ID_FS_TYPE=xfs\nID_FS_LABEL={label}\n")
    assert signature.label == label


def test_what_cannot_be_removed_keeps_no_volume_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a-directory").mkdir()
    (tmp_path / "mnt-b.mount").touch()
    monkeypatch.setattr(paths, "MAY_MOUNT_DIR", tmp_path)
    mounting.forbid()
    assert [file.name for file in tmp_path.iterdir()] == ["a-directory"]


def test_a_path_is_one_line_of_the_kernels_tables() -> None:
    odd = "/home/x\u202836 1 9:0 / /mnt/scratch rw - xfs /dev/md0 rw"
    path = odd.replace(" ", "\\040")
    (mount,) = parse_mountinfo(f"36 1 8:1 / {path} rw - ext4 /dev/sda1 rw\n")
    assert mount.mountpoint == odd
    table = f"Filename\tType\tSize\tUsed\tPriority\n{path}\u00a0y file\t1\t0\t-2\n"
    assert parse_swaps(table) == (f"{odd}\u00a0y",)
