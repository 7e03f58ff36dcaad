from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.model.disks import (
    DiskKind,
    Filesystem,
    HardwareDrive,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    Mark,
    MarkState,
    MdMember,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.plans import Decision, Layout, OperatorRule
from appliance.storage.policy.documents import (
    inventory_from_json,
    load_inventory,
)
from appliance.storage.policy.planner import plan
from tests.unit.disks import LAYOUT, array, disk, held, inventory, member

_CONTRACT = {
    "path": "/dev/nvme1n1", "id": "nvme-x_1", "model": "Amazon EC2 NVMe Instance Storage",
    "serial": "AWS1", "size_bytes": 900_000_000_000, "kind": "instance-store", "role": "",
    "claimable": True, "reason": "blank",
}  # fmt: skip


def test_there_and_back() -> None:
    members = held(*(member(slot) for slot in range(4)))
    seen = inventory(*members, disk(7), arrays=(array(*members),))
    assert inventory_from_json(json.loads(json.dumps(asdict(seen)))) == seen


def test_everything_there_and_back() -> None:
    one = disk(
        1,
        signatures=(Signature("LVM2_member", 0x218, "", "pv"),),
        blank=False,
        lvm_member=LvmMember("pv", "stripewright-data", "vg", ("stripewright:data",)),
        mark=Mark(MarkState.RELEASED, "data", "0123456789abcdef", 524288, "ab", intact=True),
        cloud_name="sdf",
        claimed_by="/etc/fstab line 3",
        mount_options="rw",
        holders=("dm-0",),
        holder_notes=("LVM volume 'x'",),
        hint="see",
        md_member=MdMember(
            *("a", "b", "c", "raid10", 2, 4096, 0, 1024, Filesystem("ext4", "l", "u")),
            *("near=2", 17, 2**40),
        ),
    )
    volume = LogicalVolume("data", "/dev/vg/data", 9, 4096, (("a", "b"), ("c",)), active=True)
    seen = Inventory(
        machine=Machine(host_tag="0123456789abcdef", ephemeral_names=("xvdb",)),
        disks=(one,),
        groups=(VolumeGroup("g", "u", ("t",), ("a",), 2, 4, 0, (volume,), (7,)),),
        hardware_drives=(HardwareDrive(0, "252:1", "m", "s", 9, "UGood"),),
        virtual_drives=(VirtualDrive(0, 1, "sw-x", "RAID0", 4096, 9, "Optl", "/dev/sda", ("a",)),),
    )
    assert inventory_from_json(json.loads(json.dumps(asdict(seen)))) == seen


def test_the_layouts_rules_decide_where_the_document_does_not() -> None:
    facts = {key: _CONTRACT[key] for key in ("path", "serial", "size_bytes")}
    ebs = {**facts, "model": "Amazon Elastic Block Store", "blank": True}
    layout = Layout(volumes=LAYOUT.volumes, rules=(OperatorRule(serials=("AWS1",), role="logs"),))
    (found,) = inventory_from_json({"disks": [ebs]}, layout).disks
    assert (found.kind, found.role, found.claimable) == (DiskKind.NETWORK, "logs", True)
    (without,) = inventory_from_json({"disks": [ebs]}).disks
    assert (without.role, without.claimable) == ("", False)
    assert "[[rule]]" in without.hint
    stated = {**ebs, "kind": "network", "claimable": False, "reason": "no", "role": ""}
    (kept,) = inventory_from_json({"disks": [stated]}, layout).disks
    assert (kept.role, kept.claimable, kept.reason) == ("", False, "no")


def test_a_kind_that_the_facts_deny_is_no_reason_to_claim() -> None:
    bare = {key: _CONTRACT[key] for key in ("path", "model", "serial", "size_bytes")}
    for kind, claimable in (("instance-store", True), ("network", False), ("system", False)):
        (found,) = inventory_from_json({"disks": [{**bare, "kind": kind}]}).disks
        assert (found.kind, found.claimable) == (DiskKind(kind), claimable)


def test_twins_in_a_document_are_refused() -> None:
    bare = {key: _CONTRACT[key] for key in ("model", "serial", "size_bytes")}
    rows = [{**bare, "path": f"/dev/nvme{at}n1"} for at in (1, 2)]
    found = inventory_from_json({"disks": rows}).disks
    assert [one.claimable for one in found] == [False, False]


def test_azure_sizes_have_an_expected_count() -> None:
    document = {"machine": {"machine_type": "Standard_L16as_v3"}, "disks": []}
    assert inventory_from_json(document).machine.expected_disks == 2


def test_the_contract_keys_are_enough() -> None:
    document = {"machine": {"machine_type": "i4i.4xlarge"}, "disks": [_CONTRACT]}
    seen = inventory_from_json(document)
    assert seen.machine.expected_disks == 1
    assert seen.disks[0].kind is DiskKind.INSTANCE_STORE
    assert plan(seen, LAYOUT, waited=False).decision is Decision.CREATE


def test_an_unclaimable_disk_stays_so() -> None:
    document = {"machine": {}, "disks": [{**_CONTRACT, "claimable": False, "reason": "no"}]}
    made = plan(inventory_from_json(document), LAYOUT, waited=True)
    assert made.decision is Decision.REFUSE
    assert "no" in made.volumes[0].reason


def test_a_disk_without_verdict_is_identified() -> None:
    bare = {key: _CONTRACT[key] for key in ("path", "model", "serial", "size_bytes")}
    (found,) = inventory_from_json({"disks": [bare]}).disks
    assert (found.kind, found.claimable) == (DiskKind.INSTANCE_STORE, True)
    (ebs,) = inventory_from_json({"disks": [{**bare, "model": "Amazon Elastic Block Store"}]}).disks
    assert (ebs.kind, ebs.claimable) == (DiskKind.NETWORK, False)


def test_unknown_keys_are_left_alone() -> None:
    document = {"note": 1, "machine": {"rack": 7}, "disks": [{**_CONTRACT, "colour": "red"}]}
    assert len(inventory_from_json(document).disks) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size_bytes": "900"}, r"disks\[0\]\.size_bytes: '900' is not a whole number"),
        ({"size_bytes": True}, r"disks\[0\]\.size_bytes: True is not a whole number"),
        ({"claimable": 1}, r"disks\[0\]\.claimable: 1 is not true or false"),
        ({"kind": "magic"}, r"disks\[0\]\.kind: 'magic' is not one of: instance-store"),
        ({"path": None}, r"disks\[0\]\.path: None is not text"),
        ({"holders": "md0"}, r"disks\[0\]\.holders: not a list"),
        ({"signatures": [{"offset_bytes": 1}]}, r"disks\[0\]\.signatures\[0\]\.kind: missing"),
        ({"md_member": []}, r"disks\[0\]\.md_member: not an object"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(UsageError, match=field):
        inventory_from_json({"machine": {}, "disks": [{**_CONTRACT, **change}]})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the document: not an object"),
        ({}, "disks: missing"),
        ({"disks": {}}, "disks: not a list"),
        ({"disks": [1]}, r"disks\[0\]: not an object"),
        ({"disks": [{}]}, r"disks\[0\]\.path: missing"),
        ({"disks": [], "machine": 1}, "machine: not an object"),
        ({"disks": [], "arrays": [{}]}, r"arrays\[0\]\.path: missing"),
    ],
)
def test_a_wrong_document(document: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        inventory_from_json(document)


def test_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_inventory(tmp_path / "none")
    path = tmp_path / "inventory.json"
    path.write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        load_inventory(path)
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match="not JSON"):
        load_inventory(path)
    path.write_text('{"disks": 1}')
    with pytest.raises(UsageError, match=r"inventory\.json: disks"):
        load_inventory(path)
    path.write_text(json.dumps(asdict(inventory(disk(1)))))
    assert load_inventory(path) == inventory(disk(1))


def test_the_plan_has_the_contract_keys() -> None:
    made = asdict(plan(inventory(*map(disk, range(1, 5))), LAYOUT, waited=True))
    made = json.loads(json.dumps(made))
    assert set(made) >= {"decision", "digest", "volumes", "steps"}
    assert made["decision"] == "create"
    assert set(made["volumes"][0]) >= {"name", "decision", "reason", "disks"}
    assert set(made["steps"][0]) >= {"argv", "destroys", "why"}


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["disks", "machine", "path", "arrays", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_json)
def test_any_json_is_an_inventory_or_a_usage_error(document: object) -> None:
    try:
        inventory_from_json(document)
    except UsageError as error:
        assert error.hint
