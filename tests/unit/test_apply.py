"""The last look before a write over what an interrupted mkfs left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import Refused
from appliance.model import Filesystem, Inventory
from appliance.storage import apply, blockdev, planner, verify
from appliance.storage.kernel import Kernel
from appliance.storage.record import Record
from appliance.system import journal, process
from tests.unit.disks import LAYOUT, XFS, inventory, member

_HALF = replace(XFS, unfinished=True)


class _NoRecord(Record):
    def audit(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("now", "ran"), [(_HALF, ["mdadm", "mkfs.xfs", "mount"]), (XFS, ["mdadm"]), (None, ["mdadm"])]
)
def test_only_what_is_still_unfinished_is_written_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, now: Filesystem | None, ran: list[str]
) -> None:
    seen: Inventory = inventory(*(member(slot, filesystem=_HALF) for slot in range(4)))
    started: list[str] = []

    def run(argv: tuple[str, ...], **_: Any) -> process.Completed:
        if argv[0] != "udevadm":
            started.append(argv[0])
        return process.Completed(tuple(argv), 0, "", "")

    monkeypatch.setattr(process, "run", run)
    monkeypatch.setattr(verify, "check", lambda *_: None)
    monkeypatch.setattr(apply, "_make_mountpoint", lambda _: None)
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    monkeypatch.setattr(blockdev, "read_xfs", lambda _: now)
    made = planner.plan(seen, LAYOUT, waited=True)
    arguments: dict[str, Any] = {"record": _NoRecord(tmp_path / "db"), "kernel": Kernel()}
    if now is _HALF:
        apply.run_plan(made, LAYOUT, seen, **arguments)
    else:
        with pytest.raises(Refused, match="no longer holds the XFS that was never finished"):
            apply.run_plan(made, LAYOUT, seen, **arguments)
    assert started == ran
