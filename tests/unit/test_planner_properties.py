"""Whatever an inventory holds: a plan or a refusal, and never a disk that must not be named."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.model.disks import DiskKind, Inventory
from appliance.model.plans import Decision, Layout, Orders, Plan
from appliance.storage.policy.planner import plan
from tests.unit.odd import PATHS, inventories, layouts, some_orders

_settings = settings(deadline=None)


@_settings
@given(inventories, layouts, some_orders, st.booleans(), st.booleans())
def test_any_inventory_gives_a_plan_or_a_refusal(
    seen: Inventory, layout: Layout, orders: Orders, waited: bool, settled: bool
) -> None:
    made = plan(seen, layout, waited=waited, settled=settled, orders=orders)
    for volume in made.volumes:
        assert volume.reason
        if volume.decision is Decision.REFUSE:
            assert volume.hint
        steps = [step for step in made.steps if step.volume == volume.name]
        if volume.decision in {Decision.REFUSE, Decision.WAIT, Decision.NOTHING}:
            assert not steps
        elif not volume.name.startswith("erase "):
            assert steps
        if waited:
            assert volume.decision is not Decision.WAIT
    assert {step.volume for step in made.steps} <= {"", *(one.name for one in made.volumes)}
    assert all(isinstance(word, str) and word for step in made.steps for word in step.argv)


def _named(made: Plan, volume: str) -> set[str]:
    steps = [step for step in made.steps if step.volume == volume]
    words = {part for step in steps for word in step.argv for part in word.split(",")}
    return words | {gone.path for step in steps for gone in step.destroys}


@_settings
@given(inventories, layouts, some_orders, st.booleans())
def test_no_plan_names_a_disk_that_is_not_claimable_or_not_selected(
    seen: Inventory, layout: Layout, orders: Orders, waited: bool
) -> None:
    made = plan(seen, layout, waited=waited, orders=orders)
    for volume in layout.volumes:
        words = _named(made, volume.name)
        named = [one for one in seen.disks if {one.path, one.stable_path} & words]
        if volume.stripe == "hw-raid0" or volume.name in orders.remove:
            continue
        released = {gone.id for step in made.steps for gone in step.destroys}
        for one in named:
            assert one.claimable or one.id in released
            assert one.kind is not DiskKind.SYSTEM
            assert not one.holds_root
            assert not one.swap
            assert not one.read_only
            select = volume.select
            if select.serials:
                assert one.serial in select.serials
            elif select.role:
                assert one.role == select.role
            else:
                assert one.kind is select.kind
                assert not one.role


@_settings
@given(inventories, layouts, some_orders, st.booleans())
def test_what_is_overwritten_is_blank_ours_or_ordered(
    seen: Inventory, layout: Layout, orders: Orders, waited: bool
) -> None:
    made = plan(seen, layout, waited=waited, orders=orders)
    by_id = {one.id: one for one in seen.disks}
    given_up: set[str] = set()
    for step in made.steps:
        for gone in step.destroys:
            one = by_id.get(gone.id)
            if one is None:  # a drive behind a controller
                assert step.argv[0] == "storcli64"
                continue
            assert not one.swap
            assert not one.read_only
            assert not one.holds_root
            if step.argv[:3] == ("stripewright", "chore", "release"):
                assert step.volume in orders.remove
                given_up.add(one.id)
            elif not step.volume:
                assert one.serial in orders.erase
                given_up.add(one.id)
            elif one.id not in given_up and seen.privileged and step.volume not in orders.remove:
                volume = next(one for one in layout.volumes if one.name == step.volume)
                marked = one.mark is not None and (
                    one.mark.volume == volume.name or one.mark.intact is True
                )
                lost = volume.on_loss == "recreate" and one.kind is DiskKind.INSTANCE_STORE
                rebuilt = step.argv[:2] == ("mdadm", "--manage")
                assert one.blank is True or marked or lost or rebuilt
                assert not one.mountpoints
                assert not one.partitions or volume.stripe == "hw-raid0"


@_settings
@given(inventories, layouts, some_orders, st.randoms(use_true_random=False))
def test_the_digest_depends_on_neither_order_nor_kernel_names(
    seen: Inventory, layout: Layout, orders: Orders, random: Random
) -> None:
    first = plan(seen, layout, waited=True, orders=orders)
    shuffled = list(seen.disks)
    random.shuffle(shuffled)
    again = plan(replace(seen, disks=tuple(shuffled)), layout, waited=True, orders=orders)
    assert again.digest == first.digest
    paths = PATHS[:]
    random.shuffle(paths)
    named = dict(zip(PATHS, paths, strict=True))
    renamed = replace(
        seen,
        disks=tuple(replace(one, path=named[one.path]) for one in shuffled),
        virtual_drives=tuple(
            replace(one, path=named.get(one.path, "")) for one in seen.virtual_drives
        ),
    )
    assert plan(renamed, layout, waited=True, orders=orders).digest == first.digest


@_settings
@given(inventories, layouts)
def test_time_decides_only_about_what_waits(seen: Inventory, layout: Layout) -> None:
    """So that a look in which nothing waits needs one plan."""
    now = plan(seen, layout, waited=False, settled=False)
    if all(one.decision is not Decision.WAIT for one in now.volumes):
        assert plan(seen, layout, waited=False, settled=True) == now
        assert plan(seen, layout, waited=True) == now
