from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import UsageError
from appliance.model import Decision, DiskKind
from appliance.storage.document import (
    inventory_from_json,
    inventory_to_json,
    load_inventory,
    plan_to_json,
)
from appliance.storage.planner import plan
from tests.unit.disks import LAYOUT, array, disk, held, inventory, member

_CONTRACT = {
    "path": "/dev/nvme1n1", "id": "nvme-x_1", "model": "Amazon EC2 NVMe Instance Storage",
    "serial": "AWS1", "size_bytes": 900, "kind": "instance-store", "role": "",
    "claimable": True, "reason": "blank",
}  # fmt: skip


def test_there_and_back() -> None:
    members = held(*(member(slot) for slot in range(4)))
    seen = inventory(*members, disk(7), arrays=(array(*members),))
    assert inventory_from_json(json.loads(json.dumps(inventory_to_json(seen)))) == seen


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
    path.write_text(json.dumps(inventory_to_json(inventory(disk(1)))))
    assert load_inventory(path) == inventory(disk(1))


def test_the_plan_has_the_contract_keys() -> None:
    made = plan_to_json(plan(inventory(*map(disk, range(1, 5))), LAYOUT, waited=True))
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
