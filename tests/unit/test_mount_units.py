from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from appliance import paths
from appliance.model.plans import Volume
from appliance.storage.execute.mounting import sync_units, unit_name, unit_text

DATA = Volume("data", "/mnt/data", mount_options=("discard",), wait_seconds=60.0)
LOGS = Volume("logs", "/mnt/db/logs", filesystem="ext4", wait_seconds=60.0)
RAW = Volume("raw", "", filesystem="none")
BOTH = (DATA, LOGS, RAW)
UP = {one.name: f"/dev/stripewright/{one.name}" for one in BOTH}
ONE_UP = {"data": UP["data"]}


@pytest.mark.parametrize(
    ("mount", "name"),
    [  # as systemd-escape --path --suffix=mount says
        ("/mnt/data", "mnt-data.mount"),
        ("/mnt/db/logs/", "mnt-db-logs.mount"),
        ("/mnt/my-data", "mnt-my\\x2ddata.mount"),
        ("/.hidden/.x", "\\x2ehidden-.x.mount"),
        ("/mnt/dätä b", "mnt-d\\xc3\\xa4t\\xc3\\xa4\\x20b.mount"),
        ("/", "-.mount"),
    ],
)
def test_the_unit_is_named_after_its_mount_point(mount: str, name: str) -> None:
    assert unit_name(mount) == name


def test_the_text_has_what_systemd_needs_to_know() -> None:
    lines = unit_text(DATA, UP["data"]).splitlines()
    assert "What=/dev/stripewright/data" in lines
    assert "Where=/mnt/data" in lines
    assert "Type=xfs" in lines
    assert "Options=nofail,nodev,nosuid,noatime,discard" in lines
    assert "After=stripewright-assemble.service stripewright-release.service" in lines
    # That a device is there says nothing about the volume: it is mounted when that was proved.
    allowed = f"AssertPathExists={paths.MAY_MOUNT_DIR}/%n"
    assert lines.index(allowed) < lines.index("[Mount]")
    # Whoever asks in vain, and often, must not be why it cannot be mounted later.
    assert lines.index("StartLimitIntervalSec=0") < lines.index("[Mount]")
    assert "What=/dev/a%%b" in unit_text(DATA, "/dev/a%b")  # a specifier otherwise


def test_units_follow_the_layout_and_nothing_is_written_twice(tmp_path: Path) -> None:
    assert sync_units(tmp_path, BOTH, UP) == ["mnt-data.mount", "mnt-db-logs.mount"]
    assert sync_units(tmp_path, BOTH, UP) == []
    # Declared and not up: its unit stays. No longer declared: it goes.
    assert sync_units(tmp_path, BOTH, ONE_UP) == []
    assert sync_units(tmp_path, [DATA], ONE_UP) == ["mnt-db-logs.mount"]
    assert [path.name for path in tmp_path.iterdir()] == ["mnt-data.mount"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    mount = "/mnt/" + "a" * (255 - len("mnt-") - len(".mount"))
    (name,) = sync_units(tmp_path, [replace(DATA, mount=mount)], UP)
    assert len(name) == 255
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_somebody_elses_unit_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    theirs = tmp_path / "mnt-data.mount"
    theirs.write_text("[Mount]\nWhat=/dev/sda1\nWhere=/mnt/data\n")
    link = tmp_path / "mnt-old.mount"
    link.symlink_to("/dev/null")
    assert sync_units(tmp_path, [DATA], UP) == []
    assert theirs.read_text().startswith("[Mount]")
    assert link.is_symlink()
    assert sync_units(tmp_path, [], {}) == []


_VOL = "/dev/disk/by-id/nvme-Amazon_vol0%af"
_VOL_DROP_IN = "dev-disk-by\\x2did-nvme\\x2dAmazon_vol0\\x25af.device.d/40-stripewright.conf"


def test_a_disk_is_waited_for_as_long_as_the_layout_says(tmp_path: Path) -> None:
    slow = (DATA, replace(LOGS, wait_seconds=599.5))
    assert sync_units(tmp_path, slow, {**UP, "logs": _VOL}) == [
        "mnt-data.mount", "mnt-db-logs.mount", _VOL_DROP_IN,
    ]  # fmt: skip
    lines = (tmp_path / _VOL_DROP_IN).read_text().splitlines()
    assert lines[1] == "[Unit]"
    assert lines[-1] == "JobRunningTimeoutSec=690s"
    # An order would make a cycle of a line in fstab.
    assert not any(line.startswith(("After=", "Before=", "Requires=")) for line in lines)
    # Declared and not up: unit and drop-in stay, and follow the layout.
    assert sync_units(tmp_path, slow, ONE_UP) == []
    assert sync_units(tmp_path, BOTH, ONE_UP) == [_VOL_DROP_IN]
    assert "JobRunningTimeoutSec=150s" in (tmp_path / _VOL_DROP_IN).read_text()
    # No longer declared, or on another device.
    assert sync_units(tmp_path, BOTH, UP) == ["mnt-db-logs.mount", _VOL_DROP_IN]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mnt-data.mount", "mnt-db-logs.mount",
    ]  # fmt: skip


def test_a_drop_in_of_somebody_elses_stays(tmp_path: Path) -> None:
    theirs = tmp_path / _VOL_DROP_IN
    theirs.parent.mkdir()
    theirs.write_text("[Unit]\n")
    assert sync_units(tmp_path, [LOGS], {"logs": _VOL}) == ["mnt-db-logs.mount"]
    assert sync_units(tmp_path, [], {}) == ["mnt-db-logs.mount"]
    assert theirs.read_text() == "[Unit]\n"
    # Beside ours, too.
    theirs.rename(theirs.with_name("50-theirs.conf"))
    sync_units(tmp_path, [LOGS], {"logs": _VOL})
    assert sync_units(tmp_path, [], {}) == ["mnt-db-logs.mount", _VOL_DROP_IN]
    assert [path.name for path in theirs.parent.iterdir()] == ["50-theirs.conf"]


@pytest.mark.parametrize("device", ["/dev/nvme1n1", "/dev/disk/by-id/" + "-" * 60])
def test_a_disk_without_a_name_of_its_own_has_no_drop_in(tmp_path: Path, device: str) -> None:
    """The kernel's name may be another disk's at the next boot."""
    assert sync_units(tmp_path, [LOGS], {"logs": device}) == ["mnt-db-logs.mount"]
