"""Disks that cannot be told apart: one definition, for what is claimed and for what is planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import Disk, Signature
from appliance.model.plans import Decision
from appliance.storage.policy import ownership, planner
from appliance.storage.policy.identity import identify_all
from tests.unit.disks import LAYOUT, disk, inventory

PV = Signature("LVM2_member", 0x218, "", "pv-1")
PAIRS = {
    "serial": (disk(1), disk(2, serial="AWS00001", id="other", stable_path="")),
    "serial of another model": (
        disk(1),
        disk(2, serial="AWS00001", id="other", stable_path="", model="Some other disk"),
    ),
    "serial written in another way": (
        disk(1, serial="vol0abc"),
        disk(2, serial="vol-0abc", id="other", stable_path=""),
    ),
    "id": (disk(1), disk(2, id=disk(1).id, stable_path="")),
    "link": (disk(1), disk(2, stable_path=disk(1).stable_path)),
    "path that is another's link": (disk(1), disk(2, stable_path=disk(1).path)),
    "path": (disk(1), replace(disk(2), path=disk(1).path)),
    "LVM physical volume": (
        disk(1, signatures=(PV,), blank=False),
        disk(2, signatures=(PV,), blank=False),
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_twins_are_not_claimed_and_nothing_is_planned_for_them(pair: tuple[Disk, Disk]) -> None:
    assert not any(one.claimable for one in identify_all(pair, layout=LAYOUT))
    assert ownership.gather(inventory(*pair), {"scratch"}).twins == {one.id for one in pair}
    made = planner.plan(inventory(*pair, disk(3), disk(4)), LAYOUT, waited=True)
    assert made.decision is Decision.REFUSE
    assert made.steps == ()


def test_what_twins_have_in_common_is_told() -> None:
    first, second = PAIRS["id"]
    assert [what for _, _, what in ownership.twins([first, second])] == ["id", "id"]
    said = [one.reason for one in identify_all([first, second])]
    assert "has the same id as /dev/nvme2n1" in said[0]
    assert "has the same id as /dev/nvme1n1" in said[1]
    copied = identify_all([disk(1), disk(2, stable_path=disk(1).stable_path)])
    assert "has the same path as /dev/nvme2n1" in copied[0].reason


def test_what_is_empty_tells_nothing() -> None:
    nameless = [disk(n, serial="", stable_path="", id=f"id{n}") for n in (1, 2)]
    asleep = [replace(one, signatures=(replace(PV, uuid=""),)) for one in nameless]
    assert list(ownership.twins(nameless)) == []
    assert list(ownership.twins(asleep)) == []
    assert list(ownership.twins([disk(1, signatures=(PV, replace(PV, offset_bytes=0)))])) == []
