from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.clouds import aws, azure, gcp
from appliance.storage.probe import nvme


def controller(name: bytes, vendor: bytes = b"\x0f\x1d") -> bytes:
    page = bytearray(4096)
    page[:2] = vendor
    page[3072 : 3072 + len(name)] = name
    return bytes(page)


def namespace(text: bytes) -> bytes:
    page = bytearray(4096)
    page[384 : 384 + len(text)] = text
    return bytes(page)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"sdf".ljust(32), "sdf"),
        (b"/dev/sdf\0", "sdf"),
        (b"xvdba", "xvdba"),
        (b"", ""),
        (b"../../etc", ""),
        (b"[red]", ""),
        (b"sd\xfff", ""),
    ],
)
def test_ebs(raw: bytes, name: str) -> None:
    assert aws.controller_name(controller(raw)) == name
    assert aws.controller_name(controller(raw, vendor=b"\xae\x1a")) == ""


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        # azure-vm-utils, doc/disk-identification.md
        (b"type=local,index=1,name=nvme-300G-1\0", "nvme-300G-1"),
        (b"type=os\0", "os"),
        (b"type=data,lun=4,name=data-db\0name=x", "data-db"),
        (b"type=data,lun=4\0", "lun4"),
        (b"\0type=os", ""),
        (b"type=data,name=$(reboot)\0", ""),
    ],
)
def test_azure(raw: bytes, name: str) -> None:
    assert azure.namespace_name(namespace(raw)) == name


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (json.dumps({"device_name": "pd-logs", "disk_type": "PERSISTENT"}).encode(), "pd-logs"),
        (b'{"device_name": 7}', ""),
        (b'["device_name"]', ""),
        (b"[" * 3000, ""),
        (b"", ""),
    ],
)
def test_google(raw: bytes, name: str) -> None:
    assert gcp.namespace_name(namespace(raw)) == name


@given(
    st.binary(max_size=200),
    st.sampled_from([aws.controller_name, azure.namespace_name, gcp.namespace_name]),
)
def test_a_name_is_plain_or_none(noise: bytes, decode: object) -> None:
    for page in (noise, controller(noise), namespace(noise)):
        name = decode(page)  # type: ignore[operator]
        assert name.isascii()
        assert not set(name) & set("/[]$%'\" \n")


def test_what_is_no_nvme_gives_no_page(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(4096))
    for node in (str(disk), str(tmp_path / "none")):
        assert nvme.controller_page(node) == nvme.namespace_page(node, 1) == b""
