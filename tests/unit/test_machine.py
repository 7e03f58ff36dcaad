from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cli import main
from appliance.clouds.aws import ephemeral_names
from appliance.clouds.machine import host_tag, provider_of, read_machine
from appliance.clouds.provider import Dmi
from appliance.model.disks import Inventory, Machine
from appliance.storage.probe import devices


def test_a_machine_without_dmi_is_unknown(tmp_path: Path) -> None:
    found = read_machine(sys_root=tmp_path, proc_root=tmp_path, root=tmp_path)
    assert (found.provider, found.machine_type, found.expected_disks) == ("unknown", "", None)
    assert found.kernel
    assert found.cpu_count > 0


def test_the_type_says_how_many_disks_to_expect(tmp_path: Path) -> None:
    dmi = tmp_path / "class/dmi/id"
    dmi.mkdir(parents=True)
    (dmi / "sys_vendor").write_text("Amazon EC2\n")
    (dmi / "product_name").write_text("m5d.24xlarge\n")
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("1c0ffee0\n")
    found = read_machine(sys_root=tmp_path, proc_root=tmp_path, root=tmp_path)
    assert (found.provider, found.machine_type) == ("aws", "m5d.24xlarge")
    assert (found.expected_disks, found.boot_id) == (4, "1c0ffee0")


@pytest.mark.parametrize(
    ("vendor", "version", "tag", "provider"),
    [
        ("Amazon EC2", "", "", "aws"),
        ("Xen", "4.11.amazon", "", "aws"),
        ("Xen", "4.11", "", "unknown"),
        ("Microsoft Corporation", "", "7783-7084-3265-9085-8269-3286-77", "azure"),
        ("Microsoft Corporation", "", "", "unknown"),
        ("Google", "", "", "gcp"),
        ("QEMU", "", "", "unknown"),
    ],
)
def test_provider(vendor: str, version: str, tag: str, provider: str) -> None:
    found = provider_of(Dmi(vendor, "", version, tag))
    assert (found.name if found else "unknown") == provider


def machine_with(root: Path, dmi: dict[str, str], meta_data: object) -> Machine:
    folder = root / "class/dmi/id"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in dmi.items():
        (folder / name).write_text(text + "\n")
    (root / "run/cloud-init").mkdir(parents=True, exist_ok=True)
    # cloud-init's own name for what it was told, but for EC2 the service's.
    name = "meta-data" if dmi is _XEN else "meta_data"
    document = json.dumps({"ds": {"_doc": "x", name: meta_data}})
    (root / "run/cloud-init/instance-data.json").write_text(document)
    return read_machine(sys_root=root, proc_root=root, root=root)


_XEN = {"sys_vendor": "Xen", "product_version": "4.11.amazon", "product_name": "HVM domU"}
_AZURE = {
    "sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine",
    "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
}  # fmt: skip
_MAPPING = {"ami": "/dev/sda1", "root": "/dev/sda1", "ephemeral0": "sdb", "ephemeral1": "/dev/sdc"}


def test_xen_machines_of_ec2_by_what_cloud_init_was_told(tmp_path: Path) -> None:
    told = {"instance-type": "c3.xlarge", "block-device-mapping": _MAPPING}
    found = machine_with(tmp_path, _XEN, told)
    assert (found.provider, found.machine_type) == ("aws", "c3.xlarge")
    assert found.ephemeral_names == ("xvdb", "xvdc")
    assert found.expected_disks == 2
    # What was not mapped at launch is not there.
    told["block-device-mapping"] = {"ephemeral0": "sdb"}
    assert machine_with(tmp_path, _XEN, told).expected_disks == 1


def test_a_mapping_is_a_wish_and_not_what_there_is() -> None:
    """A t2 shows ephemeral0 and ephemeral1 (cloud-init's own example) and has neither."""
    assert ephemeral_names("t2.micro", {"block-device-mapping": _MAPPING}) == ()
    assert ephemeral_names("m3.medium", {"block-device-mapping": _MAPPING}) == ("xvdb",)
    assert ephemeral_names("i3.large", {"block-device-mapping": _MAPPING}) == ()
    odd = {"ephemeral0": "sda1", "ephemeral1": "../sdb", "ephemeral": "sdb", 1: 2, "x": None}
    assert ephemeral_names("c3.xlarge", {"block-device-mapping": odd}) == ()
    assert ephemeral_names("c3.xlarge", {"block-device-mapping": ["sdb"]}) == ()


def test_azure_sizes(tmp_path: Path) -> None:
    told = {"imds": {"compute": {"vmSize": "Standard_L32s_v3"}}}
    found = machine_with(tmp_path, _AZURE, told)
    assert (found.provider, found.machine_type) == ("azure", "Standard_L32s_v3")
    assert found.expected_disks == 4
    unknown = machine_with(tmp_path, _AZURE, {"imds": {"compute": {"vmSize": "Standard_D2s_v4"}}})
    assert (unknown.machine_type, unknown.expected_disks) == ("Standard_D2s_v4", None)


_GCP = {"sys_vendor": "Google", "product_name": "Google Compute Engine"}


