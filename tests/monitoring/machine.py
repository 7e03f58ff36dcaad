"""A machine made of files, with a history of its own, for the real commands.

``python -m tests.monitoring.machine FOLDER COMMAND …`` runs a command of ours on it.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.cli import main
from appliance.client import monitoring
from appliance.drift import lifecycle
from appliance.drift.lifecycle import Scope
from appliance.drift.looks.observation import Health as Smart
from appliance.history import published
from appliance.history.store import History
from appliance.model.disks import Disk, DiskKind, Inventory, Machine
from appliance.model.findings import Area, Fact
from appliance.model.measurement import Finding
from appliance.model.runs import RunState
from appliance.system import liveness
from tests.unit.histories import FINGERPRINT, RESULT, begin, difference, select

MEMBERS = tuple(f"nvme{n}n1" for n in range(1, 5))
SERIALS = tuple(f"AWS{n}" for n in range(1, 5))
_BLOCK_BYTES = 4096


class FileMachine:
    """Four disks, one array mounted at a folder, and what the boot unit left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.block = root / "block"
        self.db = root / "lib" / "history.db"
        for name in ("block", "lib", "drift", "dev", "mnt"):
            (root / name).mkdir(parents=True)
        for name in MEMBERS:
            (self.block / name).mkdir()
        (self.block / "md127" / "md").mkdir(parents=True)
        (self.block / "md127" / "dev").write_text("9:127\n")
        (root / "dev" / "md127").touch()
        (root / "mountinfo").write_text(f"36 35 9:127 / {root}/mnt rw - xfs md127 rw\n")
        self.use()
        self.array()
        self.boots()
        self.looks()
        with History.open_writable(self.db):
            pass

    def use(self) -> None:
        """Have the program take this machine for the one it is on."""
        paths.HISTORY_DB = self.db
        paths.DRIFT_RUN_DIR = self.root / "drift"
        liveness.up_since = lambda now: now - 86_400.0

    def run_command(self, *words: str) -> int:
        self.use()
        read, told = monitoring.read_status, monitoring.machine_gauges
        monitoring.read_status = partial(
            read,
            state_file=self.root / "state.json",
            seen_file=self.root / "seen.json",
            mountinfo=self.root / "mountinfo",
            sys_block=self.block,
        )
        monitoring.machine_gauges = partial(told, sys_block=self.block)
        try:
            return main.main(list(words))
        finally:
            monitoring.read_status, monitoring.machine_gauges = read, told

    # ------------------------------------------------------------------------- its state

    def array(self, *, degraded: int = 0, lost: str = "") -> None:
        md = self.block / "md127" / "md"
        (md / "array_state").write_text("clean\n")
        (md / "degraded").write_text(f"{degraded}\n")
        for name in MEMBERS:
            (self.block / name).mkdir(exist_ok=True)
        if lost:
            shutil.rmtree(self.block / lost)

    def boots(self, *, refused: bool = False) -> None:
        disks = tuple(
            Disk(f"/dev/{name}", f"id-{serial}", "EC2", serial, 10**12,
                 kind=DiskKind.INSTANCE_STORE)
            for name, serial in zip(MEMBERS, SERIALS, strict=True)
        )  # fmt: skip
        machine = Machine(
            provider="aws", machine_type="i4i.16xlarge", kernel="6.12", expected_disks=4
        )
        volume = {
            "name": "scratch", "decision": "assemble", "outcome": "mounted", "level": "raid10",
            "reason": "", "hint": "", "device": str(self.root / "dev" / "md127"),
            "mount": str(self.root / "mnt"), "size_bytes": 2 * 10**12,
            "members": [{"path": one.path, "id": one.id, "serial": one.serial} for one in disks],
        }  # fmt: skip
        document = {
            "at": time.time(), "boot_id": liveness.boot_id(),
            "outcome": "refused" if refused else "mounted",
            "message": "no layout" if refused else "", "hint": "",
            "volumes": [] if refused else [volume],
            "inventory": asdict(Inventory(machine, disks)),
        }  # fmt: skip
        (self.root / "state.json").write_text(json.dumps(document))
        smart = asdict(Smart(0, 100, 10, 3, 0, temperature_celsius=41, first_media_errors=0))
        (self.root / "seen.json").write_text(json.dumps({
            "at": time.time(), "boot_id": liveness.boot_id(),
            "health": {one.id: smart for one in disks},
        }))  # fmt: skip

    def looks(self, *, seconds_ago: float = 0.0) -> None:
        document = {"at": time.time() - seconds_ago}
        (self.root / "drift" / "checked.json").write_text(json.dumps(document))

    # ----------------------------------------------------------------------- its history

    def measures(
        self,
        iops: float = 800_000.0,
        *,
        suite: str = "smoke",
        slow_slot: int | None = None,
        findings: tuple[Finding, ...] = (),
        state: RunState = RunState.COMPLETE,
    ) -> None:
        """A run of ``suite``: one job, which one member may have slowed down."""
        self.use()
        counted: list[tuple[Any, ...]] = [("md127", 40_000, 0, 5, 0, 0, 0, 0, 30_000)]
        for slot, name in enumerate(MEMBERS):
            ticks_ms = 50_000 if slot == slow_slot else 5_000
            counted.append((name, 10_000, 10_000 * _BLOCK_BYTES, ticks_ms, 0, 0, 0, 0, 30_000))
        result = dataclasses.replace(
            RESULT, iops=iops, bandwidth_bytes=iops * _BLOCK_BYTES, member="", pass_index=1,
            findings=findings, device_io=tuple(difference(*one) for one in counted),
        )  # fmt: skip
        with History.open_writable(self.db) as history:
            fingerprint = {**FINGERPRINT, "serials": ",".join(SERIALS)}
            run_id = begin(history, suite, 1.0)
            epoch = history.ensure_epoch(fingerprint).id
            history.update_run(run_id, epoch_id=epoch, members=list(MEMBERS), device="md127")
            if state is RunState.COMPLETE:
                history.add_result(run_id, result, raw_report="x")
            history.finish_run(run_id, state)

    def grows_older(self, seconds: float) -> None:
        """As if the last run were so long ago."""
        self.use()
        select(published.live(self.db), "UPDATE run SET ended_at = ended_at - ?", seconds)

    def finds(self, *facts: Fact) -> None:
        """A look finds these and nothing else."""
        self.use()
        now = time.time()
        with History.open_writable(self.db) as history:
            history.drift.step(
                lambda records: lifecycle.step(
                    records, facts, Scope(frozenset(Area)), now=now
                ),
                now=now,
                boot_id=liveness.boot_id(),
            )  # fmt: skip


def _opened(root: Path) -> FileMachine:
    """The machine that another process has made."""
    machine = FileMachine.__new__(FileMachine)
    machine.root, machine.block, machine.db = root, root / "block", root / "lib" / "history.db"
    return machine


if __name__ == "__main__":
    sys.exit(_opened(Path(sys.argv[1])).run_command(*sys.argv[2:]))
