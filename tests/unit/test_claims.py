from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.clouds.azure import PROVIDER
from appliance.model.disks import Filesystem, Signature
from appliance.model.plans import Layout, Volume
from appliance.storage.probe.claims import (
    Claim,
    claimed_by,
    parse_agent,
    parse_cloud_config,
    parse_fstab,
    read_claims,
)
from tests.unit.disks import LAYOUT, disk

assert PROVIDER.agent
AGENT = PROVIDER.agent
_FSTAB = r"""# <file system> <mount point> <type> <options>
UUID=0e5b /                ext4 defaults 0 1

/dev/nvme1n1 /data\040one  xfs  defaults,nofail 0 2
LABEL="pgdata" /pg         ext4 noauto 0 0
/dev/nvme2n1p1 none        swap sw 0 0
broken
"""


def test_fstab_lines() -> None:
    found = list(parse_fstab(_FSTAB))
    assert [(one.device, one.mount, one.source) for one in found] == [
        ("UUID=0e5b", "/", "/etc/fstab line 2"),
        ("/dev/nvme1n1", "/data one", "/etc/fstab line 4"),
        ("LABEL=pgdata", "/pg", "/etc/fstab line 5"),
        ("/dev/nvme2n1p1", "none", "/etc/fstab line 6"),
    ]


def claim_on(number: int, device: str, mount: str = "/x", **facts: object) -> str:
    layout = facts.pop("layout", LAYOUT)
    options = {key: facts.pop(key) for key in ("links", "ephemeral", "dev_root") if key in facts}
    return claimed_by(
        disk(number, **facts),
        [Claim(device, "/etc/fstab line 9", mount)],
        layout=layout,  # type: ignore[arg-type]
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("device", "claimed"),
    [
        ("/dev/nvme1n1", True),
        ("/dev/nvme1n1p2", True),
        ("nvme1n1", True),
        ("/dev/nvme11n1", False),
        ("/dev/nvme1n11", False),
        ("/dev/nvme1n1px", False),
        ("LABEL=pgdata", False),
        ("UUID=0e5b", False),
        ("tmpfs", False),
        ("ephemeral0", False),
        ("resource", False),
    ],
)
def test_by_name(device: str, claimed: bool) -> None:
    assert bool(claim_on(1, device)) is claimed


def test_the_words() -> None:
    assert claim_on(1, "/dev/nvme1n1", "/data") == "/etc/fstab line 9, /data"
    assert claim_on(1, "/dev/nvme1n1", "none") == "/etc/fstab line 9"


def test_by_label_uuid_and_link() -> None:
    ext4 = (Signature("ext4", 0x438, "pgdata", "0E5B-AA"),)
    assert claim_on(1, "LABEL=pgdata", signatures=ext4)
    assert claim_on(1, "UUID=0e5b-aa", signatures=ext4)
    assert claim_on(1, "LABEL=inner", filesystem=Filesystem("ext4", "inner", "u"))
    link = "/dev/disk/by-id/nvme-x_AWS1"
    assert claim_on(1, f"{link}-part1", links=[link])
    assert not claim_on(1, f"{link}0", links=[link])


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "nvme1n1").touch()
    (tmp_path / "fast").symlink_to("nvme1n1")
    assert claim_on(1, "/dev/fast", dev_root=tmp_path)
    assert not claim_on(2, "/dev/fast", dev_root=tmp_path)


def test_the_providers_own_names() -> None:
    assert claim_on(1, "ephemeral0", ephemeral=True)
    claims = list(parse_agent("ResourceDisk.Format=y\n", AGENT))
    assert claimed_by(disk(1, cloud_name="resource"), claims, layout=LAYOUT)
    assert not claimed_by(disk(1), claims, layout=LAYOUT)


def test_our_own_mount_lines_are_no_claim() -> None:
    plain = (Signature("xfs", 0, "scratch", "9c4f"),)
    for device in ("LABEL=scratch", "UUID=9c4f"):
        assert not claim_on(1, device, "/mnt/scratch", signatures=plain)
        assert claim_on(1, device, "/elsewhere", signatures=plain)
    # Somebody else's line for the same place is a claim.
    assert claim_on(1, "/dev/nvme1n1", "/mnt/scratch")
    bare = Layout(volumes=(Volume(name="raw", mount="", filesystem="none"),))
    assert claim_on(1, "/dev/nvme1n1", "none", layout=bare)