def test_google_machines_are_what_their_attribute_says(tmp_path: Path) -> None:
    def seen(told: object) -> tuple[str, int | None]:
        found = machine_with(tmp_path, _GCP, told)
        assert found.provider == "gcp"
        return found.machine_type, found.expected_disks

    def attributes(**named: object) -> dict[str, str]:
        return {"instance-data": json.dumps({"ssh-keys": "x", **named})}

    name = "stripewright-machine-type"
    assert seen(attributes(**{name: "c4-standard-32-lssd"})) == ("c4-standard-32-lssd", 5)
    assert seen(attributes(**{name: "n2-standard-32"})) == ("n2-standard-32", None)
    assert seen(attributes(**{name: "n1-custom-8-30720"})) == ("n1-custom-8-30720", None)
    untold = ("Google Compute Engine", None)
    for told in (
        attributes(), attributes(**{name: 7}), attributes(**{name: "x y"}), {}, None,
        {"instance-data": "[" * 100_000}, {"instance-data": "[1]"}, {"instance-data": {name: "x"}},
    ):  # fmt: skip
        assert seen(told) == untold
    for typed in ("i4i.16xlarge", "Standard_L8s_v3", "c4-standard-32-lsd", "x\x1b[31m" * 99, 7):
        told = attributes(**{name: typed})
        assert seen(told) == untold
        doubt = machine_with(tmp_path, _GCP, told).type_doubt
        assert doubt.startswith(f"the attribute {name} names no known type of gcp")
        assert len(doubt) < 160
        assert doubt.isprintable()
    assert machine_with(tmp_path, _GCP, attributes()).type_doubt == ""
    assert machine_with(tmp_path, _AZURE, {"imds": {"compute": {"vmSize": "x"}}}).type_doubt == ""


def test_inventory_says_that_an_attribute_names_no_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Inventory(Machine(type_doubt="the attribute x names no known type"), ())
    monkeypatch.setattr(devices, "probe", lambda **_: seen)
    assert main.main(["inventory"]) == 0
    assert capsys.readouterr().out == "no disks found\n\nthe attribute x names no known type\n"


def test_nitro_is_told_by_dmi_alone(tmp_path: Path) -> None:
    dmi = {"sys_vendor": "Amazon EC2", "product_name": "i4i.4xlarge"}
    told = {"instance-type": "m5d.24xlarge", "block-device-mapping": _MAPPING}
    found = machine_with(tmp_path, dmi, told)
    assert (found.machine_type, found.expected_disks) == ("i4i.4xlarge", 1)
    assert found.ephemeral_names == ()


@pytest.mark.parametrize(
    "told",
    [
        None, 7, [], {"instance-type": 7}, {"instance-type": "x\n[Service]"},
        {"imds": []}, {"imds": {"compute": {"vmSize": ["x"]}}},
    ],
)  # fmt: skip
def test_metadata_of_another_shape_says_nothing(tmp_path: Path, told: object) -> None:
    assert machine_with(tmp_path, _XEN, told).machine_type == "HVM domU"
    assert machine_with(tmp_path, _AZURE, told).machine_type == "Virtual Machine"


def test_a_file_that_is_none_says_nothing(tmp_path: Path) -> None:
    machine_with(tmp_path, _XEN, {"instance-type": "c3.xlarge"})
    file = tmp_path / "run/cloud-init/instance-data.json"

    def machine_type() -> str:
        return read_machine(sys_root=tmp_path, proc_root=tmp_path, root=tmp_path).machine_type

    assert machine_type() == "c3.xlarge"
    for text in ("", "{", "[" * 100_000, '{"ds": 1}', " " * (4 * 1024 * 1024) + "{}"):
        file.write_text(text)
        assert machine_type() == "HVM domU"
    file.unlink()
    os.mkfifo(file)
    assert machine_type() == "HVM domU"


_values = st.text(max_size=8) | st.integers() | st.none()


@given(st.dictionaries(st.sampled_from(["ephemeral0", "ephemeral1", "root"]), _values))
def test_any_mapping(mapping: dict[str, object]) -> None:
    assert all(
        one.startswith("xvd")
        for one in ephemeral_names("c3.xlarge", {"block-device-mapping": mapping})
    )


def test_the_host_tag_stands_for_the_machine_id(tmp_path: Path) -> None:
    first, second = "0123456789abcdef" * 2, "0123456789abcdee" * 2
    assert len(host_tag(first)) == 16
    assert host_tag(first) != host_tag(second)
    assert host_tag(first) not in first
    for unset in ("", "uninitialized", first.upper(), first[:-1]):
        assert host_tag(unset) == ""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text(first + "\n")
    found = read_machine(sys_root=tmp_path, proc_root=tmp_path, root=tmp_path)
    assert found.host_tag == host_tag(first)


_UUID = "ec2ae145-d1dc-13b2-94ed-012345abcdef"


def test_a_copied_root_disk_is_another_machine() -> None:
    machine_id = "0123456789abcdef" * 2
    here = host_tag(machine_id, _UUID)
    assert len(here) == 16
    assert here not in {host_tag(machine_id), host_tag(machine_id, _UUID.replace("e1", "e2"))}
    # The same instance on another hypervisor, another kernel's spelling.
    assert here == host_tag(machine_id, "45E12AEC-DCD1-B213-94ED-012345ABCDEF")
    # Firmware that has none: QEMU's default, "Not Settable".
    for none in ("", "00000000-0000-0000-0000-000000000000", "Not Settable", "f" * 32):
        assert host_tag(machine_id, none) == host_tag(machine_id)


def test_who_may_not_read_the_uuid_has_no_tag_rather_than_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_id = "0123456789abcdef" * 2
    dmi = tmp_path / "class/dmi/id"
    for place in (dmi, tmp_path / "etc"):
        place.mkdir(parents=True)
    (tmp_path / "etc/machine-id").write_text(machine_id + "\n")
    (dmi / "product_uuid").write_text(_UUID + "\n")

    def tag() -> str:
        return read_machine(sys_root=tmp_path, proc_root=tmp_path, root=tmp_path).host_tag

    assert tag() == host_tag(machine_id, _UUID)
    read = Path.read_text

    def denied(path: Path, *how: Any, **more: Any) -> str:
        if path.name == "product_uuid":
            raise PermissionError(13, "Permission denied")
        return read(path, *how, **more)

    monkeypatch.setattr(Path, "read_text", denied)
    assert tag() == ""
