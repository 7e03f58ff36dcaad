"""A removal takes down the volume's own group, and never another of its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.model.disks import Disk, Inventory, LvmMember, Signature
from appliance.model.plans import Decision, Layout, Orders, Plan
from appliance.storage.policy.planner import plan
from tests.unit.disks import group, inventory, making, member, plain, pv

OTHERS = "stripewright-scratch"


def remove(seen: Inventory) -> Plan:
    orders = Orders(remove=("scratch",), grow=True)
    return plan(seen, Layout(()), waited=True, settled=True, orders=orders)


def other(number: int) -> Disk:
    """A disk of another group with the volume's name."""
    return replace(pv(number), lvm_member=LvmMember(f"pv{number}", OTHERS, "vg2"))


@pytest.mark.parametrize("first", ["vg1", "vg2"])
@pytest.mark.parametrize("debris", [(), ("vg1",), ("vg2",), ("vg1", "vg2")])
def test_two_groups_with_the_name_are_a_refusal(first: str, debris: tuple[str, ...]) -> None:
    """Whichever is read first, and whether or not one of them is half made."""
    one = making(pv(1)) if "vg1" in debris else (pv(1),)
    two = making(other(2)) if "vg2" in debris else (other(2),)
    groups = {"vg1": group(*one), "vg2": group(*two, uuid="vg2")}
    ordered = (groups.pop(first), *groups.values())
    made = remove(inventory(*one, *two, groups=ordered))
    assert made.decision is Decision.REFUSE
    assert made.steps == ()
    (volume,) = made.volumes
    assert "2 different volume groups" in volume.reason
    assert all(disk.path in volume.reason for disk in (*one, *two))
    assert volume.hint


@pytest.mark.parametrize("own", [member(0, count=1), plain(1), *making(plain(1))])
def test_a_group_that_only_has_the_name_is_not_taken_down(own: Disk) -> None:
    """Its disk carries something else as well, so that it does not count as the volume's."""
    odd = replace(
        other(2), signatures=(Signature("LVM2_member", 536), Signature("ext4", 0x438)), busy=True
    )
    made = remove(inventory(own, odd, groups=(group(odd, uuid="vg2"),)))
    assert made.decision is Decision.REFUSE
    assert made.steps == ()
    assert odd.path in made.volumes[0].reason
    assert "vg2" in made.volumes[0].reason


def test_a_group_without_our_tag_is_not_removed() -> None:
    disk = pv(1)
    made = remove(inventory(disk, groups=(group(disk, tags=()),)))
    assert made.decision is Decision.REFUSE
    assert "not its tag" in made.volumes[0].reason


def test_one_group_of_ours_is_removed() -> None:
    disks = (pv(1), pv(2))
    made = remove(inventory(*disks, groups=(group(*disks),)))
    assert made.decision is Decision.REMOVE
    assert [step.argv[2] for step in made.steps] == ["release", "release"]