_CLOUD = """#cloud-config
# mounts: [/dev/nvme9n1]
users: [default]
write_files:
- path: /etc/x
  content: /dev/nvme8n1
disk_setup:
  ephemeral0: {table_type: gpt}   # not /dev/nvme7n1
  /dev/nvme1n1:
    layout: true
"fs_setup":
- {device: nvme2n1p1, filesystem: ext4}
- device: 'LABEL=logs'
mounts:
- [ xvdb, /mnt ]
cloud_config_modules:
- mounts
- [disk_setup, sdz]
"""


def test_what_cloud_init_is_told_to_set_up() -> None:
    found = list(parse_cloud_config(_CLOUD, "cloud-init, /f"))
    assert [one.device for one in found] == [
        "ephemeral0", "/dev/nvme1n1", "nvme2n1p1", "LABEL=logs", "xvdb",
    ]  # fmt: skip
    assert found[1].source == "cloud-init, /f line 9"


@pytest.mark.parametrize(
    "text",
    [
        '{"mounts": [["/dev/nvme1n1", "/mnt"]]}',
        "\n{fs_setup: [\n{device: /dev/nvme1n1}]}",
        "mounts: [\n[/dev/nvme1n1, /mnt],\n]\n",
        "fs_setup: [{\nlabel: x,\ndevice: /dev/nvme1n1}]\nusers: [sdz]\n",
        "mounts:\n- - /dev/nvme1n1\n  - /mnt\n",
    ],
)
def test_other_styles_of_yaml(text: str) -> None:
    assert [one.device for one in parse_cloud_config(text, "f")] == ["/dev/nvme1n1"]


def test_waagent() -> None:
    text = "ResourceDisk.Format=y\n#ResourceDisk.EnableSwap=y\nResourceDisk.EnableSwap=n\n"
    (found,) = parse_agent(text, AGENT)
    assert (found.cloud_name, found.source) == (
        "resource",
        "/etc/waagent.conf line 1 (ResourceDisk.Format=y)",
    )


def test_files(tmp_path: Path) -> None:
    assert read_claims(tmp_path) == ()
    (tmp_path / "etc/cloud/cloud.cfg.d").mkdir(parents=True)
    (tmp_path / "etc/fstab").write_bytes(b"/dev/sdb /\xff none 0 0\n")
    (tmp_path / "etc/cloud/cloud.cfg").write_text("mounts:\n- [sdc, /c]\n")
    (tmp_path / "etc/cloud/cloud.cfg.d/90.cfg").write_text("fs_setup:\n- device: /dev/sdd\n")
    (tmp_path / "var/lib/cloud/instance").mkdir(parents=True)
    (tmp_path / "var/lib/cloud/instance/cloud-config.txt").write_text("mounts: [[sde, /e]]\n")
    (tmp_path / "etc/waagent.conf").write_text("ResourceDisk.EnableSwap=Y\n")
    found = read_claims(tmp_path)
    assert [one.device for one in found] == ["/dev/sdb", "sdc", "/dev/sdd", "sde", ""]
    assert found[2].source == "cloud-init, /etc/cloud/cloud.cfg.d/90.cfg line 2"
    (tmp_path / "etc/cloud/cloud-init.disabled").touch()
    assert [one.device for one in read_claims(tmp_path)] == ["/dev/sdb", ""]


def test_a_pipe_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    os.mkfifo(tmp_path / "etc/fstab")
    (tmp_path / "etc/waagent.conf").mkdir()
    assert read_claims(tmp_path) == ()


@given(st.text())
def test_any_text(text: str) -> None:
    for found in (parse_fstab(text), parse_cloud_config(text, "f"), parse_agent(text, AGENT)):
        claimed_by(disk(1), list(found), layout=LAYOUT)
