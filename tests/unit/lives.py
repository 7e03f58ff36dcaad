"""Lives of volumes on a machine in memory: plans carried out, killed anywhere, planned again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from appliance.model.disks import DiskKind, Machine
from appliance.model.plans import Decision, Layout, Orders, Plan, Selector, Step, Volume
from appliance.storage.policy.planner import plan
from tests.unit.boxes import MIB
from tests.unit.disks import INSTANCE_STORE
from tests.unit.world import World

SIZE = 1024 * MIB
TAG = "0123456789abcdef"
GROW = Orders(grow=True)


def volume(
    stripe: str, kind: str = "xfs", name: str = "data", count: int | None = None, **more: object
) -> Volume:
    made = Volume(
        name=name,
        mount=f"/mnt/{name}" if kind != "none" else "",
        stripe=stripe,
        filesystem=kind,
        select=Selector(DiskKind.INSTANCE_STORE, count=count),
    )
    return replace(made, **more)


SHAPES = {
    "single": ((volume("single"),), 1),
    "single-ext4": ((volume("single", "ext4"),), 1),
    "raid0": ((volume("md-raid0"),), 3),
    "raid0-ext4": ((volume("md-raid0", "ext4"),), 2),
    "raid0-none": ((volume("md-raid0", "none"),), 2),
    "raid0-of-one": ((volume("md-raid0"),), 1),
    "raid10": ((volume("md-raid10"),), 4),
    "raid10-none": ((volume("md-raid10", "none"),), 2),
    "lvm": ((volume("lvm-stripe", "ext4"),), 2),
    "lvm-none": ((volume("lvm-stripe", "none"),), 3),
    "two": ((volume("lvm-stripe", "ext4", count=2), volume("md-raid0", name="logs", count=2)), 4),
    "three": (
        (
            volume("single", name="a", count=1),
            volume("md-raid10", name="b", count=2),
            volume("md-raid0", name="c"),
        ),
        5,
    ),
}


def world(number: int, *, tag: str = TAG, known: bool = True) -> World:
    expected = number if known else None
    made = World(Machine(machine_type="m", expected_disks=expected, host_tag=tag))
    for at in range(number):
        made.add(at + 1, INSTANCE_STORE, SIZE)
    return made


def decide(here: World, layout: Layout, orders: Orders = GROW, *, waited: bool = True) -> Plan:
    return plan(here.inventory(layout), layout, waited=waited, orders=orders)


def apply(here: World, made: Plan) -> None:
    for step in made.steps:
        here.run(step)


def settle(here: World, layout: Layout, orders: Orders = GROW, *, within: int = 2) -> Plan:
    """Plan and apply until there is nothing to do."""
    seen = []
    for _ in range(within + 1):
        made = decide(here, layout, orders)
        seen.append(made)
        if not made.steps:
            assert made.decision is Decision.NOTHING, made.volumes
            return made
        apply(here, made)
    raise AssertionError([[" ".join(step.argv) for step in one.steps] for one in seen])


def parts(step: Step) -> Iterator[int | None]:
    """The ways in which a step can be killed: after so many of its disks, or done (``None``)."""
    words = step.argv
    disks = sum(1 for word in words if word.startswith("/dev/disk/"))
    if words[:3] == ("stripewright", "chore", "mark"):
        # The last is: all but one mark, and the inside of the last disk gone.
        yield from range(disks + 1)
    elif words[:2] == ("stripewright", "chore"):
        yield from range(disks) if words[2] != "release" else (0,)
    elif words[0] in {"vgcreate", "vgextend"} or words[:2] == ("mdadm", "--create"):
        yield from range(disks + 1)
    elif words[0].startswith("mkfs"):
        yield from (0, 1)
    yield None


def kills(start: World, layout: Layout, orders: Orders) -> Iterator[tuple[str, World]]:
    """The world after each kill of the plan, the kernel still running, and after a power cut."""
    made = decide(start, layout, orders)
    assert made.steps, made.volumes
    for at, step in enumerate(made.steps):
        for only in parts(step):
            here = start.copy()
            for before in made.steps[:at]:
                here.run(before)
            if only is None or only > 0 or step.argv[2:3] == ("release",):
                here.run(step, only=only)
            where = f"{at}: {' '.join(step.argv[:3])} {only}"
            yield where, here
            dark = here.copy()
            dark.power_cut()
            yield f"{where}, power cut", dark


def kept(here: World) -> dict[str, object]:
    """What is the same however often a creation was interrupted."""
    return {
        box.serial: (
            bool(box.md) and (box.md["name"], box.md["slot"], box.md["count"]),
            bool(box.pv) and box.pv["group"],
            box.fs and box.fs.label,
            box.mark and box.mark.state,
        )
        for box in here.boxes
    }


def survive(start: World, layout: Layout, orders: Orders = GROW, *, cleanly: bool = True) -> World:
    """Kill everywhere, go on with the same orders, directly and after a boot; the same end."""
    end = start.copy()
    apply(end, decide(end, layout, orders))
    after = decide(end, layout, orders)
    assert not after.steps, [" ".join(step.argv) for step in after.steps]
    for where, here in kills(start, layout, orders):
        for boots in (False, True):
            now = here.copy()
            try:
                if boots:
                    apply(now, decide(now, layout, Orders()))
                settle(now, layout, orders)
                assert kept(now) == kept(end), (kept(now), kept(end))
            except AssertionError as error:
                raise AssertionError(f"killed at {where}, boots {boots}: {error}") from error
    return end
