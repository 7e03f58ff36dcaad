from __future__ import annotations

from pathlib import Path

import pytest

from appliance.storage.act import mountunits
from appliance.storage.act.mountunits import MountUnit, sync, unit_name, unit_text

DATA = MountUnit("data", "/dev/stripewright/data", "/mnt/data", "xfs", ("nodev", "discard"))
LOGS = MountUnit("logs", "/dev/stripewright/logs", "/mnt/db/logs", "ext4", ("nodev",))


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
    lines = unit_text(DATA).splitlines()
    assert "What=/dev/stripewright/data" in lines
    assert "Where=/mnt/data" in lines
    assert "Type=xfs" in lines
    assert "Options=nofail,nodev,discard" in lines
    assert "After=stripewright-assemble.service stripewright-release.service" in lines
    # Ours is never the one that mounts: that a device is there says nothing about the volume.
    assert lines.index("AssertPathIsMountPoint=/mnt/data") < lines.index("[Mount]")
    assert "What=/dev/a%%b" in unit_text(
        MountUnit("a", "/dev/a%b", "/mnt/a", "xfs", ())
    )  # a specifier otherwise


def test_units_follow_the_layout_and_nothing_is_written_twice(tmp_path: Path) -> None:
    assert sync(tmp_path, [DATA, LOGS], keep=["/mnt/data", "/mnt/db/logs"]) == [
        "mnt-data.mount", "mnt-db-logs.mount",
    ]  # fmt: skip
    assert sync(tmp_path, [DATA, LOGS], keep=["/mnt/data", "/mnt/db/logs"]) == []
    # Declared and not up: its unit stays. No longer declared: it goes.
    assert sync(tmp_path, [DATA], keep=["/mnt/data", "/mnt/db/logs"]) == []
    assert sync(tmp_path, [DATA], keep=["/mnt/data"]) == ["mnt-db-logs.mount"]
    assert [path.name for path in tmp_path.iterdir()] == ["mnt-data.mount"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    mount = "/mnt/" + "a" * (255 - len("mnt-") - len(".mount"))
    unit = MountUnit("long", "/dev/stripewright/long", mount, "xfs", ())
    (name,) = sync(tmp_path, [unit], keep=[mount])
    assert len(name) == 255
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_somebody_elses_unit_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    theirs = tmp_path / "mnt-data.mount"
    theirs.write_text("[Mount]\nWhat=/dev/sda1\nWhere=/mnt/data\n")
    link = tmp_path / "mnt-old.mount"
    link.symlink_to("/dev/null")
    assert sync(tmp_path, [DATA], keep=["/mnt/data"]) == []
    assert theirs.read_text().startswith("[Mount]")
    assert link.is_symlink()
    assert mountunits.sync(tmp_path, [], keep=[]) == []
