"""A provider is a module of appliance.clouds and rows in data files: nothing else knows it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from appliance import data
from appliance.clouds import capability
from appliance.clouds.provider import (
    Attached,
    NetworkLimits,
    Provider,
    is_type,
    providers,
)
from appliance.fio_import import context
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability
from tests.unit.fakesysfs import FakeSysfs, by_name, three_disks

_RULES = """
[[rule]]
provider = "toy"
transport = "nvme"
model = "Toy Drive"
kind = "instance-store"
what = "Toy local disk"
source = "the toy's manual"
"""
_TYPE = "toy,toybox-2,x86_64,4,8192,2,100000000000,,,nvme,ssd,,,,,,uefi,kvm,ec2-api,\n"


def _name(disk: Attached) -> str:
    return f"toy-{disk.namespace}"


def _local(machine_type: str, count: int, _: str) -> Capability | None:
    if machine_type != "toybox-2":
        return None
    return Capability("instance-store", iops=1000.0 * count, basis="toy", source="the manual")


TOY = Provider(
    name="toy",
    is_here=lambda dmi: dmi.vendor == "Toymaker",
    disk_name=_name,
    machine_type_pattern=r"toybox-\d{1,2}",
    local=_local,
    network=lambda name: NetworkLimits(1, 2, 4096, 8192, "x") if name == "toybox-2" else None,
)


def _forget() -> None:
    types = data.instance_types, data.instance_type, context._machine_type
    for cached in (data.disk_rules, providers, *types):
        cached.cache_clear()


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    shutil.copytree(data.DIRECTORY, tmp_path / "data")
    rules = tmp_path / "data/disk_models.toml"
    rules.write_text(rules.read_text() + _RULES)
    types = tmp_path / "data/instance_types.csv"
    types.write_text(types.read_text() + _TYPE)
    monkeypatch.setattr(data, "DIRECTORY", tmp_path / "data")
    module = ModuleType("appliance.clouds.toy")
    module.PROVIDER = TOY  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    _forget()
    yield
    monkeypatch.undo()
    _forget()


@pytest.mark.usefixtures("toy")
def test_a_module_and_its_rules_are_a_provider(tmp_path: Path) -> None:
    sysfs: FakeSysfs = three_disks(tmp_path / "machine")
    for name, text in {"sys_vendor": "Toymaker", "product_name": "toybox-2"}.items():
        sysfs.put(f"class/dmi/id/{name}", text)
    sysfs.disk("nvme8n3", "259:83", model="Toy Drive", serial="t3")
    sysfs.put("block/nvme8n3/nsid", "3")
    seen = sysfs.probe()
    assert (seen.machine.provider, seen.machine.machine_type) == ("toy", "toybox-2")
    assert seen.machine.expected_disks == 2
    disk = by_name(seen)["nvme8n3"]
    assert (disk.kind, disk.cloud_name) == (DiskKind.INSTANCE_STORE, "toy-3")
    assert disk.reason.startswith("Toy local disk")
    assert is_type("toybox-2")
    assert context.machine_types("measured on a toybox-2 today") == ["toybox-2"]

    def limit(kind: DiskKind, rw: str) -> float | None:
        found = capability.published(
            "toybox-2", kind=kind, member_count=2, direction="read", block_size_bytes=4096, rw=rw
        )
        return found.iops if found else None

    assert limit(DiskKind.INSTANCE_STORE, "randread") == 2000
    assert limit(DiskKind.NETWORK, "randread") == 2


def test_without_it_nothing_is_known_of_it() -> None:
    assert [one.name for one in providers()] == ["aws", "azure", "gcp"]
    assert not is_type("toybox-2")
