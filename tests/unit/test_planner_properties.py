"""Whatever an inventory holds: a plan or a refusal, and never a disk that must not be named."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.model import (
    Array,
    Decision,
    Disk,
    DiskKind,
    Filesystem,
    Inventory,
    Layout,
    Machine,
    MdMember,
    Signature,
    Volume,
)
from appliance.storage.planner import plan

_text = st.sampled_from(["", "scratch", "data", "stripewright:scratch", "h:scratch", "a\x1b[31m\n"])
_number = st.sampled_from([0, 1, 2, 4, 4096, 2**32, -1])
_maybe = st.sampled_from([None, True, False])
_signature = st.builds(
    Signature,
    kind=st.sampled_from(["linux_raid_member", "xfs", "ext4", "gpt", ""]),
    offset_bytes=st.none() | _number,
    label=_text,
    uuid=_text,
)
_filesystem = st.builds(
    Filesystem,
    kind=st.sampled_from(["xfs", "ext4"]),
    label=_text,
    uuid=_text,
    sunit_bytes=st.none() | _number,
    swidth_bytes=st.none() | _number,
    unfinished=st.booleans(),
)
_member = st.builds(
    MdMember,
    array_name=_text,
    array_uuid=st.sampled_from(["1:1:1:1", "2:2:2:2"]),
    member_uuid=_text,
    level=st.sampled_from(["raid0", "raid1", ""]),
    member_count=_number,
    chunk_bytes=st.none() | st.sampled_from([0, 4096, 262144]),
    slot=st.none() | st.integers(0, 4),
    data_offset_bytes=st.none() | _number,
    data_zero=_maybe,
    filesystem=st.none() | _filesystem,
)
_names = st.sampled_from([f"/dev/nvme{number}n1" for number in range(5)])
_disk = st.builds(
    Disk,
    path=_names,
    id=st.sampled_from([f"id{number}" for number in range(6)]),
    model=_text,
    serial=_text,
    size_bytes=_number,
    kind=st.sampled_from([DiskKind.INSTANCE_STORE, DiskKind.INSTANCE_STORE, *DiskKind]),
    claimable=st.booleans(),
    reason=_text,
    signatures=st.just(()) | st.lists(_signature, max_size=2).map(tuple),
    partitions=st.just(()) | st.lists(_text, max_size=1).map(tuple),
    holders=st.just(()) | st.just(("md127",)),
    mountpoints=st.just(()) | st.just(("/mnt/scratch",)),
    swap=st.just(False) | st.booleans(),
    read_only=st.just(False) | st.booleans(),
    busy=st.just(False) | st.booleans(),
    holds_root=st.just(False),
    blank=_maybe,
    md_member=st.none() | _member,
    filesystem=st.none() | _filesystem,
)
_array = st.builds(
    Array,
    path=st.just("/dev/md127"),
    name=_text,
    uuid=st.sampled_from(["1:1:1:1", "2:2:2:2", ""]),
    level=st.sampled_from(["raid0", "raid1"]),
    chunk_bytes=st.sampled_from([0, 262144]),
    member_count=_number,
    members=st.lists(st.sampled_from([f"id{n}" for n in range(6)]), max_size=4).map(tuple),
    state=st.sampled_from(["clean", "inactive", "broken", ""]),
    size_bytes=_number,
    filesystem=st.none() | _filesystem,
    mountpoint=st.sampled_from(["", "/mnt/scratch", "/x"]),
    blank=_maybe,
)
_inventory = st.builds(
    Inventory,
    machine=st.builds(Machine, machine_type=_text, expected_disks=st.none() | st.integers(0, 5)),
    disks=st.lists(_disk, max_size=5).map(tuple),
    arrays=st.lists(_array, max_size=2).map(tuple),
    privileged=st.booleans(),
)
_layout = st.builds(
    Layout,
    volumes=st.builds(
        Volume,
        name=st.sampled_from(["scratch", "data"]),
        mount=st.just("/mnt/scratch"),
        on_short=st.sampled_from(["refuse", "accept"]),
        on_loss=st.sampled_from(["refuse", "recreate"]),
    ).map(lambda volume: (volume,)),
)
_touching = {Decision.CREATE, Decision.ASSEMBLE, Decision.RECREATE}


@settings(max_examples=150, deadline=None)
@given(_inventory, _layout, st.booleans())
def test_any_inventory_gives_a_plan_or_a_refusal(
    seen: Inventory, layout: Layout, waited: bool
) -> None:
    made = plan(seen, layout, waited=waited)
    (volume,) = made.volumes
    assert volume.reason
    assert bool(made.steps) == (made.decision in _touching)
    if made.decision is Decision.REFUSE:
        assert volume.hint
    if waited:
        assert made.decision is not Decision.WAIT


@settings(max_examples=150, deadline=None)
@given(_inventory, _layout, st.booleans())
def test_no_plan_names_a_disk_that_is_not_claimable(
    seen: Inventory, layout: Layout, waited: bool
) -> None:
    made = plan(seen, layout, waited=waited)
    forbidden = {one.path for one in seen.disks if not one.claimable}
    words = {word for step in made.steps for word in step.argv}
    words |= {gone.path for step in made.steps for gone in step.destroys}
    assert not words & forbidden
    if made.decision in {Decision.CREATE, Decision.RECREATE}:
        used = [one for one in seen.disks if one.path in made.volumes[0].disks]
        assert not any(one.mountpoints or one.swap or one.partitions for one in used)
        assert all(one.kind is DiskKind.INSTANCE_STORE for one in used)


@settings(max_examples=80, deadline=None)
@given(_inventory, _layout, st.randoms(use_true_random=False))
def test_the_digest_does_not_depend_on_the_order_of_disks(
    seen: Inventory, layout: Layout, random: Random
) -> None:
    shuffled = list(seen.disks)
    random.shuffle(shuffled)
    again = plan(replace(seen, disks=tuple(shuffled)), layout, waited=True)
    assert again.digest == plan(seen, layout, waited=True).digest
