from __future__ import annotations

from pathlib import Path

import pytest

from appliance.system.machine import provider_of, read_machine


def test_a_machine_without_dmi_is_unknown(tmp_path: Path) -> None:
    found = read_machine(sys_root=tmp_path, proc_root=tmp_path)
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
    found = read_machine(sys_root=tmp_path, proc_root=tmp_path)
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
    assert provider_of(vendor, version, tag) == provider
